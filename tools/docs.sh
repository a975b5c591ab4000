#!/bin/sh
# Makes the reference of the public headers, build/docs/html/index.html.
#
#   tools/docs.sh [folder]    into another folder than build/docs
#
# Fails where a public declaration is not documented. Constants and fields may speak for themselves.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-build/docs}
warnings=$folder/warnings
command -v doxygen >/dev/null || {
    echo "docs: error: there is no doxygen; install it (\`apt-get install doxygen\`)" >&2
    exit 1
}
mkdir -p "$folder"
{
    cat docs/Doxyfile
    echo "PROJECT_NUMBER = $(cat VERSION)"
    echo "OUTPUT_DIRECTORY = $folder"
} | doxygen - 2>"$warnings"
if grep -Ev '\(enumvalue\)|\(variable\) of struct' "$warnings" >&2; then
    echo "docs: error: document these, or see docs/Doxyfile" >&2
    exit 1
fi
echo "docs: $folder/html/index.html"
