#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Files that call each other in a circle can only be read together, and changed together. For each library, for oshrun
# and oshtop, this counts the files in the largest circle, from the symbols of the built objects, and compares the count
# with tests/circles.txt. Files in rooms of one src/ count as one folder. A circle may only shrink. See
# tests/check_circles.sh --help.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
build=${abs_top_builddir:-$here/../build}
export LC_ALL=C

usage() {
	cat <<-END
	usage: tests/check_circles.sh [--list | --circles FOLDER | --self-test]

	Compares the largest call circle of each folder with tests/circles.txt.

	--list            prints the lines that tests/circles.txt should have
	--circles FOLDER  prints the files of every circle in FOLDER, a circle in a line
	--self-test       tries the check on objects whose circles are known

	abs_top_builddir names the build folder; without it that is build/ of the source folder.
	END
}

# Prints lines "FOLDER SIZE FILE...", one for each circle, from lines "FOLDER FILE T|U SYMBOL". A symbol that two files
# define counts for neither: each has its own copy.
circles() {
	awk '
	$3 == "T" { count[$1, $4]++; owner[$1, $4] = $2 }
	$3 == "U" { uses[++n] = $1 SUBSEP $2 SUBSEP $4 }
	{ if (!(($1, $2) in seen)) { seen[$1, $2] = 1; files[$1] = files[$1] " " $2 } }
	END {
		for (i = 1; i <= n; i++) {
			split(uses[i], u, SUBSEP)
			if (count[u[1], u[3]] == 1 && owner[u[1], u[3]] != u[2])
				calls[u[1], u[2], owner[u[1], u[3]]] = 1
		}
		for (folder in files) {
			k = split(files[folder], f, " ")
			for (m = 1; m <= k; m++)
				for (a = 1; a <= k; a++)
					if ((folder, f[a], f[m]) in calls)
						for (b = 1; b <= k; b++)
							if ((folder, f[m], f[b]) in calls)
								calls[folder, f[a], f[b]] = 1
			for (a = 1; a <= k; a++) {
				if ((folder, f[a]) in done)
					continue
				size = 1
				line = f[a]
				for (b = 1; b <= k; b++)
					if (b != a && (folder, f[a], f[b]) in calls && (folder, f[b], f[a]) in calls) {
						size++
						line = line " " f[b]
						done[folder, f[b]] = 1
					}
				print folder, size, line
			}
		}
	}'
}

# Prints the symbols of all objects of the libraries, of oshrun and of oshtop. Of a source that was built several times,
# only one object counts.
symbols() {
	local object source folder
	while read -r object; do
		folder=$(dirname "${object#"$build"/}")
		folder=${folder%/.libs}
		source=$(basename "$object" .o)
		source=${source#*-}
		[[ -e $here/../$folder/$source.cpp ]] || continue
		[[ $folder != */src/* ]] || folder=${folder%%/src/*}/src
		nm -P "$object" | awk -v folder="$folder" -v file="$source" \
			'$2 == "T" || $2 == "U" { print folder, file, $2, $1 }'
	done < <(find "$build" \( -path '*/.libs/libpgas_la-*.o' -o -path '*/.libs/libsma_la-*.o' \
		-o -path '*/.libs/libgasnet_all_par_la-*.o' -o -path '*/.libs/libpgas_*_la-*.o' \
		-o -name 'oshrun-*.o' -o -name 'oshtop-*.o' \) | sort)
}

largest() {
	circles | awk '{ if ($2 > most[$1]) most[$1] = $2 } END { for (f in most) print f, most[f] }' | sort
}

self_test() {
	local got
	got=$(printf '%s\n' 'x a T fa' 'x b T fb' 'x c T fc' 'x d T fd' 'x a U fb' 'x b U fc' 'x c U fa' 'x a U fd' \
		'y a T ga' 'y b T gb' 'y a U gb' 'x d T fe' 'x c T fe' 'x a U fe' | largest | tr '\n' ';')
	[[ $got == 'x 3;y 1;' ]] || { echo "the check of circles does not work: $got"; exit 1; }
}

case ${1:-} in
--help) usage; exit 0 ;;
--self-test) self_test; exit 0 ;;
--list) symbols | largest; exit 0 ;;
--circles) symbols | circles | awk -v folder="${2:?FOLDER}" '$1 == folder && $2 > 1' | cut -d' ' -f2-; exit 0 ;;
'') ;;
*) usage >&2; exit 2 ;;
esac
self_test
[[ -e $build/.libs/libpgas.so ]] || {
	echo "not run: $build has no shared library of the provider"
	exit 77
}
now=$(symbols | largest)
[[ $(wc -l <<<"$now") -ge 5 ]] || { echo "no objects were found in $build"; exit 1; }
bad=0
while read -r folder size; do
	want=$(awk -v folder="$folder" '$1 == folder { print $2 }' "$here/circles.txt")
	if [[ -z $want ]]; then
		echo "$folder: $size; tests/circles.txt has no line for it"
	elif ((size > want)); then
		echo "$folder: a circle of $size files, and $want are allowed: tests/check_circles.sh --circles $folder"
	else
		((size == want)) || echo "$folder: its largest circle has $size files now: tests/circles.txt may say so"
		continue
	fi
	bad=1
done <<<"$now"
while read -r folder _; do
	[[ $folder == '#'* || $'\n'$now == *$'\n'"$folder "* ]] || { echo "$folder: no such folder"; bad=1; }
done <"$here/circles.txt"
((bad == 0)) && awk '{ if ($2 > most) most = $2 } END { print "ok: " NR " folders, largest circle " most }' <<<"$now"
exit "$bad"
