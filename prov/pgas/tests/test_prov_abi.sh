#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_prov_abi.sh: the libraries export what they should and nothing else: libpgas.so the names of pgas.map, the module
# only fi_prov_ini. Runs in the top build folder.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
nm=${NM:-nm}
command -v ${nm%% *} >/dev/null 2>&1 || skip "no nm"

exported() {
	$nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

# description, expected names, library
compare() {
	[ -f "$3" ] || { fail "no $3"; return; }
	printf '%s\n' "$2" >"$work/wanted"
	exported "$3" | diff "$work/wanted" - >"$work/out"
	check "$1 exports what it should"
}

listed=$(sed -n '/global:/,/local:/s/^ *\([a-z_0-9]*\);.*/\1/p' "$src/prov/pgas/pgas.map" | sort)
[ -n "$listed" ]
check "pgas.map names something"
compare libpgas.so "$listed" .libs/libpgas.so
compare libpgas-fi.so fi_prov_ini .libs/libpgas-fi.so
# The loopback wire is for tests only: neither its symbols nor its texts are in the library.
{ $nm -C .libs/libpgas.so | grep 'loop_'; grep -a -o 'loop: this process[^%]*' .libs/libpgas.so; } >"$work/out"
[ ! -s "$work/out" ]
check "libpgas.so has no loopback wire"
# The one function that inline code calls must be among the exported names.
echo "$listed" | grep -qx pgas_door_ring
check "pgas_door_ring is in pgas.map"
finish
