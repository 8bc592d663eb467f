#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_documents.sh: runs the commands of README.md and of the guides that documents.sh names in the build tree, in the
# shell that `. build/env.sh` sets up; run_install.sh runs them again, installed. Also checks that the test detects
# errors.
set -u
. "$(dirname "$0")/harness.sh"
src=$(cd "$src" && pwd)
. "$src/tests/documents.sh"
command -v bash >/dev/null || skip "no bash"
[ -z "$sanitized" ] || skip "readers compile without sanitizers"
LIMIT=240
run_documents build ". build/env.sh"

# a page whose second command fails, one without a mark, one whose mark is unknown, one with all kinds of commands
tried() { # text, what the log must have
	mkdir -p "$work/wrong/examples" "$work/wrong/tests"
	cp "$src/tests/documents.awk" "$work/wrong/tests"
	printf '%b' "$1" >"$work/wrong/page.md"
	(
		src=$work/wrong documents=page.md
		run_documents build :
		cp "$work/out" "$work/log"
	) >"$work/verdict" 2>"$work/errors"
	cat "$work/verdict" "$work/errors" "$work/log" >"$work/out"
	rm -rf "$work"/scratch-build-page*
	grep -q -e "$2" "$work/out"
}
tried '<!-- commands: run -->\n\n    true\n    false && true\n    echo far\n' 'FAILED page.md:4: status 1' &&
	grep -q '^FAILED' "$work/verdict" && ! grep -q '^far' "$work/log"
check "a command that fails is seen"
tried '<!-- commands: run -->\n\n    false | cat\n' 'FAILED page.md:3: status 1'
check "in front of a pipe, too"
tried 'text\n\n    true\n' 'page.md:3: commands without a mark' && grep -q '^FAILED' "$work/verdict"
check "commands without a mark are seen"
tried '<!-- commands: perhaps -->\n\n    true\n' 'unknown mark: perhaps' && grep -q '^FAILED' "$work/verdict"
check "an unknown mark is seen"
tried '<!-- commands: run -->\n\n    echo a.b; echo c1d\n\n```output\na.b\nc…d\n```\n' '^done page.md:3'
grep -q '^ok' "$work/verdict"
check "output that is shown and printed"
tried '<!-- commands: run -->\n\n    echo axb\n\n```output\na.b\n```\n' 'FAILED page.md:6: nothing printed: a.b' &&
	grep -q '^FAILED' "$work/verdict"
check "output that is shown and not printed is seen"
tried 'only text\n' 'no commands at all' && grep -q '^FAILED' "$work/verdict"
check "a page without commands is seen"
mark='<!-- commands:'
tried "$mark run -->\\n\\n    x=1 \\\\\\n      y=2\\n\\n\`\`\`c\\nnot a command\\n\`\`\`\\n
$mark not run: needs a second host -->\\n\`\`\`sh\\nexit 3\\n\`\`\`
$mark run -->\\n\`\`\`sh\\ncat <<END >file\\n\$x\\nEND\\n[ \"\$(cat file)\" = \$((y - 1)) ]\\n\`\`\`
$mark run when installed -->\\n\`\`\`sh\\nexit 4\\n\`\`\`
$mark run, needs no-such-program -->\\n\`\`\`sh\\nexit 5\\n\`\`\`\\n" 'left out page.md:.*needs a second host' &&
	grep -q '^ok.*3 commands' "$work/verdict" && grep -q 'no no-such-program here' "$work/log"
check "continued lines, here documents, blocks that are left out"
finish
