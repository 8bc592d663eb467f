#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The race check finds every race of races.h, with both places and nothing else, and reports nothing in the same
# programs without the mistake; with mapped memory, at SHMEM_THREAD_MULTIPLE, unmapped, and over the link. Correct
# programs are not accused. Also: what the report says, and how a checked job ends.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
LIMIT=120
races=$top/shmem/race/tests/races tests=$top/shmem/tests
[ -z "$sanitized" ] || export ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"

# Prints FILE:LINE of a mark.
marked() { (cd "$src/shmem/race/tests" && grep -n " $1" ./*.c | cut -c3- | cut -d: -f1,2); }
runs() { # options of env, then the case
	LIMIT=60 bounded env "$@" >"$work/out" 2>&1
	rc=$?
}
found() { # case: exactly its two places, each in its function
	[ $rc -eq 66 ] && [ "$(grep -c '^SHMEM race 1 of 1, seen ' "$work/out")" = 1 ] &&
		[ "$(grep -c "^  PE [0-9] [a-z ]*: [a-z_ ]* in $1 at " "$work/out")" = 2 ] &&
		grep -q "^  both at PE [0-9]: [0-9]* bytes*, " "$work/out" || return 1
	sed -n 's/^  PE .* at .*[/ ]\([a-z_]*\.c:[0-9]*\)$/\1/p' "$work/out" | sort >"$work/places"
	{ marked "$1: one" && marked "$1: two"; } | sort | cmp -s - "$work/places"
}
both_ways() { # words, cases, options of env
	words=$1 names=$2
	shift 2
	for name in $names; do
		# a random order of events may hide a race, but hardly twice in a row
		for try in 1 2 3; do
			runs "$@" "$oshrun" --check=race -n 3 "$races" "$name"
			found "$name" && break
		done
		found "$name"
		check "$words: $name is found, at both places, in $try runs"
		runs "$@" "$oshrun" --check=race -n 3 "$races" "$name" fixed
		[ $rc -eq 0 ] && grep -q '^SHMEM race check: no race; ' "$work/out"
		check "$words: $name without the mistake is not accused"
	done
}
[ "$("$races" | wc -l)" -ge 40 ]
check "the corpus is there"
both_ways near "$("$races")" A=1
both_ways threads "$("$races")" RACES_THREADS=1
some='missing_fence chain wrong_lock wrong_signal reduce_dest long_overlap'
both_ways unmapped "$some wrong_counter context_without_quiet" FI_PGAS_MAP=0 FI_PGAS_CMA=0
# some over the link, where every PE acts as a host
for name in $some; do
	runs FI_PGAS_NET=auto:lo FI_PGAS_TEST_HOSTS=1 "$oshrun" --check=race -n 3 "$races" "$name"
	found "$name"
	check "link: $name is found"
done

# loads and stores of programs that oshcc --check compiled
mkdir "$work/lib" && ln -s "$top/libsma-check.a" "$work/lib"
for compiler in "${CC:-cc}" clang; do
	command -v ${compiler%% *} >/dev/null 2>&1 || { not_run "oshcc --check with $compiler"; continue; }
	[ -z "$sanitized" ] || { not_run "oshcc --check in a build with sanitizers"; break; }
	good env OSHCC_CC="$compiler" OSHCC_INCLUDEDIR="$src/shmem/include" OSHCC_LIBDIR="$top/.libs" \
		sh "$top/shmem/bin/oshcc" --check -O1 -fno-inline -Wall -Werror -L"$work/lib" \
		"$src/shmem/race/tests/local.c" -o "$work/local"
	for name in $("$work/local"); do
		for try in 1 2 3; do
			runs A=1 "$oshrun" --check=race -n 2 "$work/local" "$name"
			found "$name" && break
		done
		found "$name"
		check "${compiler##*/} --check: $name is found, at both places, in $try runs"
		runs A=1 "$oshrun" --check=race -n 2 "$work/local" "$name" fixed
		[ $rc -eq 0 ] && grep -q '^SHMEM race check: no race; ' "$work/out"
		check "${compiler##*/} --check: $name without the mistake is not accused"
	done
	good "$oshrun" -n 2 "$work/local" load_too_early
done
# correct programs, with their loads and stores
for what in ring heat2d gups; do
	[ -z "$sanitized" ] || break
	good env OSHCC_CC="${CC:-cc}" OSHCC_INCLUDEDIR="$src/shmem/include" OSHCC_LIBDIR="$top/.libs" \
		sh "$top/shmem/bin/oshcc" --check -O2 -L"$work/lib" "$src/examples/$what.c" -o "$work/$what" -lm
	case $what in gups) more='8 1000' ;; *) more= ;; esac
	runs A=1 "$oshrun" --check=race -n 3 "$work/$what" $more
	[ $rc -eq 0 ] && grep -q '^SHMEM race check: no race; ' "$work/out"
	check "$what by oshcc --check: no race"
done
expect 1 '--check goes neither with --inline nor' sh "$top/shmem/bin/oshcc" --check --inline x.c

# programs without a race
innocent() {
	runs "$@"
	[ $rc -eq 0 ] && grep -q '^SHMEM race check: no race; ' "$work/out"
	check "$*: no race"
}
for what in coll_mix coll_sets coll_types memory shmem_smoke team_life threads typed_amo typed_rma typed_sync meet \
	align life; do
	innocent "$oshrun" --check=race -n 3 "$tests/$what"
done
for what in hello ring heat2d sort; do
	innocent "$oshrun" --check=race -n 4 "$top/examples/$what"
done
innocent "$oshrun" --check=race -n 3 "$top/examples/gups" 12 5000

# threads with a team each
innocent "$oshrun" --check=race -n 3 "$top/shmem/race/tests/two_teams"
runs A=1 "$oshrun" --check=race -n 3 "$top/shmem/race/tests/two_teams" wrong
sed -n 's/^  PE .* at .*[/ ]\([a-z_]*\.c:[0-9]*\)$/\1/p' "$work/out" | sort >"$work/places"
[ $rc -eq 66 ] && { marked "two_teams: one" && marked "two_teams: two"; } | sort | cmp -s - "$work/places"
check "a synchronisation that one of two teams lacks"

# what the report says
expect 66 '^SHMEM race check: 1 race; 2 accesses of 3 PEs$' "$oshrun" --check=race -n 3 "$races" two_puts
expect 66 '^SHMEM race 1 of 1, seen once: nothing orders these two$' "$oshrun" --check race -n 3 "$races" two_puts
declared=$(grep -n '^long data' "$src/shmem/race/tests/races.c" | cut -d: -f1)
expect 66 '^  both at PE 2: 8 bytes, data (.*races\.c:'"$declared"')$' "$oshrun" --check=race -n 3 "$races" two_puts
expect 66 '^  both at PE 1: 8 bytes, byte 56 of a block of ' "$oshrun" --check=race -n 3 "$races" block_again
expect 66 '^  both at PE 2: 1 byte, data (.*races\.c:[0-9]*)$' "$oshrun" --check=race -n 3 "$races" same_byte
expect 66 '^  both at PE 0: 8 bytes, memory of its own$' "$oshrun" --check=race -n 3 "$races" unfinished_fetch
expect 66 '^SHMEM race check: 1 race' env SHMEM_DEBUG=race "$oshrun" -n 3 "$races" two_puts
expect 66 '^SHMEM race check: 1 race' env SHMEM_CHECK=race "$oshrun" -n 3 "$races" two_puts
json=$work/races.json
expect 66 '' "$oshrun" --check=race:"$json" -n 3 "$races" missing_fence
grep -q '"function": "missing_fence", "file": ".*races_order.c", "line": [0-9]*,' "$json"
check "JSON has the places"
grep -q '"where": "data", "declared": ".*races\.c:'"$declared"'"' "$json"
check "JSON has the place of the variable"
if python_has json; then
	python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["races"]) == 1' "$json"
	check "JSON can be read"
else
	not_run "reading the JSON: no Python that can"
fi

# wrong use, and programs that cannot be checked
expect 1 'check rice: expected race or race:FILE' "$oshrun" --check=rice -n 2 "$races" two_puts
expect 1 'SHMEM_CHECK: "rice" is neither race nor race:FILE' env SHMEM_CHECK=rice "$oshrun" -n 1 "$races" two_puts
expect 66 'race check: cannot write /proc/no' "$oshrun" --check=race:/proc/no -n 3 "$races" two_puts
expect 67 'races cannot be looked for: the program has calls inlined' "$oshrun" --check=race -n 2 \
	"$tests/shmem_smoke_inline"
if [ -z "$sanitized" ] && [ -f "$top/libsma.a" ]; then
	good env OSHCC_CC="${CC:-cc}" OSHCC_INCLUDEDIR="$src/shmem/include" OSHCC_LIBDIR="$top" \
		sh "$top/shmem/bin/oshcc" -static-libsma "$src/examples/hello.c" -o "$work/static"
	expect 67 'races cannot be looked for: the program is linked with libsma.a' \
		"$oshrun" --check=race -n 2 "$work/static"
	expect 0 'do nothing here: the program is linked with libsma.a' "$oshrun" --stats -n 2 "$work/static"
else
	not_run "a program that contains libsma.a: the archive is not built, or needs a sanitizer's library"
fi
# a job that ends early
expect 5 '^SHMEM race check, up to the early end of the job: no race; ' "$oshrun" --check=race -n 4 \
	"$tests/shmem_ends" global-exit
expect 139 '^SHMEM race check, up to the early end of the job: ' "$oshrun" --check=race -n 4 "$tests/shmem_ends" crash
# together with the other tools
expect 66 '^SHMEM statistics of ' "$oshrun" --check=race --stats --trace "$work/trace" -n 3 "$races" two_puts
expect 0 '' env SHMEM_CHECK=no "$oshrun" -n 3 "$races" two_puts
! grep -q 'SHMEM race' "$work/out"
check "off: nothing is said"
finish
