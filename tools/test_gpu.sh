#!/bin/sh
# Tests and times anycuda on a GPU against all real libcudarts, and prints a report in Markdown.
#
#   tools/test_gpu.sh [build|run [PART…]]    ANYCUDA_TOOLKITS=folder with <version>/lib/libcudart.so.*   OUT=for the report
#
# All takes some ten minutes with 16 processors. PART is smoke, conformance, tests, examples, runtime, inject, memcheck or timing.
# `build` needs a C compiler, and cmocka for the safe layer's tests; `run` needs a GPU and python3, and neither needs a
# network. Without a word both are done. What is built in build/gpu runs on any machine with as new a C library, so that
# one with a GPU need not have a compiler or cmocka. Exits with 1 if anything failed, and with 77, saying so, where there
# is no GPU. With ANYCUDA_TESTS_SECONDS no program of the tests begins later than that, or runs longer.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build/gpu}
cc=${CC:-cc}
define=
more='-D_DEFAULT_SOURCE -D_XOPEN_SOURCE=700' # than C11 has
export ANYCUDA_TOOLKITS="${ANYCUDA_TOOLKITS:-$HOME/.cache/anycuda/toolkits}"

# objects FOLDER SOURCES…: compiles as CMakeLists.txt does. An object has the name of its source's path, since folders have
# files of the same name.
objects() (
    to=$build/objects/$1
    mkdir -p "$to"
    shift
    # shellcheck disable=SC2016,SC2086
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c '
        source=$1 to=$2 root=$3; shift 3
        name=$(printf %s "${source#"$root/"}" | tr / -)
        exec "$@" -o "$to/${name%.c}.o" "$source"' sh {} "$to" "$root" \
        "$cc" -c -std=c11 -Werror=implicit-function-declaration -O2 -fPIC \
        -fvisibility=hidden -ffunction-sections -fdata-sections $define -DSPEC="\"$root/spec/parameters/cudart.yaml\"" \
        -I"$root/include" -I"$root/generated/include" -I"$root/src" -I"$root/generated/src"
)

# program NAME OBJECTS…: links them with the library; the simulator is taken where it is among them.
program() (
    name=$1
    shift
    mkdir -p "$(dirname "$build/$name")"
    "$cc" -s -Wl,--gc-sections -o "$build/$name" "$@" "$build"/objects/library/*.o "$build"/objects/generated/*.o \
        -ldl -lpthread -lm
)

build_safe() {
    library=$("$cc" -print-file-name=libcmocka.so)
    if [ ! -e "$library" ]; then
        echo "no cmocka: the safe layer's tests are left out" >&2
        return
    fi
    mkdir -p "$build/tests"
    cp -L "$library" "$build/tests/libcmocka.so.0"
    define=$more objects tests "$root"/tests/safe/*.c
    shared=$(ls "$build"/objects/tests/*.o | grep -v '/tests-safe-\(test_\|fake_cuda\.\|print_\)') # what several tests have
    # Those that CMake lists as tests on any CUDA; the others play CUDA's calls, or malloc(), themselves.
    for test in $(sed -n '/_no_memory/d; s/^\(safe\|kernel\)_test(\([a-z_]*\).*/\2/p' "$root/tests/safe/CMakeLists.txt"); do
        # shellcheck disable=SC2086
        program "tests/$test" "$build/objects/tests/tests-safe-test_$test.o" $shared "$build"/objects/sim/*.o \
            -lcmocka -Wl,-rpath,'$ORIGIN'
    done
}

# The interface over several machines: its cases, and random programs of it.
build_runtime() {
    define="-D_DEFAULT_SOURCE -DFETCHED=\"$ANYCUDA_TOOLKITS/webgpu/lib/libwgpu_native-release.so\""
    objects runtime "$root"/tests/runtime/suite/*.c "$root"/tests/runtime/made_up.c
    objects random "$root"/tests/runtime/random/*.c
    define=
    program runtime/suite "$build"/objects/runtime/*.o "$build"/objects/sim/*.o
    suite=$build/objects/runtime/tests-runtime
    program runtime/random "$build"/objects/random/*.o "$suite-suite-kept.o" "$suite-suite-where.o" \
        "$suite-suite-forms.o" "$suite-made_up.o" "$build"/objects/sim/*.o
}

# Memory and semaphores of Vulkan, which the machine with the GPU may or may not have.
has_vulkan() {
    printf '#include <vulkan/vulkan.h>\n' | "$cc" -E -x c - >/dev/null 2>&1
}

build_vulkan() {
    if ! has_vulkan; then
        echo "no vulkan/vulkan.h: tests/vulkan/ is left out" >&2
        return
    fi
    define=$more objects vulkan "$root"/tests/vulkan/*.c
    program tests/vulkan "$build"/objects/vulkan/*.o
    define=-I$root/tests/vulkan objects external "$root/bench/external.c" "$root/bench/pairs.c"
    program external "$build"/objects/external/*.o "$build/objects/vulkan/tests-vulkan-vulkan.o" "$build"/objects/sim/*.o
}

# Buffers and images of OpenGL, which is opened at run time.
build_graphics() {
    define=$more objects graphics "$root"/tests/graphics/*.c
    program tests/graphics "$build"/objects/graphics/*.o "$build"/objects/sim/*.o
}

# What is timed: the same loops over anycuda and over NVIDIA's library, which is linked, so one program for each runtime;
# the safe layer over the raw calls, through any of them; and the simulator, which does the same as one of them.
build_bench() {
    objects bench "$root/bench/calls.c" "$root/bench/loops.c" "$root/bench/pairs.c"
    objects safe "$root/bench/safe.c" "$root/bench/pairs.c"
    program safe "$build"/objects/safe/*.o
    objects grow "$root/bench/grow.c" "$root/bench/pairs.c"
    program grow "$build"/objects/grow/*.o
    objects arrays "$root/bench/arrays.c" "$root/bench/pairs.c"
    program arrays "$build"/objects/arrays/*.o
    objects memory "$root/bench/memory.c" "$root/bench/pairs.c"
    program memory "$build"/objects/memory/*.o
    objects transfers "$root/bench/transfers.c" "$root/bench/pairs.c"
    program transfers "$build"/objects/transfers/*.o
    objects share "$root/bench/share.c" "$root/bench/pairs.c"
    program share "$build"/objects/share/*.o
    objects runtime_cuda "$root/bench/runtime_cuda.c" "$root/bench/pairs.c"
    program runtime_cuda "$build"/objects/runtime_cuda/*.o
    objects runtime_pipeline "$root/bench/runtime_pipeline.c" "$root/bench/pairs.c"
    program runtime_pipeline "$build"/objects/runtime_pipeline/*.o "$build"/objects/sim/*.o
    objects runtime_webgpu "$root/bench/runtime_webgpu.c" "$root/bench/pairs.c"
    program runtime_webgpu "$build"/objects/runtime_webgpu/*.o
    objects bench_sim "$root"/bench/sim*.c "$root/bench/pairs.c"
    program sim "$build"/objects/bench_sim/*.o "$build"/objects/sim/*.o
    define=-DDIRECT objects direct "$root/bench/loops.c"
    for library in "$ANYCUDA_TOOLKITS"/[0-9]*/lib/libcudart.so.*; do
        version=$(basename "$(dirname "$(dirname "$library")")")
        case $version in *-*) continue ;; esac # another processor's, such as 11.8-aarch64
        program "calls-$version" "$build"/objects/bench/*.o "$build"/objects/direct/*.o "$library"
    done
}

build_all() {
    echo "compiling with $("$cc" --version | head -n 1) …" >&2
    # shellcheck disable=SC2046
    objects library $(find "$root/src" -name '*.c' ! -path '*/src/sim/*')
    objects generated "$root"/generated/src/*.c # apart, since src/runtime/ has files of the same names
    # shellcheck disable=SC2046
    objects sim $(find "$root/src/sim" "$root/generated/src/sim" -name '*.c' ! -path '*/shared/*')
    objects smoke $(ls "$root"/tests/gpu/*.c | grep -v profiled)
    define=$more objects conformance "$root"/tests/conformance/*.c
    define=$more objects fuzz "$root"/tests/fuzz/*.c
    define=$more objects threads "$root"/tests/threads/*.c
    define=$more objects examples "$root"/examples/*.c
    program gpu_smoke "$build"/objects/smoke/*.o
    program conformance "$build"/objects/conformance/*.o "$build"/objects/sim/*.o
    program fuzz "$build"/objects/fuzz/*.o "$build"/objects/sim/*.o
    program threads "$build"/objects/threads/*.o "$build"/objects/sim/*.o
    for example in "$build"/objects/examples/*.o; do
        name=$(basename "$example" .o)
        program "examples/${name#examples-}" "$example" "$build"/objects/sim/*.o
    done
    define=-ffp-contract=off objects tensor "$root"/examples/tensor/*.c
    program examples/tensor_train "$build"/objects/tensor/*.o "$build"/objects/sim/*.o -lm
    build_safe
    build_runtime
    build_vulkan
    build_graphics
    build_bench
}

step=${1:-all}
case $step in
all | build | run) ;;
*)
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
[ $# -eq 0 ] || shift
[ "$step" = run ] || build_all
[ "$step" = build ] || exec python3 "$root/tests/gpu/report.py" "$build/gpu_smoke" "$build" "$@"
