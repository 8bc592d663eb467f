# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh disable=SC2154  # the check sets $rooms and $public
#
# What the files of a room may include. A check of walls (prov/pgas/tests/check_wall.sh,
# gasnet-conduit/tests/check_rooms.sh) sources this and sets
#   rooms   a table: a room in each line, then the rooms or files whose headers its files may include besides their own
#   public  an extended regular expression: headers that any room may include

# Prints the includes of a room's files that its row of the table does not allow.
include_offences()
{
	room=$1
	shift
	allowed=$(echo "$rooms" | awk -v room="$room" '
		$1 == room || (sub(/\*$/, "", $1) && index(room, $1) == 1) {
			print room
			for (i = 2; i <= NF; i++)
				print $i
			found = 1
			exit
		}
		END { exit !found }') || { echo "$room: the table of rooms has no line for it"; return 0; }
	grep -nE '^#include "' "$@" /dev/null | while read -r line; do
		header=${line#*\"}
		header=${header%%\"*}
		! echo "$header" | grep -qE "$public" || continue
		case $header in
		*/*) ;;
		*) header=$room/$header ;;
		esac
		echo "$allowed" | grep -qxF -e "${header%/*}" -e "$header" || echo "$line"
	done
	return 0
}

# Prints the folders below $1 that have sources, each a room.
list_rooms()
{
	(cd "$1" && find . -name '*.?pp' | sed 's|^\./||; s|/[^/]*$||' | sort -u)
}

# Tries cases "ROOM HEADER" on include_offences, which must find it ($1 is bad) or must not ($1 is good), in the folder
# $2. Prints what is wrong.
try_includes()
{
	printf '#include "%s"\n' "${3#* }" >"$2/case.cpp"
	found=$(include_offences "${3% *}" "$2/case.cpp")
	case $1 in
	bad) [ -n "$found" ] || echo "not found: $3" ;;
	good) [ -z "$found" ] || echo "found wrongly: $3" ;;
	esac
}
