#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# oshtop in a terminal of 80 columns and 12 lines: what it draws fits, keys work, and the terminal is as before when it
# ends by a key, by Ctrl-C, or with the job. A terminal is made by Python.
. "$(dirname "$0")/../../boot/tests/common.sh"
python_has "pty, termios, fcntl, struct, select" || skip "no Python that can make a terminal"
probe=$top/top/tests/top_probe
go=$work/go

start --oversubscribe -n 20 "$probe" alone "$go" 0 0 0
within 200 sh -c '"$1" --once -i 0.1 "$2" 2>/dev/null | grep -q "^20 PEs: 20 sleeping"' - "$top/top/oshtop" "$runner"
check "a job of 20 PEs"
for end in q ctrl-c stop job; do
	bounded python3 "$here/screen.py" "$top/top/oshtop" "$runner" $end "$go" >"$work/out" 2>&1
	check "a terminal of 12 lines, $end: $(tail -n 1 "$work/out")"
done
: >"$go"
wait "$runner"
[ $? -eq 0 ]
check "the job"
clean "terminals"
finish
