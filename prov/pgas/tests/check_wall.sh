#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The walls in prov/pgas/src. Every folder is a room, and the table below lists what the files of a room may include.
# The common rooms (all except wire/) name nothing that only a wire may know, and pass a peer only to its own wire,
# through peer::wire, never to the wire at hand. --self-test runs the check itself on bad lines.
set -u
top=${srcdir:-$(dirname "$0")/../../..}
src=$top/prov/pgas/src
# shellcheck source=tests/rooms.sh
. "$top/tests/rooms.sh"
common='api engine hmem support'

# A room, then the rooms or files whose headers its files may include besides their own. The first row that fits counts;
# a room with * stands for all that begin so.
rooms='
api			engine hmem support
engine			hmem support
hmem			engine support
support
wire/loop		engine support
wire/shm		engine support
wire/net		engine hmem support wire/net/link wire/net/port
wire/net/link		support wire/net/port/net_port.hpp
wire/net/port		support
wire/net/port/socket	support wire/net/port wire/net/link/net_frame.hpp
wire/net/port/*		support wire/net/port
'

# Headers of other folders, by their folder.
public='^(pgas|rdma|devices)/'

# Words of shared memory. Other uses of these words must be worded differently: that keeps this check simple.
words='slot|segment|door|attach|futex|process_vm|getpid|(^|[^a-z_])pids?([^a-z_]|$)'
# Exceptions: one table lists the parameters of all wires; a line of the log has the process ID.
not_this='pgas_params\.def|pgas_log\.cpp:.*getpid\(\)'

# Functions of wire_ops that take a peer.
of_peers='connect|disconnect|departed|silent|bury|reason|put|add|ask|rma|rma_direct|amo|send|send_pieces|pull|discard'
of_peers="$of_peers|pull_over|control_room|in_order"

# Prints the lines of the given files with words that common rooms may not have, with their line numbers.
word_offences()
{
	grep -niE "$words" "$@" /dev/null | grep -vE "$not_this"
	grep -nE "ops->($of_peers)\(" "$@" /dev/null
	return 0
}

self_test()
{
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	fails=0
	for line in 'pgas_slot *s;' 'segment seg;' 'pgas_door_ring(d);' 'uint32_t attach;' 'pid_of(x); // pid' \
		'a = getpid();' 'on.ops->silent(on, *o->to)' 'u.on->ops->discard(*from, bytes)'; do
		printf '%s\n' "$line" > "$dir/bad.cpp"
		[ -n "$(word_offences "$dir/bad.cpp")" ] || { echo "not found: $line"; fails=$((fails + 1)); }
	done
	for line in 'rapid rate' 'wire_ep *on;' 'p.wire->silent(*p.on, p)' 'on.ops->sender(on, src, &name)'; do
		printf '%s\n' "$line" > "$dir/good.cpp"
		[ -z "$(word_offences "$dir/good.cpp")" ] || { echo "found wrongly: $line"; fails=$((fails + 1)); }
	done
	for case in 'api wire/shm/shm.hpp' 'engine wire/net/port/net_port.hpp' 'engine api/pgas_info.hpp' \
		'support engine/pgas_op.hpp' 'wire/shm wire/net/net.hpp' 'wire/net/link wire/net/net.hpp' \
		'wire/net/link wire/net/port/net_nic.hpp' 'wire/net/port wire/net/link/net_link.hpp' \
		'wire/net/port/verbs wire/net/port/socket/port_socket.hpp' 'wire/new engine/pgas_op.hpp' \
		'wire/net/port/new wire/net/port/ofi/port_ofi.hpp' 'wire/net/port wire/net/port/ofi/port_ofi.hpp'; do
		wrong=$(try_includes bad "$dir" "$case")
		[ -z "$wrong" ] || { echo "$wrong"; fails=$((fails + 1)); }
	done
	for case in 'api engine/pgas_op.hpp' 'engine pgas_op.hpp' 'wire/shm pgas/pgas_hot.h' \
		'wire/net/link wire/net/port/net_port.hpp' 'wire/net/port/new wire/net/port/port_kind.hpp'; do
		wrong=$(try_includes good "$dir" "$case")
		[ -z "$wrong" ] || { echo "$wrong"; fails=$((fails + 1)); }
	done
	exit "$fails"
}

[ "${1:-}" != --self-test ] || self_test
sh "$0" --self-test || { echo "the check of the wall does not work"; exit 1; }
files=$(for room in $common; do ls "$src/$room"/*.?pp; done) || exit 1
[ "$(echo "$files" | wc -l)" -ge 40 ] || { echo "the files of the provider were not found in $src"; exit 1; }
# shellcheck disable=SC2086  # one argument each
bad=$(word_offences $files)
folders=$(list_rooms "$src")
for room in $folders; do
	bad=$bad$(include_offences "$room" "$src/$room"/*.?pp)
done
if [ -n "$bad" ]; then
	echo "a room of the provider knows what it may not know (the table in prov/pgas/tests/check_wall.sh):"
	echo "$bad"
	exit 1
fi
echo "the wall holds: $(echo "$files" | wc -l) common files, $(echo "$folders" | wc -l) rooms"
