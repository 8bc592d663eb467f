#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# env.sh of the build tree: after sourcing it, a shell finds oshcc, oshrun and the others as if they were installed.
set -u
. "$(dirname "$0")/../tests/harness.sh"
flags=$(setting SANITIZER_FLAGS)
[ -r "$top/env.sh" ] || { fail "no env.sh in $top"; finish; }
cat >"$work/hello.c" <<'TEXT'
#include <shmem.h>
#include <stdio.h>
static int from;
int main(void)
{
	shmem_init();
	shmem_int_p(&from, shmem_my_pe() + 1, (shmem_my_pe() + 1) % shmem_n_pes());
	shmem_barrier_all();
	printf("hello %d\n", from);
	shmem_finalize();
	return 0;
}
TEXT
loaded() { # commands, in a shell that has nothing but PATH and env.sh
	env -i PATH="$PATH" HOME="$work" CCACHE_DISABLE=1 IPATH_NO_BACKTRACE=1 \
		${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} timeout -s KILL $((LIMIT * SLOW)) \
		"$shell" -c "set -eu; . '$top/env.sh'; cd '$work'; $1" >"$work/out" 2>&1
}
for shell in sh bash dash; do
	command -v $shell >/dev/null || { not_run "$shell: it is not here"; continue; }
	loaded 'for tool in oshcc oshc++ oshCC oshcxx oshfort oshrun shmemrun oshtop shmem-info shmem-tune \
		gasnetrun_pgas; do
		command -v $tool; test -x "$(command -v $tool)"; done' &&
		! grep -v "^$top/bin/" "$work/out"
	check "$shell: the tools are in PATH"
	loaded "oshcc $flags hello.c -o hello && oshrun -n 2 ./hello" && [ "$(grep -c '^hello [12]$' "$work/out")" = 2 ]
	check "$shell: oshcc, oshrun"
done
shell=/bin/sh
loaded "oshcc --inline $flags hello.c -o hello && shmemrun -n 2 ./hello" && grep -q '^hello 2$' "$work/out"
check "oshcc --inline, shmemrun"
loaded "oshc++ $flags -x c++ hello.c -o hello && oshrun -n 2 ./hello" && grep -q '^hello 2$' "$work/out"
check "oshc++"
if [ -z "$sanitized" ]; then # a program has one sanitizer, and --check takes the place of one
	loaded "oshcc --check hello.c -o hello && oshrun --check=race -n 2 ./hello" &&
		grep -q '^hello 2$' "$work/out" && grep -q '^SHMEM race check: no race' "$work/out"
	check "oshcc --check"
fi
loaded "oshcc -static-libsma $flags hello.c -o hello && oshrun -n 2 ./hello" && grep -q '^hello 2$' "$work/out"
check "oshcc -static-libsma"
if command -v pkg-config >/dev/null; then
	loaded "$(setting CC) $flags hello.c -o hello \$(pkg-config --cflags --libs sma) && oshrun -n 2 ./hello" &&
		grep -q '^hello 2$' "$work/out"
	check "pkg-config sma"
	loaded "$(setting CC) $flags hello.c -o hello \$(pkg-config --cflags sma) \
		\$(pkg-config --variable=archives sma) && oshrun -n 2 ./hello" && grep -q '^hello 2$' "$work/out"
	check "pkg-config sma, the archives"
else
	not_run "pkg-config: it is not here"
fi
if command -v cmake >/dev/null; then
	cat >"$work/CMakeLists.txt" <<'TEXT'
cmake_minimum_required(VERSION 3.18)
project(user C CXX)
find_package(PGAS REQUIRED COMPONENTS OpenSHMEM GASNet)
foreach(kind OpenSHMEM OpenSHMEM_inline OpenSHMEM_static)
	add_executable(${kind} hello.c)
	target_link_libraries(${kind} PGAS::${kind})
endforeach()
TEXT
	cc=$(setting CC) # without ccache
	loaded "cmake -S . -B by-cmake -DCMAKE_C_COMPILER='${cc##* }' '-DCMAKE_C_FLAGS=$flags' &&
		cmake --build by-cmake && oshrun -n 2 by-cmake/OpenSHMEM && oshrun -n 2 by-cmake/OpenSHMEM_inline &&
		oshrun -n 2 by-cmake/OpenSHMEM_static" && [ "$(grep -c '^hello 2$' "$work/out")" = 3 ]
	check "find_package(PGAS)"
else
	not_run "find_package(PGAS): no cmake"
fi
loaded "gasnetrun_pgas -n 2 ./hello" && grep -q '^hello 2$' "$work/out"
check "gasnetrun_pgas"
# sourcing it again adds nothing
loaded "a=\$(env | grep -v '^_=\|^OLDPWD=' | sort); . '$top/env.sh'; b=\$(env | grep -v '^_=\|^OLDPWD=' | sort)
	[ \"\$a\" = \"\$b\" ] && ! (set | grep '^pgas_env')"
check "sourced twice: the same"
loaded 'case $MANPATH in *:) ;; *) exit 1 ;; esac'
check "MANPATH keeps the system's pages"
if command -v fi_info >/dev/null; then
	loaded "fi_info -p pgas" && grep -q 'provider: pgas' "$work/out"
	check "fi_info -p pgas"
else
	not_run "fi_info: it is not here"
fi
if command -v man >/dev/null; then
	loaded "man oshrun" && grep -q 'launch-agent' "$work/out"
	check "man oshrun"
else
	not_run "man: it is not here"
fi
if [ -x "$top/instr-count/instr-count" ]; then
	loaded "instr-count list" && grep -q '^shmem_int_p ' "$work/out"
	check "instr-count"
fi
finish
