#!/bin/sh
# Runs all C tests on a busy machine, many times, and stops at the first that fails: none may depend on timing.
#
#   tools/test_busy.sh BUILD    ROUNDS=10 passes   LOOPS=4 busy loops beside them   NICE=10 for the tests   TESTS=regex
set -eu
build=$1
pids=
trap 'kill $pids 2>/dev/null || true' EXIT INT TERM
for _ in $(seq "${LOOPS:-4}"); do
    sh -c 'while :; do :; done' &
    pids="$pids $!"
done
round=1
while [ "$round" -le "${ROUNDS:-10}" ]; do
    echo "round $round of ${ROUNDS:-10}"
    nice -n "${NICE:-10}" ctest --test-dir "$build" --output-on-failure --stop-on-failure --progress \
        --parallel "$(nproc)" --tests-regex "${TESTS:-.}"
    round=$((round + 1))
done
