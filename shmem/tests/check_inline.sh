#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check_inline.sh: compiles inline_shape.c as a program would (oshcc --inline) and counts the instructions up to the
# return on the path taken when the window is mapped. gcc puts the cold call after the return; clang puts it in the
# middle, and a branch skips it. The path may contain no call. CC: the compiler; X86_CC: another one for x86_64, used if
# it is installed. PGAS_TEST_INCLUDES: -I options; OBJDUMP.
set -u
here=$(dirname "$0")
. "$here/../../tests/harness.sh"

# shape OBJECT OBJDUMP FUNCTION MOST: counts what precedes the return; the return itself does not count (it is the
# caller's)
shape() {
	"$2" -d --no-show-raw-insn "$1" | awk -v name="<$3>:" -v most="$4" -v f="$3" '
		$2 == name { inside = 1; next }
		inside && NF == 0 { inside = 0 }
		inside {
			address[++last] = substr($1, 1, length($1) - 1)
			insn[last] = $2
			target[last] = $3
			text[last] = $0
		}
		# a branch, around instructions that end with a jump: that is the cold call
		function around(i,  to, k) {
			if (insn[i] !~ /^(j[a-z]+|cbn?z|tbn?z|b\.[a-z]+)$/ || insn[i] == "jmp")
				return 0
			to = insn[i] ~ /^[ct]bn?z/ ? text[i] : target[i]
			sub(/ *<.*/, "", to)
			sub(/.*[ ,\t]/, "", to)
			for (k = i + 2; k <= last; k++)
				if (address[k] == to)
					return insn[k - 1] ~ /^(jmp|b)$/ ? k : 0
			return 0
		}
		END {
			for (i = 1; i <= last && insn[i] !~ /^(ret|retq)$/; i = k ? k : i + 1) {
				k = around(i)
				if (insn[i] ~ /^(endbr64|bti|nop|nopw|hint)$/) continue
				if (insn[i] ~ /^(call|callq|bl|blr)$/ &&
					text[i] !~ /__aarch64_(ldadd|swp|cas|ldset|ldclr|ldeor)/) {
					print f ": a call: " text[i]
					bad = 1
				}
				n++
			}
			if (i > last) { print f ": no return found"; exit 1 }
			print f ": " n " instructions, at most " most
			exit (bad || n > most)
		}'
	check "$3, by $cc"
}

# shapes COMPILER OBJDUMP, then the maximum instructions for int_p long_g long_put putmem get fetch_add fence quiet
shapes() {
	cc=$1 objdump=$2
	shift 2
	# shellcheck disable=SC2086
	if ! $cc -O2 ${PGAS_TEST_INCLUDES:--I$here/../include} -c "$here/inline_shape.c" -o "$work/shape.o"; then
		fail "$cc does not compile it"
		return
	fi
	for f in int_p long_g long_put putmem get fetch_add fence quiet; do
		shape "$work/shape.o" "$objdump" "shape_$f" "$1"
		shift
	done
}

command -v "${OBJDUMP:-objdump}" >/dev/null || skip "no objdump"
put=8
# shellcheck disable=SC2086
case $(${CC:-cc} --version) in *clang*) put=9 ;; esac # it makes room for an argument of the cold call first
case $(uname -m) in
x86_64) shapes "${CC:-cc}" "${OBJDUMP:-objdump}" 7 7 $put 12 12 10 4 5 ;;
aarch64) shapes "${CC:-cc}" "${OBJDUMP:-objdump}" 8 8 12 12 12 16 6 6 ;;
*) shapes "${CC:-cc}" "${OBJDUMP:-objdump}" 12 12 14 20 20 20 10 10 ;;
esac
x86=${X86_CC:-x86_64-linux-gnu-gcc}
if [ "$(uname -m)" != x86_64 ] && command -v "$x86" >/dev/null && command -v "${x86%gcc}objdump" >/dev/null; then
	# its own libc headers may be missing; this machine's are good enough for the few that it reads
	shapes "$x86 -idirafter /usr/include" "${x86%gcc}objdump" 7 7 8 12 12 10 4 5
elif [ "$(uname -m)" != x86_64 ]; then
	not_run "the other architecture: no $x86"
fi
finish
