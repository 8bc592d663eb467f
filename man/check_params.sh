#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: RUNTIME PARAMETERS of fi_pgas.7 lists exactly the parameters of pgas_params.def, with the same defaults and
# ranges; and the default mentioned in a parameter's own text is its default.
. "$(dirname "$0")/../tests/harness.sh"
cd "$(dirname "$0")" || exit 99
def=../prov/pgas/src/support/pgas_params.def
page=man7/fi_pgas.7

# Prints NAME DEFAULT LEAST MOST TEXT-DEFAULT, one parameter per line. The first five arguments contain no commas;
# numbers may be expressions such as "1 << 20".
from_def() {
	{ grep -v '^/\*' "$def" | tr '\n\t' '  '; echo; } | sed 's/PGAS_PARAM(/\
/g' | while IFS=, read -r name field default least most text; do
		[ -n "$field" ] || continue
		name=$(echo "$name" | tr -d '" ' | tr '[:lower:]' '[:upper:]')
		said=$(echo "$text" | sed -n 's/.*(default \([0-9]*\)).*/\1/p')
		# shellcheck disable=SC2004  # an expression, not a number
		echo "FI_PGAS_$name $(($default)) $(($least)) $(($most)) $said"
	done
}

from_page() {
	awk '/^\.SH/ { inside = /RUNTIME PARAMETERS/ }
	     inside && /^\.B FI_PGAS_/ { name = $2 }
	     inside && /^Default [0-9]+, range [0-9]+ to [0-9]+\.$/ {
		gsub(/[,.]/, ""); print name, $2, $4, $6, $2; name = "(no name)" }' "$page"
}

code=$(from_def | sort)
text=$(from_page | sort)
[ -n "$code" ]
check "$def can be read"
{
	echo "name, default, least, most, default said in the text; $def:"
	echo "$code"
	echo "$page:"
	echo "$text"
} >"$work/out"
[ "$code" = "$text" ]
check "$page says what $def says"
finish
