#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_prov_abi.sh: the libraries export what they say and nothing else: libpgas.so the names of pgas.map, the module
# fi_prov_ini alone. Runs in the top build folder.
srcdir=${srcdir:-.}
failed=0
nm=${NM:-nm}
command -v ${nm%% *} >/dev/null 2>&1 || { echo "SKIP: no nm"; exit 77; }

exported() {
	$nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort
}

# what, expected names, library
compare() {
	[ -f "$3" ] || { echo "FAIL: no $3"; failed=1; return; }
	found=$(exported "$3")
	if [ "$found" = "$2" ]; then
		echo "ok: $1 exports $(echo $found)"
	else
		echo "FAIL: $1 exports:"; echo "$found" | sed 's/^/    /'
		echo "  and should:"; echo "$2" | sed 's/^/    /'
		failed=1
	fi
}

listed=$(sed -n '/global:/,/local:/s/^ *\([a-z_0-9]*\);.*/\1/p' "$srcdir/prov/pgas/pgas.map" | sort)
[ -n "$listed" ] || { echo "FAIL: nothing found in pgas.map"; failed=1; }
compare libpgas.so "$listed" .libs/libpgas.so
compare libpgas-fi.so fi_prov_ini .libs/libpgas-fi.so
# The one function that inline code calls must be among them.
echo "$listed" | grep -qx pgas_door_ring || { echo "FAIL: pgas_door_ring is not in pgas.map"; failed=1; }
exit $failed
