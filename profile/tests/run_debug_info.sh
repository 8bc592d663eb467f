#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Where variables are declared, from DWARF 2 to 5 of gcc and clang, and from none; and that no damage to the file ends
# the program that reads it.
#	DEBUG_INFO_SEED=N	another damage
set -u
. "$(dirname "$0")/../../tests/harness.sh"
probe=$top/profile/tests/debug_info
cd "$work" || exit 99

# declared in one file or on one line and defined in or on another; static in a function, in a block, inlined
cat >far.h <<'END'
extern long far_line;

extern long same_line;
END
cat >vars.c <<'END'
#include "far.h"
long far_line;
long same_line; static long words[8] = {1};
static inline int count(void) { static int in_inline; return ++in_inline; }
int main(int argc, char **argv)
{
	static long in_main;
	for (; argc > 9; argc--) {
		static int in_block;
		in_block += count() + argv[0][0];
		in_main += in_block;
	}
	return (int)(far_line++ + same_line++ + words[argc]++ + in_main + count());
}
END
cat >everywhere <<'END'
far_line vars.c:2
same_line vars.c:3
words vars.c:3
END
cat everywhere - >gcc_too <<'END'
in_block vars.c:9
in_inline vars.c:4
in_main vars.c:7
END

tried=0
tries_all() { # COMPILER EXPECTED: a file with the lines that debug_info must print
	command -v "${1##* }" >/dev/null 2>&1 || { not_run "$1: it is not installed"; return; }
	names=$(sed 's/ .*//' "$2")
	for options in -g '-g -O2' -gdwarf-5 -gdwarf-4 -gdwarf-3 -gdwarf-2 '-g -no-pie' '-g -gdwarf64'; do
		$1 $options vars.c -o vars 2>"$work/err" || { not_run "$1 $options: it cannot"; continue; }
		"$probe" vars $names >"$work/out"
		cmp -s "$2" "$work/out"
		check "$1 $options: where variables are declared"
		tried=$((tried + 1))
	done
	$1 vars.c -o vars && [ "$("$probe" vars far_line)" = "far_line unknown" ]
	check "$1 without -g: nothing is known"
}
tries_all "${CC:-cc}" gcc_too
tries_all clang everywhere
[ $tried -ge 5 ]
check "several versions were tried: $tried"

seed=${DEBUG_INFO_SEED:-$(date +%s)}
damaged() { # COMPILER OPTIONS...
	command -v "$1" >/dev/null 2>&1 || { not_run "damage of what $1 writes"; return; }
	good "$@" vars.c -o vars
	bounded "$probe" --damage vars "$seed" >"$work/out" 2>&1
	check "$*, damaged, seed $seed: $(tail -n 1 "$work/out")"
}
damaged ${CC:-cc} -g
damaged ${CC:-cc} -gdwarf-4
damaged clang -g
finish
