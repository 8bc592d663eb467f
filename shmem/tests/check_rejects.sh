#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# check_rejects.sh INCLUDE_DIR: calls that the type-generic names must refuse at compile time, in C11 and in C++; and
# one program that must compile although it defines short macros of its own. CC, CXX: the compilers.
# PGAS_TEST_INCLUDE: used if there is no argument.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
include=${1:-${PGAS_TEST_INCLUDE:-}}
if [ -z "$include" ]; then
	echo "usage: check_rejects.sh INCLUDE_DIR" >&2
	exit 2
fi

# compiles WANT STATEMENT: WANT is yes or no
compiles() {
	for lang in c c++; do
		if [ $lang = c ]; then compiler="${CC:-cc} -std=c11"; else compiler="${CXX:-c++} -std=c++20"; fi
		printf '%s\n' '#include <shmem.h>' '#define g 9.81' '#define p 1' '#define C 3' '#define CTX 4' \
			'int f(void);' "int f(void) { $2; return 0; }" >"$work/text"
		got=no
		! $compiler -Werror -I"$include" -x $lang -fsyntax-only - <"$work/text" >/dev/null 2>&1 || got=yes
		[ $got = "$1" ]
		check "$lang: compiles: $got, wanted $1: $2"
	done
}

compiles yes 'static int x; shmem_p(&x, 1, 0); return shmem_g(&x, 0)'
compiles yes 'static int x, y = 0; shmem_p(&x, y++, 0); shmem_p(SHMEM_CTX_DEFAULT, &x, y++, 0)'
compiles no 'static int x; void *v = &x; shmem_put(v, v, 1, 0)'
compiles no 'static int x, y; shmem_put(&x, &y, 1)'
compiles no 'static struct { int i; } x; shmem_get(&x, &x, 1, 0)'
compiles no 'static const int x = 1; static int y; shmem_put(&x, &y, 1, 0)'
compiles no 'static float x; shmem_atomic_add(&x, 1, 0)'
compiles no 'static float x; shmem_atomic_and(&x, 1, 0)'
compiles no 'static short x; shmem_atomic_fetch(&x, 0)'
compiles no 'static double x; shmem_wait_until(&x, SHMEM_CMP_EQ, 0)'
compiles no 'static short x; shmem_wait_until_all(&x, 1, 0, SHMEM_CMP_EQ, 0)'
compiles no 'static float x; shmem_and_reduce(SHMEM_TEAM_WORLD, &x, &x, 1)'
compiles no 'static float x; shmem_sum_reduce(SHMEM_CTX_DEFAULT, &x, &x, 1)'
compiles no 'shmem_ctx_t c = SHMEM_TEAM_WORLD; (void)c'
finish
