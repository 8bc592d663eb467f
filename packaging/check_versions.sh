#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All other files that contain the version agree with configure.ac. RELEASING.md has the list.
set -u
. "$(dirname "$0")/../tests/harness.sh"
version=$(sed -n 's/^AC_INIT(\[pgas\], \[\([0-9.]*\)\].*/\1/p' "$src/configure.ac")
case $version in [0-9]*.[0-9]*.[0-9]*) ;; *) false ;; esac
check "configure.ac has a version: $version"

has() { # file, regular expression with @ for the version, its dots taken as they are
	expression=$(printf '%s\n' "$2" | sed "s/@/$(printf '%s' "$version" | sed 's/\./\\\\./g')/")
	grep -q -e "$expression" "$src/$1" 2>"$work/err"
	check "$1: $2"
}
has NEWS.md '^## @ '
has debian/changelog '^pgas (@) '
has packaging/rpm/pgas.spec '^Version: *@$'
has packaging/rpm/pgas.spec ' - @-1$'
has python/pgas/__init__.py '^__version__ = "@"$'
has CITATION.cff '^version: @$'
# whoever names the licence names all of them, and LICENSE names the files that have another one
for file in $(cd "$src" && grep -rlE --exclude-dir='build*' --include='*.[ch]' --include='*.[ch]pp' \
	'^/[/*] SPDX-License-Identifier: GPL-2.0-or-later' .); do
	for place in LICENSE debian/copyright; do
		grep -qF "${file#./}" "$src/$place"
		check "$place names $file"
	done
	for place in LICENSE CITATION.cff debian/copyright packaging/rpm/pgas.spec packaging/spack/package.py; do
		grep -q 'BSD[- ]3-Clause' "$src/$place" && grep -q 'GPL-2.0-or-later' "$src/$place"
		check "$place names both licences"
	done
done
# the newest entries come first
[ "$(sed -n 's/^## \([0-9.]*\) .*/\1/p' "$src/NEWS.md" | head -n 1)" = "$version" ]
check "NEWS.md begins with it"
[ "$(sed -n '1s/^pgas (\(.*\)) .*/\1/p' "$src/debian/changelog")" = "$version" ]
check "debian/changelog begins with it"
# the provider reports its own version
major=${version%%.*} minor=${version#*.}
minor=${minor%%.*}
grep -q "PGAS_VERSION_MAJOR $major\$" "$src/prov/pgas/src/support/pgas_params.cpp" &&
	grep -q "PGAS_VERSION_MINOR $minor\$" "$src/prov/pgas/src/support/pgas_params.cpp"
check "prov/pgas/src/support/pgas_params.cpp: $major.$minor"
# sonames: the packages contain the major number that libtool assigns
for library in libpgas libsma-pgas libgasnet-pgas-seq; do
	[ -L "$top/.libs/$library.so.0" ]
	check "$library.so.0, as debian/ and pgas.spec have it"
done
finish
