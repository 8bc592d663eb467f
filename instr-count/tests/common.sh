# SPDX-License-Identifier: BSD-3-Clause
# common.sh: what the test scripts share. They run in the top build folder.

IC=${INSTR_COUNT:-./instr-count/instr-count}
PROG=${INSTR_COUNT_MISBEHAVE:-./instr-count/tests/misbehave}
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/instr-count-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# Containers may forbid ptrace: then there is nothing to test here.
"$IC" count --entry work -- "$PROG" >/dev/null 2>"$work/probe"
if [ $? -eq 6 ]; then
	cat "$work/probe"
	exit 77
fi

bad() {
	echo "FAIL: $*"
	failed=1
}

# expect STATUS TEXT COMMAND...: exit status, and text somewhere in the output
expect() {
	want=$1 text=$2
	shift 2
	timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$@" >"$work/out" 2>&1
	got=$?
	if [ $got -ne "$want" ]; then
		bad "status $got, not $want: $*"
		sed 's/^/    /' "$work/out" | head -20
	elif ! grep -q -e "$text" "$work/out"; then
		bad "no '$text' in the output of: $*"
		sed 's/^/    /' "$work/out" | head -20
	else
		echo "ok: $*" | sed "s|$work|TMP|g"
	fi
}

# median of a count command
median() {
	timeout -s KILL $((120 * ${TEST_SLOW:-5})) "$IC" count "$@" 2>/dev/null | sed -n 's/.*median \([0-9]*\),.*/\1/p'
}
