#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_shmem_info.sh SHMEM_INFO: what shmem-info prints, as text and as JSON, and its exit codes.
# PGAS_TEST_INFO: the argument, when there is none.
set -eu
info=${1:-${PGAS_TEST_INFO:-}} failed=0
if [ -z "$info" ]; then
    echo "usage: test_shmem_info.sh SHMEM_INFO" >&2
    exit 2
fi
wrong() { echo "$1"; failed=$((failed + 1)); }

"$info" | grep -q '^specification: *1\.6$' || wrong "no specification in the text"
"$info" | grep -q 'SHMEM_SYMMETRIC_SIZE=512M (default)' || wrong "no default size in the text"
SHMEM_SYMMETRIC_SIZE=3g "$info" | grep -q 'SHMEM_SYMMETRIC_SIZE=3g$' || wrong "size of the environment is not shown"
SHMEM_FAKE_HOSTS='a"b\' "$info" --json >/dev/null && wrong "a wrong value gives exit code 0"
SHMEM_FAKE_HOSTS='a"b\' "$info" --json | grep -q '"value": "a\\"b\\\\"' || wrong "JSON is not escaped"
"$info" --help | grep -q '^usage:' || wrong "no usage"
"$info" --nonsense >/dev/null 2>&1 && wrong "an unknown argument is accepted"
if command -v python3 >/dev/null; then
    SHMEM_INFO=$(printf 'x\ty') "$info" --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["specification"] == "1.6" and d["error"] is None
v = {e["name"]: e for e in d["environment"]}
assert v["SHMEM_INFO"]["value"] == "on" and v["SHMEM_INFO"]["from"] == "SHMEM_INFO"
assert v["SHMEM_SYMMETRIC_SIZE"]["from"] is None
' || wrong "JSON is not what was expected"
fi
echo "$failed wrong"
exit $((failed != 0))
