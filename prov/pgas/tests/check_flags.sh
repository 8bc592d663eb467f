#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: FLAGS of fi_pgas.7 names all calls of pgas_flags.def and no others, each with the same flags. And
# prov/pgas/tests/flags.c has a row for each; the name follows a colon if the row tests another call with the same
# flags.
. "$(dirname "$0")/../../../tests/harness.sh"
cd "$(dirname "$0")/../../.." || exit 99
def=prov/pgas/src/support/pgas_flags.def
page=man/man7/fi_pgas.7

# Prints CALL: FLAG FLAG ..., sorted, one line each.
sorted() {
	while IFS=: read -r call flags; do
		# shellcheck disable=SC2086  # words
		echo "$call: $(printf '%s\n' $flags | sort | tr '\n' ' ')"
	done | sort
}

from_def() {
	levels=$(sed -n 's/^#define PGAS_LEVELS (\(.*\))$/\1/p' $def)
	# removes comments, of one line and of several, and directives; then prints one call per line
	sed '/^\/\*.*\*\/$/d; /^\/\*/,/\*\/$/d; /^#/d' $def | tr '\n\t' '  ' | sed '$s/$/\n/; s/PGAS_FLAGS(/\
/g' | sed -n 's/^[a-z_0-9]*, "\([^"]*\)", *\(.*\)) *$/\1:\2/p' |
		sed "s/PGAS_LEVELS/$levels/; s/|/ /g; s/: *0\$/:/" | sorted
}

from_page() {
	awk '/^\.SH/ { inside = /FLAGS/ }
	     !inside { next }
	     /^\.PP/ { inside = 0; next }
	     /^\.TP/ { begins = 1; next }
	     begins { begins = 0; name = $0; sub(/^\.B /, "", name); gsub(/["\\]/, "", name); calls[++n] = name; next }
	     n { gsub(/[,.]/, " "); sub(/none/, ""); flags[n] = flags[n] " " $0 }
	     END { for (i = 1; i <= n; i++) print calls[i] ":" flags[i] }' $page | sorted
}

code=$(from_def)
text=$(from_page)
[ "$(echo "$code" | wc -l)" -ge 40 ]
check "$def can be read"
{
	echo "$def:"
	echo "$code"
	echo "$page:"
	echo "$text"
} >"$work/out"
[ "$code" = "$text" ]
check "$page says what $def says"

tried() { sed -n 's/^	{"\([^"]*\)".*/\1/p' prov/pgas/tests/flags.c | sed 's/.*: //' | sort -u; }
echo "$code" | sed 's/:[^:]*$//' | sort >"$work/names"
tried | diff "$work/names" - >"$work/out" # <: no row; >: no such call
check "prov/pgas/tests/flags.c tries every call of $def, and no other"
finish
