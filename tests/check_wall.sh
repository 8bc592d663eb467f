#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The wall in prov/pgas/src: files outside the folders of wires (shm/, loop/) name nothing that only a wire may know,
# and include nothing of it; wires do not include each other; a peer is handed to its own wire only, by peer::wire, and
# never to the one that happens to be at hand. With --self-test the check itself is tried on bad lines.
set -u
src=${srcdir:-$(dirname "$0")/..}/prov/pgas/src

# What belongs to shared memory. Words of other meanings must be worded otherwise: that keeps the check this simple.
words='slot|segment|door|attach|futex|process_vm|getpid|(^|[^a-z_])pids?([^a-z_]|$)'
# Parameters are listed in one table, whatever wire they are for; fields of public structures have the names they have;
# a line of the log says which process it is of.
not_this='pgas_params\.def|m->eager_|pgas_log\.cpp:.*getpid\(\)'

# Calls of wire_ops that take a peer.
of_peers='connect|disconnect|departed|silent|bury|reason|put|add|ask|rma|rma_direct|amo|send|send_pieces|pull|discard'
of_peers="$of_peers|pull_over|claim|publish|abandon|control_room|in_order|window"

# Prints the offences in the files given, with their numbers.
offences()
{
	grep -niE "$words" "$@" /dev/null | grep -vE "$not_this"
	grep -nE '#include "(\.\./)*(shm|loop)' "$@" /dev/null
	grep -nE "ops->($of_peers)\(" "$@" /dev/null
	return 0
}

if [ "${1:-}" = --self-test ]; then
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	fails=0
	for line in 'pgas_slot *s;' 'segment seg;' 'pgas_door_ring(d);' 'uint32_t attach;' 'pid_of(x); // pid' \
		'#include "shm/shm.hpp"' '#include "loop/loop.hpp"' 'a = getpid();' \
		'on.ops->silent(on, *o->to)' 'u.on->ops->discard(*from, bytes)'; do
		printf '%s\n' "$line" > "$dir/bad.cpp"
		if [ -z "$(offences "$dir/bad.cpp")" ]; then
			echo "not found: $line"
			fails=$((fails + 1))
		fi
	done
	for line in 'rapid rate' 'wire_ep *on;' '#include "pgas_wire.hpp"' \
		'p.wire->silent(*p.on, p)' 'on.ops->sender(on, src, &name)'; do
		printf '%s\n' "$line" > "$dir/good.cpp"
		if [ -n "$(offences "$dir/good.cpp")" ]; then
			echo "found wrongly: $line"
			fails=$((fails + 1))
		fi
	done
	exit "$fails"
fi

sh "$0" --self-test || { echo "the check of the wall does not work"; exit 1; }
files=$(ls "$src"/pgas_*.cpp "$src"/pgas_*.hpp) || exit 1
[ "$(echo "$files" | wc -l)" -ge 40 ] || { echo "the files of the provider were not found in $src"; exit 1; }
bad=$(offences $files)
for wire in "$src"/*/; do
	mine=$(basename "$wire")
	more=$(grep -nE '#include "\.\./(shm|loop)' "$wire"* | grep -v "include \"\.\./$mine")
	bad=$bad$more
done
if [ -n "$bad" ]; then
	echo "common files of the provider name what only a wire may know (pgas_wire.hpp):"
	echo "$bad"
	exit 1
fi
echo "the wall holds: $(echo "$files" | wc -l) common files, wires: $(cd "$src" && echo */)"
