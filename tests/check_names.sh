#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The name of a member, a parameter or a variable is a noun (CONTRIBUTING.md, "Names"), not a preposition. --self-test
# runs the check on lines that it must find or leave alone.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 99
cd "$here/.." || exit 99
words='at|of|to|on|from|in|by'
# A field of an installed header keeps its name, there and where it is used. The others are instructions of PTX.
claim='^(prov/pgas/include/pgas/pgas_hot\.h|gasnet-conduit/[a-z_/]*gasnet_(pgas_)?gex_(am|prepare)\.(h|cpp)):'
allowed="$claim.*((\\.|->)at[^a-z]|uint64_t at;)|cvta\\.to\\."

# Prints the lines with such names in the given files, without comments and strings, as FILE:LINE: TEXT.
prepositions()
{
	awk -v words="$words" '
	FNR == 1 { inside = 0 }
	{
		line = $0
		gsub(/\\./, "", line)
		gsub(/"[^"]*"/, "\"\"", line)
		gsub(/\047[^\047]*\047/, "0", line)
		if (inside) {
			if (!sub(/^.*\*\//, "", line))
				next
			inside = 0
		}
		gsub(/\/\*[^*]*\*\//, "", line)
		sub(/\/\/.*/, "", line)
		if (sub(/\/\*.*/, "", line))
			inside = 1
		if (line ~ /^[ \t]*#/ || line ~ /^[ \t]*\*/)
			next
		# at(3) and at<word>(3) are calls
		if (line ~ "(^|[^A-Za-z0-9_])(" words ")($|[^A-Za-z0-9_(<])")
			print FILENAME ":" FNR ": " $0
	}' "$@"
}

if [ "${1:-}" = --self-test ]; then
	dir=$(mktemp -d) || exit 1
	trap 'rm -rf "$dir"' EXIT
	fails=0
	while IFS= read -r line; do
		printf '%s\n' "$line" >"$dir/bad.cpp"
		[ -n "$(prepositions "$dir/bad.cpp")" ] || { echo "not found: $line"; fails=$((fails + 1)); }
	done <<-'END'
		peer *to = nullptr;
		void put(net_ep &on, op &o);
		size_t at;
		send(x, from);
		return c.of->port;
		at += 2;
	END
	while IFS= read -r line; do
		printf '%s\n' "$line" >"$dir/good.cpp"
		[ -z "$(prepositions "$dir/good.cpp")" ] || { echo "found wrongly: $line"; fails=$((fails + 1)); }
	done <<-'END'
		x = list.at(3);
		// what is sent to whom
		print("to %s", name); /* in time */
		int to_begin = at_most;
	END
	exit "$fails"
fi

sh "$here/check_names.sh" --self-test || { echo "the check of names does not work"; exit 1; }
files=$(find base bench boot counters devices examples gasnet-conduit instr-count launch profile prov shmem teams \
	tests top -name '*.[ch]pp' -o -name '*.[ch]')
[ "$(echo "$files" | wc -l)" -ge 500 ] || { echo "the sources were not found"; exit 1; }
# shellcheck disable=SC2086  # one argument each
found=$(prepositions $files | grep -Ev "$allowed")
if [ -n "$found" ]; then
	echo "names that are prepositions; CONTRIBUTING.md, \"Names\", says what a name is:"
	echo "$found"
	exit 1
fi
echo "ok: $(echo "$files" | wc -l) files"
