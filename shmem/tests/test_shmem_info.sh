#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# test_shmem_info.sh SHMEM_INFO: what shmem-info prints, as text and as JSON, and its exit codes.
# PGAS_TEST_INFO: the argument, when there is none.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
info=${1:-${PGAS_TEST_INFO:-}}
if [ -z "$info" ]; then
	echo "usage: test_shmem_info.sh SHMEM_INFO" >&2
	exit 2
fi

expect 0 '^specification: *1\.6$' "$info"
expect 0 'SHMEM_SYMMETRIC_SIZE=512M (default)' "$info"
SHMEM_SYMMETRIC_SIZE=3g expect 0 'SHMEM_SYMMETRIC_SIZE=3g$' "$info"
SHMEM_FAKE_HOSTS='a"b\' expect bad '"value": "a\\"b\\\\"' "$info" --json
expect 0 'SHMEM_SYMMETRIC_PARTITION<ID>: none (default)' "$info"
SHMEM_SYMMETRIC_PARTITION1=2G:KIND=emulated expect 0 'SHMEM_SYMMETRIC_PARTITION1=2G:KIND=emulated$' "$info"
SHMEM_SYMMETRIC_PARTITION1=2G:KIND=red expect 1 'error: SHMEM_SYMMETRIC_PARTITION1: .* KIND is not one of: ' "$info"
expect 0 '^usage:' "$info" --help
expect bad '' "$info" --nonsense
if command -v python3 >/dev/null; then
	SHMEM_SYMMETRIC_PARTITION7=1g SHMEM_INFO=$(printf 'x\ty') \
		"$info" --json >"$work/json" && python3 - "$work/json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["specification"] == "1.6" and d["error"] is None
v = {e["name"]: e for e in d["environment"]}
assert v["SHMEM_INFO"]["value"] == "on" and v["SHMEM_INFO"]["from"] == "SHMEM_INFO"
assert v["SHMEM_SYMMETRIC_SIZE"]["from"] is None
assert v["SHMEM_SYMMETRIC_PARTITION7"]["value"] == "1g"
END
	check "the JSON can be read and says what is set"
else
	not_run "reading the JSON: no python3"
fi
finish
