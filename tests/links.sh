# SPDX-License-Identifier: BSD-3-Clause
# links.sh: sourced by tests that check the links of documents.

# dead_links PAGE...: prints the relative links of these Markdown pages that lead to no file
dead_links() {
	for _page; do
		grep -o '](\([^)#:]*\)[)#]' "$_page" | sed 's/^](//; s/[)#]$//' | sort -u | while read -r _link; do
			[ -z "$_link" ] || [ -e "$(dirname "$_page")/$_link" ] || echo "$_page: no $_link"
		done
	done
}
