#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test_harness.sh: the harness itself. A test that fails, ends too early, or checks nothing must not pass; parts that
# did not run are counted; a test leaves nothing behind.
set -u
. "$(dirname "$0")/harness.sh"
harness=$(cd "$(dirname "$0")" && pwd)/harness.sh
mkdir "$work/tmp"

# a test made here: script STATUS TEXT, with the lines of the script on stdin
script() {
	{ printf 'set -u\n. "%s"\n' "$harness"; cat; } >"$work/script"
	TMPDIR=$work/tmp TEST_SLOW=1 expect "$1" "$2" sh "$work/script"
	[ -z "$(ls -A "$work/tmp")" ]
	check "nothing of it is left"
}

script 0 '^all 2 passed$' <<'END'
true
check "one"
expect 3 'word' sh -c 'echo a word; exit 3'
finish
END
script 1 '^FAILED: 1 of 2$' <<'END'
false
check "one"
ok "two"
finish
END
script 1 '^FAILED 1 - .*status 4, expected 3' <<'END'
expect 3 '' sh -c 'exit 4'
finish
END
script 1 '^FAILED 1 - .*no "word" in its output' <<'END'
expect 0 word echo nothing
finish
END
script 1 '^FAILED 1 - .*expected a bad one' <<'END'
expect bad '' true
finish
END
# a command that hangs is killed, which does not count as the expected failure
script 1 '^FAILED 1 - .*status 137' <<'END'
LIMIT=1
expect bad '' sleep 100
finish
END
script 1 '^FAILED: 0 of 0$' <<'END'
finish
END
script 1 '^FAILED: the test ended before its end$' <<'END'
ok "one"
exit 0
END
script 5 '' <<'END'
exit 5
END
script 77 '^skipped: no reason$' <<'END'
skip "no reason"
END
script 0 '^all 1 passed, 2 not run: this; that$' <<'END'
not_run this
ok "one"
not_run that
finish
END
script 0 '^told after' <<'END'
at_exit 'echo told after'
ok "one"
finish
END
script 0 '^all 3 passed$' <<'END'
n=0
more() { n=$((n + 1)); [ $n -ge 3 ]; }
within 50 more
check "within"
! within 2 false
check "not within"
LIMIT_X=7
[ "$(allowed LIMIT_X 3) $(allowed LIMIT_Y 3)" = "7 3" ]
check "allowed"
finish
END
finish
