# SPDX-License-Identifier: BSD-3-Clause
# harness.sh: what all script tests share. A test sources it and ends with `finish`:
#
#	. "$(dirname "$0")/../../tests/harness.sh"
#
# It provides the variables
#	$top, $src	the top build folder and the top source folder
#	$oshrun		the launcher; TEST_OSHRUN replaces it with one that takes the same options (tests/hosts/spread)
#	$work		a folder of the test's own, removed at the end, however the test ends
#	$SLOW		how many times longer than an idle machine this one may take (TEST_SLOW, see tests/README.md)
#	$LIMIT		seconds that one command may take on an idle machine; a test may set it
#	$sanitized	yes in a build with sanitizers, empty otherwise
# and these functions
#	check WORDS			is the verdict on the previous command, by its exit status
#	ok WORDS, fail WORDS		are verdicts of the test itself
#	expect STATUS TEXT COMMAND...	the command must end with that status ("bad": any but 0), and print a line that
#					matches TEXT ('': any output)
#	good COMMAND...			is expect 0 ''
#	bounded COMMAND...		runs it for LIMIT * SLOW seconds at most; by COMMAND... also sets $rc and
#					leaves its output in $work/out
#	within TENTHS COMMAND...	waits until the command succeeds, at most SLOW times TENTHS tenths of a second
#	not_run WORDS			reports a part that cannot run here; the last line of the test counts these
#	skip WORDS			ends a test that cannot run here at all
#	python_has MODULE[, MODULE]	succeeds if python3 has these modules; Debian's python3-minimal has no json
#	svg_fits FILE			succeeds if no text of the picture begins within its page and ends beyond it
#	at_exit COMMAND...		runs at the end, before $work is removed
#	setting NAME			prints a variable of the top Makefile
#	allowed NAME DEFAULT		prints a limit that depends on the machine: $NAME, or the default

top=${abs_top_builddir:-$PWD}
src=${abs_top_srcdir:-${srcdir:-.}}
oshrun=${TEST_OSHRUN:-$top/launch/oshrun}
SLOW=${TEST_SLOW:-5}
LIMIT=60
failures=0 count=0 parts_not_run='' parts=0 finished='' at_exit=:

setting() { sed -n "s/^$1 = //p" "$top/Makefile" 2>/dev/null; }
case $(setting SANITIZER_FLAGS) in *-fsanitize*) sanitized=yes ;; *) sanitized= ;; esac

at_exit() { at_exit="$at_exit; $*"; }
# LLVM's OpenMP creates a file here for each process that uses it, and a process that is killed leaves its file behind.
end_of_openmp() {
	for _file in /dev/shm/__KMP_REGISTERED_LIB_*_"$(id -u)"; do
		_pid=${_file#*_LIB_}
		[ -O "$_file" ] && ! kill -0 "${_pid%%_*}" 2>/dev/null && rm -f "$_file"
	done
}
harness_end() {
	_rc=$?
	trap - EXIT
	end_of_openmp
	eval "$at_exit"
	rm -rf "$work"
	[ -n "$finished" ] || [ $_rc -ne 0 ] || { say "FAILED: the test ended before its end"; exit 1; }
	exit $_rc
}
work=$(mktemp -d) || exit 99
trap harness_end EXIT
trap 'exit 99' HUP INT TERM

say() { printf '%s\n' "$*"; }
note() { say "# $*"; }
ok() {
	count=$((count + 1))
	say "ok $count - $*"
}
fail() {
	count=$((count + 1))
	failures=$((failures + 1))
	say "FAILED $count - $*"
	for _file in out err; do
		[ ! -s "$work/$_file" ] || sed "s/^/#   $_file: /" "$work/$_file" | tail -n 40
	done
}
check() {
	_rc=$?
	if [ $_rc -eq 0 ]; then ok "$*"; else fail "$*"; fi
}

not_run() {
	parts=$((parts + 1))
	parts_not_run="$parts_not_run${parts_not_run:+; }$*"
	say "not run: $*"
}
skip() {
	finished=yes
	say "skipped: $*"
	exit 77
}
# A letter is 0.56 of its size wide, on average, in a wide font.
svg_fits() {
	awk -F'"' '
	/^<svg/ { width = $4; usual = match($0, /font-size="[0-9]*/) ? substr($0, RSTART + 11, RLENGTH - 11) : 12 }
	/^<text/ && !/text-anchor/ {
		size = match($0, /font-size="[0-9]*/) ? substr($0, RSTART + 11, RLENGTH - 11) : usual
		text = $0
		gsub(/<[^>]*>/, "", text)
		if ($2 + length(text) * size * 0.56 > width) { print "beyond the edge: " text; bad = 1 }
	}
	END { exit bad || !width }' "$1"
}
python_has() { python3 -c "import $1" >/dev/null 2>&1; }
finish() {
	finished=yes
	if [ $failures -ne 0 ] || [ $count -eq 0 ]; then
		say "FAILED: $failures of $count"
		exit 1
	fi
	say "all $count passed${parts_not_run:+, $parts not run: $parts_not_run}"
	exit 0
}

bounded() { timeout -s KILL $((LIMIT * SLOW)) "$@"; }
by() {
	bounded "$@" >"$work/out" 2>&1 </dev/null
	rc=$?
}
expect() {
	_status=$1 _text=$2
	shift 2
	by "$@"
	_what=$(say "$*" | sed "s|$work|WORK|g;s|$top/||g")
	rm -f "$work/err"
	if [ "$_status" = bad ]; then
		[ $rc -ne 0 ] && [ $rc -ne 137 ] || { fail "$_what: status $rc, expected a bad one"; return; }
	elif [ $rc -ne "$_status" ]; then
		fail "$_what: status $rc, expected $_status"
		return
	fi
	[ -z "$_text" ] || grep -q -e "$_text" "$work/out" || { fail "$_what: no \"$_text\" in its output"; return; }
	ok "$_what"
}
good() { expect 0 '' "$@"; }

within() {
	_left=$(($1 * SLOW))
	shift
	until "$@"; do
		[ $_left -gt 0 ] || return 1
		_left=$((_left - 1))
		sleep 0.1
	done
}

allowed() {
	eval "_given=\${$1:-}"
	case $_given in '' | *[!0-9]*) echo "$2" ;; *) echo "$_given" ;; esac
}
