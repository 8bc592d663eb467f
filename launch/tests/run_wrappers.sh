#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs between oshrun and the PE: shells, valgrind, gdb, and Python, which closes every descriptor that it does not
# know.
. "$(dirname "$0")/../../boot/tests/common.sh"

job -n 3 sh -c 'exec 3>/dev/null 4>/dev/null 9>/dev/null; "$PROBE" all'
[ $rc -eq 0 ] && grep -qx 'ok 3' "$work/out"
check "sh that uses descriptors of its own"

job -n 3 env -u SOMETHING nice "$PROBE" all
[ $rc -eq 0 ] && grep -qx 'ok 3' "$work/out"
check "chain of execs"

if command -v python3 >/dev/null; then
	cat >"$work/below.py" <<'END'
import os, subprocess, sys
own_session = len(sys.argv) > 1 and sys.argv[1] == "hang"
sys.exit(subprocess.call([os.environ["PROBE"]] + sys.argv[1:], close_fds=True, start_new_session=own_session))
END
	job -n 3 python3 "$work/below.py" all
	[ $rc -eq 0 ] && grep -qx 'ok 3' "$work/out"
	check "Python that closes all descriptors"
	job -n 3 python3 "$work/below.py" abort 1 9 why
	[ $rc -eq 9 ] && grep -q 'status 9: why' "$work/err"
	check "abort below Python"
	hanging() { [ "$(grep -c hanging "$work/out")" -eq 2 ]; }
	start -n 2 python3 "$work/below.py" hang
	within 100 hanging
	kill -9 "$runner"
	wait "$runner" 2>/dev/null
	clean "oshrun killed with -9, PEs below Python in sessions of their own"
else
	not_run "below Python: no python3"
fi

# not every valgrind can read the output of every compiler
if command -v valgrind >/dev/null && [ -z "$sanitized" ] && valgrind -q "$PROBE" hello >/dev/null 2>&1; then
	job -n 2 -- valgrind -q --error-exitcode=42 "$PROBE" all
	[ $rc -eq 0 ] && grep -qx 'ok 2' "$work/out" && ! grep -q '==' "$work/err"
	check "valgrind has nothing to say"
	job -n 2 --valgrind "$PROBE" hello
	[ $rc -eq 0 ] && [ "$(grep -c 'of 2 by oshrun' "$work/out")" -eq 2 ]
	check "--valgrind"
else
	not_run "below valgrind: it does not run the probe here"
fi

if command -v gdb >/dev/null && gdb -nx -batch -ex run true >/dev/null 2>&1 && [ -z "$sanitized" ]; then
	job -n 2 --gdb "$PROBE" all
	[ $rc -eq 0 ] && grep -qx 'ok 2' "$work/out"
	check "--gdb"
	job -n 2 --gdb "$PROBE" crash 1
	[ $rc -ne 0 ] && grep -q 'SIGSEGV' "$work/out" && grep -q '^#[0-9].* act ' "$work/out"
	check "--gdb prints a backtrace"
else
	not_run "below gdb: it does not run a program here"
fi
clean "wrappers"
finish
