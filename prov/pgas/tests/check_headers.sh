#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_headers.sh: the provider compiles without a warning with libfabric's headers of tomorrow. Structures grow at
# their ends from one libfabric to the next. Here every table of calls and every structure of attributes has one member
# more than in the installed headers, so that a list of initialisers that would be too short then is found now.
# LIBFABRIC_HEADERS=DIR: with the headers in DIR/rdma instead, as they are, all sources (but those that need the headers
# of RDMA adapters) and test programs.
set -u
. "$(dirname "$0")/../../../tests/harness.sh"
cxx=$(setting CXX) cc=$(setting CC)
[ -n "$cxx" ] || skip "no Makefile in $top: it names the compiler"
flags="-fsyntax-only -Wall -Wextra -Werror -DHAVE_CONFIG_H -I$top -I$top/base/include -I$src/base/include"
flags="$flags -I$src/counters/include -I$src/devices/include -I$src/prov/pgas/include $(setting VERBS_CFLAGS)"

# The folder of rdma/fabric.h, as this compiler finds it.
installed_headers() {
	# shellcheck disable=SC2046,SC2086  # several words each
	echo '#include <rdma/fabric.h>' | $cc $(setting CPPFLAGS) $(setting LIBFABRIC_CFLAGS) -E -x c - 2>/dev/null |
		sed -n 's|^# 1 "\(.*\)/rdma/fabric\.h".*|\1|p' | head -n 1
}

# Adds a member to the end of each such structure of a header.
grow() {
	awk '
	/^struct fi_(ops|[a-z_]*_attr)[a-z_]* \{/ { open = 1 }
	open && /^}/ {
		print "\tint (*added_by_check)(struct fid *fid);"
		open = 0
		count++
	}
	{ print }
	END { print count + 0 >"/dev/stderr" }'
}

compiles() { # WHAT COMPILER FILE...: all of them, two at a time
	_what=$1 _compiler=$2
	shift 2
	# shellcheck disable=SC2086
	printf '%s\n' "$@" | xargs -P 2 -n 1 $_compiler -I"$headers" $flags >"$work/out" 2>&1
	check "$_what: $# files compile"
}

cxx_flags="-std=c++20 -fno-rtti -I$src/prov/pgas/src"
if [ -n "${LIBFABRIC_HEADERS:-}" ]; then
	headers=$LIBFABRIC_HEADERS
	[ -f "$headers/rdma/fabric.h" ]
	check "LIBFABRIC_HEADERS: $headers/rdma/fabric.h is there"
	note "$(sed -n 's/^#define \(FI_M[AI][JN]OR_VERSION\)/\1/p' "$headers/rdma/fabric.h" | tr '\n' ' ')"
	# shellcheck disable=SC2046
	compiles "the provider" "$cxx $cxx_flags" $(find "$src/prov/pgas/src" -name '*.cpp' ! -path '*/verbs/*')
	if [ -n "$(setting CMOCKA_LIBS)" ]; then
		flags="$flags -std=gnu11 -I$src/tests -I$src/prov/pgas/tests -Wno-unused-parameter"
		flags="$flags -DTEST_PROVIDER_PATH=\"\" -DTEST_FAKES=\"\" -DTEST_FABRIC=\"\" $(setting CMOCKA_CFLAGS)"
		# shellcheck disable=SC2046
		compiles "its tests" "$cc" $(find "$src/prov/pgas/tests" -name 'test_prov_*.c')
	else
		not_run "the test programs: no CMocka"
	fi
	finish
fi

found=$(installed_headers)
[ -n "$found" ] || skip "libfabric's headers are not found"
headers=$work/include
mkdir -p "$headers" && cp -R "$found/rdma" "$headers/rdma"
for file in "$found"/rdma/fi_*.h "$found/rdma/fabric.h"; do
	grow <"$file" >"$headers/rdma/${file##*/}" 2>>"$work/grown"
done
[ "$(awk '{ sum += $1 } END { print sum + 0 }' "$work/grown")" -ge 20 ]
check "the copy of the headers has larger structures"
cat >"$work/listed.cpp" <<'TEXT'
#include <rdma/fi_eq.h>
int wait(fid_poll *, void **, int);
int change(fid_poll *, fid *, uint64_t);
fi_ops_poll listed = {.size = sizeof(fi_ops_poll), .poll = wait, .poll_add = change, .poll_del = change};
TEXT
# shellcheck disable=SC2086
! $cxx $cxx_flags -I"$headers" $flags "$work/listed.cpp" >"$work/out" 2>&1 && grep -q 'added_by_check' "$work/out"
check "... so that a list of initialisers is seen to be too short"
# shellcheck disable=SC2046
compiles "the provider" "$cxx $cxx_flags" $(grep -lr --include='*.cpp' 'fi_ops\|_attr\b' "$src/prov/pgas/src")
finish
