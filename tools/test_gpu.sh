#!/bin/sh
# Tests and times anycuda on a GPU against all real libcudarts, and prints a report in Markdown.
#
#   tools/test_gpu.sh        ANYCUDA_TOOLKITS=folder with <version>/lib/libcudart.so.*   OUT=folder for the report
#
# For a machine without network: it needs a C compiler and python3, nothing else. Exits with 1 if anything
# failed, and with 77, saying so, where there is no GPU.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build/gpu}
cc=${CC:-cc}
define=
export ANYCUDA_TOOLKITS="${ANYCUDA_TOOLKITS:-$HOME/.cache/anycuda/toolkits}"

# objects FOLDER SOURCES…: compiles as CMakeLists.txt does.
objects() (
    mkdir -p "$build/$1"
    cd "$build/$1"
    shift
    "$cc" -c -std=c11 -Werror=implicit-function-declaration -O2 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections $define \
        -DSPEC="\"$root/spec/parameters/cudart.yaml\"" \
        -I"$root/include" -I"$root/generated/include" -I"$root/src" -I"$root/generated/src" "$@"
)

echo "compiling with $("$cc" --version | head -n 1) …" >&2
objects library "$root"/src/*.c "$root"/src/loader/*.c "$root"/generated/src/*.c
objects smoke "$root"/tests/gpu/*.c
"$cc" -Wl,--gc-sections -o "$build/gpu_smoke" "$build"/smoke/*.o "$build"/library/*.o -ldl -lpthread

# The same loops over anycuda and over NVIDIA's library, which is linked: so one program for each runtime.
objects bench "$root/bench/calls.c" "$root/bench/loops.c" "$root/bench/pairs.c"
define=-DDIRECT objects direct "$root/bench/loops.c"
for library in "$ANYCUDA_TOOLKITS"/[0-9]*/lib/libcudart.so.*; do
    version=$(basename "$(dirname "$(dirname "$library")")")
    "$cc" -o "$build/calls-$version" "$build"/bench/*.o "$build"/direct/*.o "$build"/library/*.o "$library" -ldl -lpthread
done

# The safe layer over the raw calls, through any of them.
objects safe_layer "$root/bench/safe.c" "$root/bench/pairs.c"
"$cc" -o "$build/safe" "$build"/safe_layer/*.o "$build"/library/*.o -ldl -lpthread

exec python3 "$root/tests/gpu/report.py" "$build/gpu_smoke" "$build"
