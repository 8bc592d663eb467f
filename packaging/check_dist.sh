#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# make dist produces the same bytes twice, independent of the time and the umask, and includes every file in Git.
set -u
. "$(dirname "$0")/../tests/harness.sh"
LIMIT=120
version=$(setting PACKAGE_VERSION)
name=pgas-$version.tar.xz
dist() { # where it goes, mask of modes
	(umask "$2" && cd "$top" && env -u MAKEFLAGS -u MFLAGS XZ_OPT=-1 timeout -s KILL $((LIMIT * SLOW)) \
		make dist) >"$work/out" 2>&1 </dev/null && mv "$top/$name" "$work/$1"
}
kept=
[ ! -e "$top/$name" ] || { kept=yes; mv "$top/$name" "$work/kept"; }
at_exit '[ -z "$kept" ] || mv "$work/kept" "$top/$name"'
dist first 022
check "make dist"
[ -f "$work/first" ] || finish
sleep 1
dist second 077
check "make dist, again, with another mask"
cmp "$work/first" "$work/second" >"$work/out" 2>&1
check "the same bytes"
tar -tvf "$work/first" --numeric-owner >"$work/list" 2>"$work/err" &&
	! grep -v '^[-dl][rwx-]* 0/0 ' "$work/list" >"$work/out"
check "nobody owns them"
[ "$(awk '{ print $4, $5 }' "$work/list" | sort -u | wc -l)" -eq 1 ]
check "one time"

# files that do not belong in a tarball
not_there='^\.gitignore$|^\.git-blame-ignore-revs$|^\.ci/|^\.github/'
if git -C "$src" rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	tar -tf "$work/first" | sed "s|^pgas-$version/||" | sort >"$work/in"
	git -C "$src" ls-files | grep -Ev "$not_there" | sort | comm -23 - "$work/in" >"$work/out"
	[ ! -s "$work/out" ]
	check "every file that Git has is in it"
else
	not_run "the list of files: no Git here"
fi
finish
