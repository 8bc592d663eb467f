#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The walls in gasnet-conduit/src. Every folder is a room, and the table below lists what the files of a room may
# include: a room uses rooms above it in the table, and none below. What a lower room needs of a higher one, the higher
# one registers when the job starts: progress_client (core/gasnet_progress.hpp), pair_calls and copy_calls
# (core/gasnet_objects.hpp), and the two functions of gasnet_exit.cpp in struct state. --self-test runs the check itself
# on bad lines.
set -u
top=${srcdir:-$(dirname "$0")/../..}
src=$top/gasnet-conduit/src
# shellcheck source=tests/rooms.sh
. "$top/tests/rooms.sh"

# A room, then the rooms or files whose headers its files may include besides their own.
rooms='
core
rma	core
am	core rma
vis	core rma am
coll	core rma am
kinds	core rma am coll
job	core rma am coll kinds
'
# shellcheck disable=SC2034  # include_offences reads it
public='^pgas_boot\.h$'

self_test()
{
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	wrong=$(
		for case in 'core am/gasnet_message.hpp' 'rma am/gasnet_message.hpp' 'am coll/gasnet_coll.hpp' \
			'am kinds/gasnet_kinds.hpp' 'coll job/gasnet_job.hpp' 'new core/gasnet_core.hpp'; do
			try_includes bad "$dir" "$case"
		done
		for case in 'core gasnet_state.hpp' 'am rma/gasnet_rma.hpp' 'job coll/gasnet_coll.hpp' \
			'core pgas_boot.h'; do
			try_includes good "$dir" "$case"
		done
	)
	[ -z "$wrong" ] || { echo "$wrong"; exit 1; }
	exit 0
}

[ "${1:-}" != --self-test ] || self_test
sh "$0" --self-test || { echo "the check of the rooms does not work"; exit 1; }
folders=$(list_rooms "$src")
[ "$(echo "$folders" | wc -l)" -ge 5 ] || { echo "the rooms were not found in $src"; exit 1; }
bad=$(for room in $folders; do include_offences "$room" "$src/$room"/*.?pp; done)
if [ -n "$bad" ]; then
	echo "a room of GASNet knows what it may not know (the table in gasnet-conduit/tests/check_rooms.sh):"
	echo "$bad"
	exit 1
fi
echo "the walls hold: $(echo "$folders" | wc -l) rooms"
