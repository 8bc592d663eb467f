# SPDX-License-Identifier: BSD-3-Clause
# common.sh: shared by the test scripts of instr-count. They run in the top build folder.
. "${srcdir:-.}/tests/harness.sh"

IC=${INSTR_COUNT:-./instr-count/instr-count}
PROG=${INSTR_COUNT_MISBEHAVE:-./instr-count/tests/misbehave}
LIMIT=120

# Containers may forbid ptrace: then there is nothing to test here.
"$IC" count --entry work -- "$PROG" >/dev/null 2>"$work/probe"
[ $? -ne 6 ] || skip "$(cat "$work/probe")"

# prints the median of a count command
median() {
	bounded "$IC" count "$@" 2>/dev/null | sed -n 's/.*median \([0-9]*\),.*/\1/p'
}
