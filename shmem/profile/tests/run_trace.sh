#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Timelines: all calls of all PEs, an arrow from each signal to the wait that it ends, synchronized clocks of hosts, and
# a line that says how many calls did not fit.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
LIMIT=120
probe=$top/shmem/profile/tests/stats_probe ring=$top/examples/ring
file=$work/trace.json
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

lines() { grep -c -e "$1" "$file"; }
readable() {
	if ! python_has json; then
		not_run "reading the timeline: no Python that can"
		return
	fi
	python3 - "$file" <<'END'
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
calls = {}
for e in events:
    if e["ph"] == "X":
        calls.setdefault((e["pid"], e["tid"]), []).append((e["ts"], e["ts"] + e["dur"], e["name"]))
def inside(e, word):
    slack = 2.0 # of two roundings, and of clocks
    return any(a - slack <= e["ts"] <= b + slack and word in name for a, b, name in calls[(e["pid"], e["tid"])])
flows = {}
for e in events:
    if e["ph"] in "sf":
        flows.setdefault(e["id"], {})[e["ph"]] = e
        assert inside(e, "signal"), e
assert all("s" in f and "f" in f and f["s"]["ts"] <= f["f"]["ts"] for f in flows.values())
for spans in calls.values():
    assert all(spans[i][1] <= spans[i + 1][0] + 0.01 for i in range(len(spans) - 1))
    assert spans[0][0] >= 0
END
	check "it can be read, calls follow each other, arrows begin and end in calls"
}
expect 0 'SHMEM timeline: [0-9]* calls and 4 arrows in ' "$oshrun" --trace "$file" -n 4 "$probe"
! grep -q 'SHMEM statistics' "$work/out"
check "no table, which nobody asked for"
[ "$(lines '"name":"shmem_int_put_signal","ph":"X"')" = 4 ] && [ "$(lines '"name":"shmem_long_g","ph":"X"')" = 20 ]
check "every call is there"
[ "$(lines '"ph":"s"')" = 4 ] && [ "$(lines '"ph":"f"')" = 4 ]
check "four arrows"
grep -q '"name":"shmem_int_put","ph":"X","pid":2,"tid":0,"ts":[0-9.]*,"dur":[0-9.]*,"args":{"pe":3,"bytes":40}' "$file"
check "a call has its PE and bytes"
readable
# each word of ring is incremented in turn, and each wait waits for one more
expect 0 'and 200 arrows in ' "$oshrun" --trace "$file" -n 4 "$ring" 50
readable
# together with the table
expect 0 'SHMEM statistics of' "$oshrun" --stats --trace "$file" -n 2 "$ring" 5
grep -q 'and 10 arrows in' "$work/out"
check "statistics and timeline"
# hosts whose clocks are compared: here it is the same clock, so the comparison must not shift it
expect 0 'and 100 arrows in ' env SHMEM_FAKE_HOSTS=2x1 "$oshrun" --trace "$file" -n 2 "$ring" 50
readable
# the number of events is bounded
expect 0 '8 calls and ' env SHMEM_TRACE_EVENTS=4 "$oshrun" --trace "$file" -n 2 "$probe"
grep -q 'SHMEM timeline: [1-9][0-9]* calls had no room; SHMEM_TRACE_EVENTS is 4 per PE' "$work/out"
check "it says how many calls had no room"
grep -q '"calls_not_held":[1-9]' "$file"
check "so does the file"
# a job that ends early has a timeline too
rm -f "$file"
expect 139 'SHMEM timeline: ' "$oshrun" --trace "$file" -n 4 "$top/shmem/tests/shmem_ends" crash
[ "$(lines '"name":"shmem_barrier_all","ph":"X"')" -ge 1 ]
check "the timeline of a job that ended early"
expect 0 'cannot write the timeline /proc/no/file' "$oshrun" --trace /proc/no/file -n 2 "$probe"
expect 1 'option --trace needs a value' "$oshrun" --trace
finish
