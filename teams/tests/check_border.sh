#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Test: the borders around teams/. Its files name neither its clients nor the provider, and include only their own
# headers, those of base/ and counters/, and system headers. Its clients do not include each other's headers.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

include='^[[:space:]]*#[[:space:]]*include'

# Prints all violations in the tree DIR, with a heading before each kind.
faults() { # DIR
	cd "$1" || exit 1
	local sources
	mapfile -t sources < <(find teams -name '*.cpp' -o -name '*.hpp' -o -name Makefile.include)
	[ ${#sources[@]} -gt 20 ] || echo "hardly any sources in teams/"
	say "teams/ names a client or the provider:" grep -n -i -E 'shmem|gasnet|prov/|rdma/|\<fi_[a-z]' "${sources[@]}"
	say "teams/ includes what is neither its own, nor of base/ or counters/, nor of the system:" \
		foreign "${sources[@]}"
	say "shmem/ includes a header of gasnet-conduit/:" grep -rn -i -E "$include.*gasnet" shmem
	say "gasnet-conduit/ includes a header of shmem/:" grep -rn -i -E "$include.*shmem" gasnet-conduit
}

say() { # HEADING COMMAND...
	local heading=$1 found
	shift
	found=$("$@") && printf '%s\n%s\n' "$heading" "$found"
}

# The name of a system header has no folder, or sys/.
ours='<(teams/teams_[a-z]+|pgas/pgas_[a-z]+)\.hp*>|"(teams_[a-z_]+|forked)\.hpp"'
systems='<(sys/)?[a-z_]+(\.h)?>'
foreign() { # FILE...
	# shellcheck disable=SC2317  # say() calls it
	grep -n -E "$include" "$@" | grep -v -E "$ours|$systems"
}

bad=0
found=$(faults .)
if [ -n "$found" ]; then
	echo "$found"
	bad=1
fi

# The check must be able to fail: insert violations into a copy and expect it to report them.
copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
while read -r file line; do
	rm -rf "${copy:?}/tree"
	mkdir -p "$copy/tree/shmem" "$copy/tree/gasnet-conduit"
	cp -R teams "$copy/tree/"
	echo "$line" >>"$copy/tree/$file"
	if [ -z "$(faults "$copy/tree")" ]; then
		echo "nobody would see '$line' in $file"
		bad=1
	fi
done <<'END'
teams/src/teams_life.cpp #include "shmem_state.hpp"
teams/src/teams_life.cpp // as shmem_init does
teams/include/teams/teams_team.hpp #include <rdma/fabric.h>
teams/include/teams/teams_team.hpp #include <other/header.hpp>
teams/src/teams_sync.cpp #include "pgas_boot.h"
shmem/shmem_x.cpp #include <gasnet.h>
gasnet-conduit/gasnet_x.cpp #include "shmem_state.hpp"
END
exit $bad
