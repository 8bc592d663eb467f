# SPDX-License-Identifier: BSD-3-Clause
# all_gone.sh: checks that nothing of a job is left. Sourced after harness.sh by tests that have set $program.
#
#	all_gone WORDS		no process of $program that this test has started is left, and no file
mark=$(basename "$program")-$$-$(basename "$work")
export TEST_MARK="$mark" TMPDIR="$work/tmp"
mkdir "$work/tmp"
marked() { grep -lzsx "TEST_MARK=$mark" /proc/[0-9]*/environ | sed 's|/proc/||;s|/environ||' | grep -vx "$$"; }
# succeeds if no process of the test runs $program
nobody() {
	for pid in $(marked); do
		grep -qs "$(basename "$program")" "/proc/$pid/cmdline" && return 1
	done
	return 0
}
named() {
	find /dev/shm -maxdepth 1 -user "$(id -u)" \( -name '*shmem*' -o -name '*oshrun*' -o -name '*pgas*' \) \
		2>/dev/null
}
all_gone() {
	within 200 nobody
	check "$1: no process is left"
	[ -z "$(ls -A "$work/tmp")" ]
	check "$1: no file is left"
	[ -z "$(named)" ]
	check "$1: no file is left in /dev/shm"
}
