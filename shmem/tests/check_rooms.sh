#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The rooms of shmem/. Every folder is a room, and the table below lists what the files of a room may include besides
# their own headers: rooms below it, never one above. Calls follow the includes, so no two rooms call each other; the
# exception is the tool library, whose two rooms are one library. --self-test runs the check itself on bad lines.
set -u
top=${srcdir:-$(dirname "$0")/../..}/shmem

# A room, then the rooms or files whose headers its files may include.
rooms='
src/heap
src/core	src/heap
src/device	src/core
src/path	src/core src/device
src/device/coll	src/core src/device src/path
src/report	src/core src/path
src/names	src/core src/device src/device/coll src/path src/report
src/life	src/core src/device src/path src/report src/names
race		profile
profile		race src/core/shmem_profile.h
'

# Prints the includes of a room's files that its row of the table does not allow. Headers outside of shmem/ are not its
# subject.
include_offences() { # ROOM FILE...
	room=$1
	shift
	allowed=$(echo "$rooms" | awk -v room="$room" '
		$1 == room { for (i = 1; i <= NF; i++) print $i; found = 1 }
		END { exit !found }') || { echo "$room: the table of rooms has no line for it"; return 0; }
	grep -nE '^#include "' "$@" /dev/null | while read -r line; do
		header=${line#*\"}
		header=${header%%\"*}
		found=$(find_header "$room" "$header")
		[ -z "$found" ] || echo "$allowed" | grep -qxF -e "${found%/*}" -e "$found" || echo "$line"
	done
	return 0
}

# Where the compiler finds a header, as ROOM/FILE; nothing if that is not in shmem/.
find_header() { # ROOM HEADER
	for folder in "$1" src profile race; do
		[ ! -e "$top/$folder/$2" ] || { echo "$folder/$2"; return; }
	done
}

self_test() {
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	fails=0
	for case in 'src/heap core/shmem_state.hpp' 'src/core device/shmem_partition.hpp' \
		'src/core path/shmem_cold.hpp' \
		'src/device path/shmem_rma.hpp' 'src/device device/coll/shmem_device_coll.hpp' \
		'src/path names/shmem_team.hpp' 'src/names life/shmem_join.hpp' 'src/report names/shmem_team.hpp' \
		'race core/shmem_profile.h' 'profile core/shmem_state.hpp' 'src/new core/shmem_state.hpp'; do
		printf '#include "%s"\n' "${case#* }" > "$dir/bad.cpp"
		[ -n "$(include_offences "${case% *}" "$dir/bad.cpp")" ] ||
			{ echo "not found: $case"; fails=$((fails + 1)); }
	done
	for case in 'src/core shmem_fail.hpp' 'src/path device/shmem_device.hpp' 'src/life names/shmem_team.hpp' \
		'profile core/shmem_profile.h' 'race tool.hpp' 'src/life pgas_boot.h'; do
		printf '#include "%s"\n' "${case#* }" > "$dir/good.cpp"
		[ -z "$(include_offences "${case% *}" "$dir/good.cpp")" ] ||
			{ echo "found wrongly: $case"; fails=$((fails + 1)); }
	done
	exit "$fails"
}

[ "${1:-}" != --self-test ] || self_test
sh "$0" --self-test || { echo "the check of the rooms does not work"; exit 1; }
folders=$(cd "$top" && find src race profile -name '*.[ch]pp' | sed 's|/[^/]*$||' | sort -u)
[ "$(echo "$folders" | wc -l)" -ge 8 ] || { echo "the rooms were not found in $top"; exit 1; }
bad=$(for room in $folders; do include_offences "$room" "$top/$room"/*.[ch]*; done)
if [ -n "$bad" ]; then
	echo "a room of shmem/ includes what it may not include (the table in shmem/tests/check_rooms.sh):"
	echo "$bad"
	exit 1
fi
echo "ok: $(echo "$folders" | wc -l) rooms"
