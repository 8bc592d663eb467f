#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_site.sh: the site of the documents (make site) is made without a warning, no link in it is broken, and manual
# pages are linked, by their own name and by that of a call that they describe.
set -u
. "$(dirname "$0")/harness.sh"
LIMIT=120
command -v sphinx-build >/dev/null || skip "no sphinx-build (package python3-sphinx)"
command -v mandoc >/dev/null || skip "no mandoc"
# shellcheck disable=SC2046  # its interpreter may be two words
$(sed -n '1s/^#! *//p' "$(command -v sphinx-build)") -c 'import furo, myst_parser' 2>/dev/null ||
	skip "sphinx has no myst_parser or furo (packages python3-myst-parser, furo)"

good "$src/docs/site/make_site" "$work/site" -W --keep-going
expect 0 ' 0 broken$' python3 "$src/tests/site_links.py" "$work/site/html"
has() { # PAGE TEXT
	grep -qF -e "$2" "$work/site/html/$1"
	check "$1 has $2"
}
has index.html 'href="man/oshrun.1.html"'
has man/shmem_put.3.html 'href="shmem_fence.3.html"><b>shmem_quiet</b>(3)'
has docs/README.html 'href="../man/shmem.7.html"><code'
has docs/bench/README.html 'href="../../_images/scaling-x86_64.svg"><img'
# the test of links detects a broken one
printf '<a href="no.html#x">no</a>\n' >>"$work/site/html/index.html"
expect 0 '^index.html: no.html#x$' python3 "$src/tests/site_links.py" "$work/site/html"
expect 2 '^make_site FOLDER' "$src/docs/site/make_site"
finish
