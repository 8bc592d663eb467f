#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_documents.sh: the results in docs/instr-count keep the budgets of paths.def, its pictures are drawn from these
# results, and the numbers in other documents match them. Counts nothing itself: test_budgets.sh does.
. "${srcdir:-.}/tests/harness.sh"
IC=${INSTR_COUNT:-./instr-count/instr-count}
docs=$src/docs/instr-count
[ -d "$docs" ] || skip "no documents here"

# numbers FILE: prints path, median and status of each path that was counted
numbers() { "$IC" report --csv --from "$docs/$1" | awk -F, 'FNR > 1 && $3 != "published" { print $1, $10, $3 }'; }
for arch in x86_64 x86_64-verbs; do
	numbers $arch.json >"$work/$arch" && [ -s "$work/$arch" ]
	check "$arch.json can be read"
done
awk -F'|' 'function cut(s) { gsub(/^ +| +$/, "", s); return s }
	/^[a-z]/ && NF == 10 {
		name = cut($1)
		budget = cut($7)
		sub(/\/.*/, "", budget) # the numbers are of gcc
		if (budget ~ /^=/)
			budget = of[substr(budget, 2)]
		of[name] = budget
		if (cut($2) == "ours")
			print name, budget
	}' "$src/instr-count/paths.def" >"$work/budgets"
[ "$(wc -l <"$work/budgets")" -gt 60 ]
check "budgets of paths.def"
cat "$work/x86_64-verbs" "$work/x86_64" | awk -v budgets="$work/budgets" '
	BEGIN { while ((getline <budgets) > 0) budget[$1] = $2 }
	$3 == "ok" { counted[$1] = 1 }
	$3 == "ok" && budget[$1] > 0 && $2 > budget[$1] { print $1 " shows " $2 ", and its budget is " budget[$1] }
	END {
		for (name in budget)
			if (!counted[name])
				print "# not in the documents yet: " name
	}' >"$work/shown"
grep '^#' "$work/shown" # the next count has them
! grep -v '^#' "$work/shown" >"$work/out"
check "x86_64.json and x86_64-verbs.json: every path of ours is within its budget"

cp -r "$docs" "$work/drawn" && chmod -R u+w "$work/drawn"
INSTR_COUNT=$(realpath "$IC") sh "$work/drawn/draw.sh" >"$work/out" 2>&1
check "draw.sh"
for picture in report.svg latency.svg; do
	cmp "$work/drawn/$picture" "$docs/$picture" >"$work/out" 2>&1
	check "$picture is drawn from these numbers"
done

# says FILE TEXT PATH...: checks that FILE contains TEXT, with each @ replaced by the number of a path
word() { # small numbers may be written out
	case $1 in 6) echo 'six|6' ;; 7) echo 'seven|7' ;; *) echo "$1" ;; esac
}
says() {
	file=$1 text=$2
	shift 2
	for path; do
		number=$(awk -v path="$path" '$1 == path && $3 == "ok" { print $2; exit }' \
			"$work/x86_64" "$work/x86_64-verbs")
		text=$(printf '%s\n' "$text" | sed "s/@/($(word "${number:-never counted}"))/")
	done
	tr '\n' ' ' <"$src/$file" | tr -s ' ' | grep -Eq "$text"
	check "$file: $text"
}
says README.md 'a put of an `int` is @ instructions' shmem_int_p_inline
says docs/TUNING.md 'a put of an int is @ instructions instead of @,' shmem_int_p_inline shmem_int_p
says docs/architecture/link.md 'far put takes @ instructions from fi_inject_write and @ from shmem_long_p' \
	fi_inject_write_far shmem_long_p_far
says docs/architecture/link.md 'shmem_long_p_verbs` counts @ instructions' shmem_long_p_verbs
says instr-count/README.md 'takes a message: @ and @ instructions' ompi_int_p ompi_int_p_static
says NEWS.md 'RDMA write, @ instructions from' shmem_long_p_verbs
says NEWS.md 'as without threads: @, @ and @ instructions' gasnet_am_short0_par gasnet_am_medium0_64_par \
	gasnet_ampoll_par
says debian/control 'put to another process of the host is @ instructions' shmem_int_p
finish
