#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: ENVIRONMENT of shmem.7 lists exactly the variables of shmem_env.def; every C name of the specification has a
# manual page, and that page exists and names the call.
. "$(dirname "$0")/../tests/harness.sh"
cd "$(dirname "$0")" || exit 99
def=../shmem/src/core/shmem_env.def
list=../shmem/tests/data/openshmem_api.txt

code=$(sed -n 's/^ENV_[A-Z]*([a-z_]*, \([A-Z_]*\),.*/SHMEM_\1/p' "$def" | sort)
text=$(awk '/^\.SH/ { inside = /ENVIRONMENT/ }
	inside && /^\.(B SHMEM_[A-Z_]+|BI SHMEM_[A-Z_]+ ID)$/ { print $2 }' man7/shmem.7 | sort)
[ -n "$code" ]
check "$def can be read"
{
	echo "variables of $def:"
	echo "$code"
	echo "variables of man7/shmem.7:"
	echo "$text"
} >"$work/out"
[ "$code" = "$text" ]
check "shmem.7 names the variables of $def"
# the page names every value of a choice
sed -n '/^ENV_CHOICE/,/)$/p' "$def" | grep -o 'C([a-z_]*, "[a-z-]*")' | sed 's/.*"\(.*\)".*/\1/' | sort -u |
while read -r word; do
	roff=$(echo "$word" | sed 's/-/\\\\-/')
	grep -q "$roff" man7/shmem.7 || echo "shmem.7 does not say $word"
done >"$work/out"
[ ! -s "$work/out" ]
check "shmem.7 says every word of a choice"

aliases=$(sh ./shmem_aliases.sh "$list")
echo "$aliases" | awk '{ print $2 }' | sort -u | while read -r page; do
	[ -f "man3/$page.3" ] || echo "no man3/$page.3"
done >"$work/out"
[ ! -s "$work/out" ]
check "every page that is named is there"
# each call's page contains its stem, without type and context
types='complexd|complexf|float|double|longdouble|s?char|u?char|u?short|u?int(8|16|32|64)?|u?long(long)?|size|ptrdiff'
echo "$aliases" | sed -E 's/^(p?)shmem_ctx_/\1shmem_/' | sort -u | while read -r name page; do
	stem=$(echo "$name" |
		sed -E "s/^shmem_($types)_//"';s/^shmem_//;s/(put|get)(8|16|32|64|128|mem)/\1/')
	case $stem in
	atomic_*_nbi) stem=${stem%_nbi} ;;
	*_vector) stem=${stem%_vector} ;;
	finc | inc | fadd | add | cswap | swap | set | fetch) [ "$page" != shmem_atomic_add ] || stem=_$stem ;;
	esac
	case $stem in atomic_*and | atomic_*or | atomic_*xor) stem=${stem%_*}_ ;; esac
	echo "$stem $page"
done | sort -u | while read -r stem page; do
	grep -q -e "$stem" "man3/$page.3" || echo "man3/$page.3 does not name $stem"
done >"$work/out"
[ ! -s "$work/out" ]
check "every call stands in its page"

awk -F' [|] ' '$1 == "C" { print $2 }' "$list" | while read -r name; do
	[ -f "man3/$name.3" ] || echo "$name"
done | sort >"$work/names"
missing=$(echo "$aliases" | awk '{ print $1 }' | sort | comm -13 - "$work/names")
echo "$missing" >"$work/out"
[ -z "$missing" ]
check "every name has a page"
note "$(echo "$code" | wc -l) variables, $(echo "$aliases" | wc -l) names"
finish
