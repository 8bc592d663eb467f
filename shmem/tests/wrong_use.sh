# SPDX-License-Identifier: BSD-3-Clause
# wrong_use.sh: what the tests of wrong use share. They set program and pes, and end with exit $status.

top=${abs_top_builddir:-.}
run=$top/boot/oshrun
status=0

expect() { # kind, words that must appear
    kind=$1
    shift
    out=$(timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$run" -n "$pes" "$program" "$kind" 2>&1)
    rc=$?
    if [ $rc -ne 1 ]; then
        echo "FAILED: $kind: status $rc, expected 1"
        status=1
    fi
    for word in "$@"; do
        case $out in
        *"$word"*) ;;
        *)
            echo "FAILED: $kind: no \"$word\" in: $out"
            status=1
            ;;
        esac
    done
    echo "$kind: $rc"
}
