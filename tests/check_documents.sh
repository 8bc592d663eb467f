#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_documents.sh: docs/ agrees with the code: each message that TROUBLESHOOTING.md explains is in the sources, or
# comes from another program; each variable and each tool option of this project that a guide names exists; links lead
# somewhere; guides are installed.
set -u
. "$(dirname "$0")/harness.sh"
. "$(dirname "$0")/links.sh"
guides='TUTORIAL.md GUIDE.md PYTHON.md WHICH-PART.md FAQ.md TROUBLESHOOTING.md TUNING.md'
cd "$src" || exit 99
# Messages of other programs: fragments that no source of this project contains.
others='cannot open shared object file|binary file matches|Cannot read module file|fi_getinfo: -61
created by a different version of GNU Fortran'

# headings in backquotes are messages; … stands for the part that varies
sed -n 's/^### .*`\(.*\)`.*/\1/p' docs/TROUBLESHOOTING.md | sed 's/`[^`]*`/…/g' | sed 's/…/\n/g' |
	sed "s/^[^A-Za-z(]*//; s/ *$//" | LC_ALL=C awk 'length($0) >= 12' >"$work/fragments"
[ "$(wc -l <"$work/fragments")" -ge 15 ]
check "$(wc -l <"$work/fragments") pieces of messages"
: >"$work/out"
cat $(find shmem boot launch profile prov gasnet-conduit devices base counters teams \
	-name '*.cpp' -o -name '*.hpp' -o -name '*.h' -o -name '*.c' -o -name 'oshcc.in') |
	tr -d '\n\t' | sed 's/" *"//g' >"$work/sources"
while read -r piece; do
	case $others in *"$piece"*) continue ;; esac
	grep -q -F -e "$piece" "$work/sources" || echo "in no source: $piece" >>"$work/out"
done <"$work/fragments"
[ ! -s "$work/out" ]
check "TROUBLESHOOTING.md: its messages are in the sources"

: >"$work/out"
for guide in $guides; do
	grep -o 'SHMEM_[A-Z_]*[A-Z]\|FI_PGAS_[A-Z_]*[A-Z]\|PGAS_[A-Z_]*[A-Z]\|OSHCC_[A-Z]*' "docs/$guide" | sort -u |
		while read -r name; do
			grep -r -q -w -F --include='*.def' --include='*.h' --include='*.cpp' --include='*.in' \
				--include='*.7' --include='*.1' -e "$name" shmem boot launch prov base counters man ||
				echo "$guide: $name is nowhere"
		done >>"$work/out"
	# options of oshrun, before the program
	grep -o 'oshrun [^`]*' "docs/$guide" | sed 's| \./.*||' | grep -o -e ' --[a-z][a-z-]*' | sort -u |
		while read -r option; do
			sed 's/\\-/-/g' man/man1/oshrun.1 man/man1/oshcc.1 | grep -q -w -F -e "$option" ||
				echo "$guide: oshrun has no $option"
		done >>"$work/out"
done
[ ! -s "$work/out" ]
check "variables and options of the guides exist"

dead_links README.md docs/*.md docs/*/*.md >"$work/out"
[ ! -s "$work/out" ]
check "links lead somewhere"

echo 'See [this](README.md) and [that](no/such.md#part).' >"$work/page.md"
touch "$work/README.md"
[ "$(dead_links "$work/page.md")" = "$work/page.md: no no/such.md" ]
check "a link that leads nowhere is seen"

: >"$work/out"
for page in docs/*.md docs/*/*.md man/man?/*.?; do
	grep -oE '(build/)?bench/[a-z_]+[^a-z_./-]' "$page" | sort -u | while read -r word; do
		name=${word##*bench/}
		name=${name%[!a-z_]}
		if [ -e "bench/$name" ]; then
			place=bench # a script of the source tree
		else
			place=build/bench
		fi
		[ -e "bench/$name" ] || grep -q "bench/$name" bench/Makefile.include || echo "$page: no $word"
		[ "${word%"/$name"*}" = $place ] || echo "$page: $word is in $place"
	done >>"$work/out"
done
[ ! -s "$work/out" ]
check "programs of bench/ are where the documents say"

for guide in $guides; do
	grep -q "docs/$guide" README.md && grep -q "docs/$guide" packaging/Makefile.include
	check "$guide: README.md leads to it, and it is installed"
done
finish
