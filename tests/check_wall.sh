#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The wall in prov/pgas/src: files outside the folders of wires (shm/, loop/, net/) name nothing that only a wire may
# know, and include nothing of it; wires do not include each other; in net/ the link knows a port by net_port.hpp alone,
# and a port knows neither the link nor another port; a peer is handed to its own wire only, by peer::wire, and
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

# Files of net/ by what they are, and what each kind may not include. All ports use port_ofi.hpp's addresses.
link='net_(link|call|greet|receive|watch|frame|sign)'
link_may_not='"(net|net_nic|port_[a-z_]+|verbs_api)\.hpp"'
port_may_not='"net(|_link|_sign)\.hpp"'

# Includes of files of net/ that their kind may not have.
net_offences()
{
	for file; do
		case $(basename "$file") in
		port_verbs*) grep -nE "#include ($port_may_not|\"port_socket)" "$file" /dev/null ;;
		port_socket*) grep -nE "#include ($port_may_not|\"(port_verbs|verbs_api))" "$file" /dev/null ;;
		port_*) grep -nE "#include ($port_may_not|\"(port_verbs|port_socket|verbs_api))" "$file" /dev/null ;;
		*) basename "$file" | grep -qE "^$link\.[ch]pp$" &&
			grep -nE "#include $link_may_not" "$file" /dev/null ;;
		esac
	done
	return 0
}

# Prints the offences in the files given, with their numbers.
offences()
{
	grep -niE "$words" "$@" /dev/null | grep -vE "$not_this"
	grep -nE '#include "(\.\./)*(shm|loop|net)/' "$@" /dev/null
	grep -nE "ops->($of_peers)\(" "$@" /dev/null
	return 0
}

if [ "${1:-}" = --self-test ]; then
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	fails=0
	for line in 'pgas_slot *s;' 'segment seg;' 'pgas_door_ring(d);' 'uint32_t attach;' 'pid_of(x); // pid' \
		'#include "shm/shm.hpp"' '#include "loop/loop.hpp"' 'a = getpid();' '#include "net/net_port.hpp"' \
		'on.ops->silent(on, *o->to)' 'u.on->ops->discard(*from, bytes)'; do
		printf '%s\n' "$line" > "$dir/bad.cpp"
		if [ -z "$(offences "$dir/bad.cpp")" ]; then
			echo "not found: $line"
			fails=$((fails + 1))
		fi
	done
	for case in 'net_link.cpp net.hpp' 'net_frame.hpp port_ofi.hpp' 'port_ofi.cpp net_link.hpp' \
		'port_verbs_call.cpp port_socket.hpp' 'port_choose.cpp verbs_api.hpp'; do
		printf '#include "%s"\n' "${case#* }" > "$dir/${case% *}"
		if [ -z "$(net_offences "$dir/${case% *}")" ]; then
			echo "not found: $case"
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
	more=$(grep -nE '#include "\.\./(shm|loop|net)/' "$wire"* | grep -v "include \"\.\./$mine")
	bad=$bad$more
done
bad=$bad$(net_offences "$src"/net/*)
if [ -n "$bad" ]; then
	echo "common files of the provider name what only a wire may know (pgas_wire.hpp):"
	echo "$bad"
	exit 1
fi
echo "the wall holds: $(echo "$files" | wc -l) common files, wires: $(cd "$src" && echo */)"
