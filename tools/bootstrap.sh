#!/bin/sh
# Sets up what the Makefile's targets need, once; with nothing to do it takes a moment.
#
#   tools/bootstrap.sh          all: a Python environment in .venv, CMake, Ninja, cmocka, and where it may doxygen,
#                               what tests for aarch64 need, and Vulkan for the CPU
#   tools/bootstrap.sh c        what the C tests need: CMake, Ninja and cmocka
#   tools/bootstrap.sh cmake    what building the library needs: CMake
#
# Everything from a package index is pinned by hash (requirements*.lock). A CMake that the system
# has is used if it is new enough.
set -eu
cd "$(dirname "$0")/.."
root=$PWD
venv=$root/.venv
python=${PYTHON:-python3}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# The script as its own lock: two makes in one tree must not fill the environment at once.
if command -v flock >/dev/null; then
    exec 9<"$root/tools/bootstrap.sh"
    flock 9
fi

say() { echo "bootstrap: $*"; }
fail() {
    echo "bootstrap: error: $*" >&2
    if [ -s "$log" ]; then sed 's/^/    /' "$log" | tail -n 12 >&2; fi
    exit 1
}

# Runs a command and keeps what it prints for a possible fail.
quietly() { "$@" >"$log" 2>&1; }

# Installs a distribution package where that needs nobody to type a password.
apt_install() {
    command -v apt-get >/dev/null || return 1
    if [ "$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else return 1; fi
    say "installing $* with apt-get"
    install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends"
    # Package lists may be absent (containers) or stale; only then is fetching them worth its time.
    quietly $install "$@" || { quietly $sudo apt-get update && quietly $install "$@"; }
}

# The environment is right if it was made from these locks, in this place, and its Python still runs.
stamp() { echo "$(cksum <"$1") $root"; }
is_stamped() { [ "$(cat "$venv/.$1" 2>/dev/null)" = "$(stamp "$1")" ] && "$venv/bin/python" -c '' 2>/dev/null; }

has_pip() { "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

# Where Python comes without ensurepip (Debian's does), somebody else's pip brings the pinned one in.
borrow_pip() {
    quietly "$python" -m venv --clear --without-pip "$venv" || return 1
    for pip in "$python -m pip" pip3 pip; do
        folder=$($pip --version 2>/dev/null | sed -n 's/^pip [^ ]* from \(.*\) (python.*/\1/p')
        [ -n "$folder" ] || continue
        awk '/^[^ ]/ { mine = /^pip==/ } mine' requirements.lock >"$venv/pip.lock"
        # A pip that is run by its path works in the environment of the Python that runs it.
        quietly "$venv/bin/python" "$folder" install --ignore-installed --no-deps --require-hashes \
            -r "$venv/pip.lock" && has_pip && return
    done
    return 1
}

create_venv() {
    command -v "$python" >/dev/null || fail "there is no $python; install Python 3.10 or newer, or set PYTHON=/path/to/it"
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' ||
        fail "$("$python" --version) is too old; set PYTHON=/path/to/python3.10 or newer"
    say "creating .venv with $("$python" --version)"
    quietly "$python" -m venv --clear "$venv" && has_pip && return
    borrow_pip && return
    rm -rf "$venv"
    if command -v virtualenv >/dev/null; then
        quietly virtualenv -p "$python" "$venv" && has_pip && return
    fi
    if command -v uv >/dev/null; then
        rm -rf "$venv"
        quietly uv venv --seed --python "$python" "$venv" && has_pip && return
    fi
    apt_install python3-venv && quietly "$python" -m venv --clear "$venv" && has_pip && return
    fail "cannot create a Python environment: $python has no ensurepip, and there is no pip, virtualenv or uv;" \
        "run \`apt-get install python3-venv\` as root (or what your system calls it)"
}

# Fills the environment from a lock, unless it already is.
install_lock() {
    # A link leads to an environment that is another tree's: it is used, and left as it is.
    if [ -L "$venv" ] || is_stamped "$1"; then return; fi
    # An environment of another place or of a Python that is gone cannot be mended.
    if [ "$(cat "$venv/.root" 2>/dev/null)" != "$root" ] || ! has_pip; then
        create_venv
        echo "$root" >"$venv/.root"
    fi
    say "installing $1"
    quietly "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-hashes \
        --only-binary=:all: -r "$1" || fail "cannot install what $1 pins; is there a network? (see \`pip config list\`)"
    stamp "$1" >"$venv/.$1"
}

# CMakeLists.txt says which CMake is new enough.
has_cmake() {
    wanted=$(sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
    found=$(cmake --version 2>/dev/null | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
    [ -n "$found" ] && [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ]
}

has_cmocka() {
    printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\nint main(void) { return 0; }\n' |
        quietly "${CC:-cc}" -x c - -lcmocka -o /dev/null
}

PATH=$venv/bin:$PATH
command -v "${CC:-cc}" >/dev/null || fail "there is no C compiler ${CC:-cc}; install one (\`apt-get install gcc libc6-dev\`), or set CC"
if [ "${1:-all}" = cmake ]; then
    has_cmake || install_lock requirements-cmake.lock
    exit
fi
if [ "${1:-all}" = bench ]; then
    (install_lock requirements-bench.lock) ||
        say "there is no PoCL, and it cannot be installed from here: kernels are compared with plain C only"
    exit
fi
[ "${1:-all}" = c ] || install_lock requirements.lock
# Without these some tests are skipped. A shell of its own, whose failure ends nothing.
[ "${1:-all}" = c ] || (install_lock requirements-packages.lock) ||
    say "there is no conan or no meson, and they cannot be installed from here: the tests of their recipes are skipped"
{ has_cmake && command -v ninja >/dev/null; } || install_lock requirements-cmake.lock
has_cmocka || { apt_install libcmocka-dev && has_cmocka; } ||
    fail "the C tests need cmocka, and it cannot be installed from here;" \
        "run \`apt-get install libcmocka-dev\` as root (or what your system calls it)"
# Without these some tests are skipped, so installing them is tried once only.
if [ "${1:-all}" = all ] && [ ! -e "$venv/.doxygen" ]; then
    command -v doxygen >/dev/null || apt_install doxygen ||
        say "there is no doxygen, and it cannot be installed from here; \`make docs\` needs it"
    : >"$venv/.doxygen"
fi
if [ "${1:-all}" = all ] && [ ! -e "$venv/.aarch64" ]; then
    { command -v qemu-aarch64 && command -v aarch64-linux-gnu-gcc; } >/dev/null ||
        apt_install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross ||
        say "there is no emulator or no compiler for aarch64, and they cannot be installed from here"
    : >"$venv/.aarch64"
fi
if [ "${1:-all}" = all ] && [ ! -e "$venv/.vulkan" ]; then
    { [ -e /usr/include/vulkan/vulkan.h ] && ls /usr/share/vulkan/icd.d/lvp_icd.*; } >/dev/null 2>&1 ||
        apt_install libvulkan-dev mesa-vulkan-drivers ||
        say "there is no Vulkan for the CPU, and it cannot be installed from here"
    : >"$venv/.vulkan"
fi
