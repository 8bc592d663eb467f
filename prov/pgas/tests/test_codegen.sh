#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_codegen.sh: what the compiler makes of each inline call, read from the object file: one indirect call (the cold
# exit), no lock and no barrier where there should be none, no other call. This detects a regression before anything
# runs.
#
# Runs in the top build folder, with the Makefile's compiler and with gcc and clang if installed; or with
# CODEGEN_COMPILER, CODEGEN_CFLAGS and OBJDUMP, for another machine.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
objdump=${OBJDUMP:-objdump}
command -v "$objdump" >/dev/null 2>&1 || skip "no objdump"
calls=$src/prov/pgas/tests/codegen_calls.c
includes="-I$src/prov/pgas/include -I$src/base/include -I$src/counters/include"
includes="$includes $(setting LIBFABRIC_CFLAGS) ${CODEGEN_CFLAGS:-}"

# stdin: objdump -dr; $1: the source with its expectations. Prints one line per violated rule.
judge() {
	awk -v source="$1" -v machine="$2" '
	BEGIN {
		while ((getline line < source) > 0)
			if (line ~ /^\/\* [a-z0-9_]+ exits=/) {
				n = split(line, word, " ")
				for (i = 3; i <= 5; i++) {
					split(word[i], pair, "=")
					want[word[2], pair[1]] = pair[2]
				}
				names[word[2]] = 1
			}
		x86 = machine ~ /x86/
	}
	/^[0-9a-f]+ <.*>:$/ {
		name = $2
		gsub(/[<>:]/, "", name)
		sub(/\.(cold|part|isra|constprop).*/, "", name)
		seen[name] = 1
		next
	}
	/R_(X86_64|AARCH64)_/ {
		# the relocation of the call in front names the callee
		if (direct) {
			target = $3
			sub(/[-+]0x.*/, "", target)
			sub(/@.*/, "", target)
			if (target !~ /^\.text/)
				called(target)
		}
		direct = 0
		next
	}
	/^ *[0-9a-f]+:\t/ {
		flush_direct()
		text = $0
		sub(/^ *[0-9a-f]+:\t/, "", text)
		sub(/[#;].*/, "", text)
		sub(/ +$/, "", text)
		op = text
		sub(/[ \t].*/, "", op)
		if (x86)
			look_x86()
		else
			look_aarch64()
	}
	function called(target) {
		# gcc calls a helper for an atomic where the processor decides
		if (target ~ /^__aarch64_(cas|swp|ldadd|ldset|ldclr|ldeor)/)
			atomics[name]++
		else
			calls[name] = calls[name] " " target
	}
	function flush_direct() {
		if (direct && text !~ "<" name)
			calls[name] = calls[name] " " text
		direct = 0
	}
	function look_x86() {
		if (op == "bnd" || op == "notrack") {
			sub(/^[a-z]+[ \t]+/, "", text)
			op = text
			sub(/[ \t].*/, "", op)
		}
		if ((op ~ /^call/ || op == "jmp") && text ~ /\*/)
			exits[name]++
		else if (op ~ /^call/)
			direct = 1
		else if (op ~ /^j/ && text !~ "<" name)
			direct = 1
		if (op == "lock" || (op == "xchg" && text ~ /\(/))
			atomics[name]++
		if (op ~ /^(mfence|lfence|sfence|cpuid|syscall)$/)
			barriers[name]++
	}
	function look_aarch64() {
		if (op == "blr" || op == "br")
			exits[name]++
		else if (op == "bl")
			direct = 1
		else if (op == "b" && text !~ "<" name)
			direct = 1
		if (op ~ /^(ldxr|ldaxr|cas|swp|ldadd|ldset|ldclr|ldeor|stadd|stset|stclr|steor)/)
			atomics[name]++
		if (op ~ /^(dmb|dsb|isb|svc)$/)
			barriers[name]++
	}
	END {
		for (name in names) {
			if (!(name in seen)) {
				print name ": not in the object"
				continue
			}
			if (exits[name] + 0 != want[name, "exits"])
				print name ": " exits[name] + 0 " indirect calls, not " want[name, "exits"]
			if (atomics[name] + 0 != want[name, "atomics"])
				print name ": " atomics[name] + 0 " locked or exclusive accesses, not " \
					want[name, "atomics"]
			if (barriers[name] + 0 != 0)
				print name ": " barriers[name] " barriers"
			n = split(calls[name], list, " ")
			for (i = 1; i <= n; i++)
				if (list[i] != want[name, "calls"])
					print name ": calls " list[i]
		}
	}'
}

# compiler, options, name of the machine
compiled() {
	# the table of a switch would look like an exit
	$1 -std=c11 -O2 -fno-jump-tables -Wall -Wextra -Wpedantic -Werror -DFABRIC_DIRECT $2 $includes \
		-c -o "$work/calls.o" "$calls" || { fail "$1 $2 does not compile it"; return; }
	"$objdump" -dr --no-show-raw-insn "$work/calls.o" | judge "$calls" "$3" >"$work/found"
	! grep -v '^broken_' "$work/found"
	check "$1 $2: every call as it should be"
}

# The checker must find bad code, or its result means nothing.
self_test() {
	compiled "$1" "$2 -DCODEGEN_BROKEN" "$3"
	for rule in "broken_atomic: 1 locked" "broken_fence: 1 " "broken_call: calls broken_callee" \
		"broken_exits: 2 indirect" "broken_missing: 0 indirect" "broken_missing: 0 locked"; do
		grep -q "^$rule" "$work/found"
		check "the checker sees '$rule' ($1)"
	done
}

done_with=,
for compiler in "${CODEGEN_COMPILER:-$(setting CC)}" gcc clang; do
	[ -z "${CODEGEN_COMPILER:-}" ] || compiler=$CODEGEN_COMPILER
	command -v ${compiler%% *} >/dev/null 2>&1 || { not_run "no $compiler"; continue; }
	case $done_with in *",$compiler,"*) continue ;; esac
	done_with="$done_with$compiler,"
	machine=$($compiler -dumpmachine)
	case $machine in
	x86_64*) compiled "$compiler" "" "$machine" ;;
	aarch64*)
		compiled "$compiler" "" "$machine"
		compiled "$compiler" "-march=armv8.1-a" "$machine"
		;;
	*) skip "no rules for $machine" ;;
	esac
	self_test "$compiler" "" "$machine"
done
[ "$done_with" != , ]
check "there is a compiler"
finish
