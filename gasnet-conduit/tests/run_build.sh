#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# How clients build: headers alone in C and C++ and every mode without a warning, modes that do not mix, the symbols
# that the libraries export, the makefile fragments' variables, static linking, the launcher's options.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
src=${GASNET_TEST_SRC:-$src}
cc=${GASNET_TEST_CC:-cc}
cxx=${GASNET_TEST_CXX:-c++}
flags="-I$src/gasnet-conduit/include -I$src/base/include -I$src/counters/include -I$src/prov/pgas/include"
flags="$flags ${GASNET_TEST_FABRIC-} ${GASNET_TEST_FLAGS-}"
for mode in SEQ PAR PARSYNC; do
	for header in gasnet gasnetex gasnet_fwd gasnet_tools gasnet_vis gasnet_coll gasnet_ratomic gasnet_mk; do
		echo "#include <$header.h>" >"$work/h.c"
		cp "$work/h.c" "$work/h.cpp"
		$cc -std=gnu11 -Wall -Wextra -Werror -DGASNET_$mode $flags -fsyntax-only "$work/h.c"
		check "$header.h, C, $mode"
		$cxx -std=c++20 -Wall -Wextra -Werror -DGASNET_$mode $flags -fsyntax-only "$work/h.cpp"
		check "$header.h, C++, $mode"
	done
done
echo '#include <gasnet.h>' >"$work/h.c"
! $cc $flags -fsyntax-only "$work/h.c" 2>"$work/err"
check "gasnet.h without a mode does not compile"
grep -q "exactly one of GASNET_SEQ" "$work/err"
check "and says what to do"

# handlers have the type that the specification gives them, in both languages; GASNet-1 clients cast to it
cat >"$work/h.c" <<'TEXT'
#include <gasnet.h>
static void handler(gasnet_token_t token)
{
	(void)token;
}
typedef void (*handler_type)();
gasnet_handlerentry_t table[] = {{200, (void (*)())handler}, {0, (handler_type)handler}};
handler_type of_table(void)
{
	return table[1].fnptr;
}
TEXT
cp "$work/h.c" "$work/h.cpp"
$cc -std=gnu11 -Wall -Wextra -Werror -DGASNET_SEQ $flags -fsyntax-only "$work/h.c"
check "handlers in C"
$cxx -std=c++17 -Wall -Wextra -Werror -Wno-cast-function-type -DGASNET_SEQ $flags -fsyntax-only "$work/h.cpp"
check "handlers in C++"
# names with two forms: GASNet-EX's without gasnet.h, GASNet-1's with it; and names of GASNet's own build
cat >"$work/h.c" <<'TEXT'
#include <gasnetex.h>
#include <gasnet_vis.h>
int barrier(void);
int barrier(void)
{
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	return gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) + gasnet_barrier(SIZEOF_INT, 0);
}
size_t text(char *buf, gex_TM_t tm, gex_Memvec_t *list, void *at);
size_t text(char *buf, gex_TM_t tm, gex_Memvec_t *list, void *at)
{
	const ptrdiff_t strides[] = {-8};
	const size_t count[] = {3};
	gasnett_format_memveclist(buf, 1, list);
	gasnett_format_strides(buf, 1, strides);
	return gasnett_format_putsgets(buf, NULL, tm, 0, at, strides, at, strides, 8, count, 1) +
	       gasnett_format_putvgetv(buf, tm, 0, 1, list, 1, list);
}
TEXT
cp "$work/h.c" "$work/h.cpp"
$cc -std=gnu11 -Wall -Wextra -Werror -DGASNET_SEQ $flags -fsyntax-only "$work/h.c"
check "gasnetex.h without gasnet.h, C"
$cxx -std=c++17 -Wall -Wextra -Werror -DGASNET_SEQ $flags -fsyntax-only "$work/h.cpp"
check "gasnetex.h without gasnet.h, C++"
# names of gasnet_tools.h that programs use without gasnet.h
cat >"$work/h.c" <<'TEXT'
#define GASNETT_LITE_MODE
#include <gasnet_tools.h>
#if !GASNETT_LITE_MODE || defined(GASNETT_THREAD_SAFE) || defined(GASNETT_THREAD_SINGLE)
#error GASNETT_LITE_MODE
#endif
GASNETT_USED static int used = GASNETT_SET_AFFINITY_SUPPORT;
GASNETT_WARN_UNUSED_RESULT int pick(int x);
int pick(int x)
{
	const char *const here = gasnett_current_loc;
	GASNETT_STATS_DUMP(0);
	GASNETT_SET_AFFINITY(0);
	(void)_gasneti_threadkey_init;
	(void)_gasnett_trace_printf_noop;
	gasnett_assume(x < 9);
	switch (x) {
	case 0:
		used++;
		GASNETT_FALLTHROUGH
	case 1:
		GASNETT_UNUSED_ARGS1(x);
		GASNETT_UNUSED_ARGS3(x, used, here);
		return 2;
	case 2:
		GASNETT_UNUSED_ARGS8(1, 2, 3, 4, 5, 6, 7, 8);
		return gasnett_constant_p(3);
	case 3:
		gasnett_fatalerror_nopos("at %s, in %s, version %s", here, gasnett_exe_name(),
					 gasnett_release_version_str());
	default:
		gasnett_unreachable();
	}
}
TEXT
cp "$work/h.c" "$work/h.cpp"
$cc -std=gnu11 -Wall -Wextra -Werror $flags -fsyntax-only "$work/h.c"
check "gasnet_tools.h alone, C"
$cxx -std=c++17 -Wall -Wextra -Werror $flags -fsyntax-only "$work/h.cpp"
check "gasnet_tools.h alone, C++"

cat >"$work/p.c" <<'TEXT'
#include <gasnet.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK)
		return 1;
	printf("node %d of %d\n", (int)gasnet_mynode(), (int)gasnet_nodes());
	gasnet_barrier(1, 0);
	gasnet_exit(0);
}
TEXT
libs="-L$top/.libs -Wl,-rpath,$top/.libs"
$cc -O2 -DGASNET_SEQ $flags -o "$work/seq" "$work/p.c" $libs -lgasnet-pgas-seq -lpgas
check "linking"
! $cc -O2 -DGASNET_PAR $flags -o "$work/mixed" "$work/p.c" $libs -lgasnet-pgas-seq -lpgas 2>/dev/null
check "a PAR program does not link with the SEQ library"
$cc -O2 -DGASNET_SEQ $flags -o "$work/static" "$work/p.c" $libs "$top/libgasnet-pgas-seq.a" \
	-lpgas -lfabric -lstdc++ -ldl -lm -lpthread
check "linking the archive"
run=$top/gasnet-conduit/bin/gasnetrun_pgas
for p in seq static; do
	n=$(GASNETRUN_OSHRUN=$top/launch/oshrun bounded "$run" -n 3 "$work/$p" | grep -c "of 3")
	[ "$n" -eq 3 ]
	check "gasnetrun_pgas -n 3 $p: $n nodes"
done
for mode in seq par parsync; do
	nm -D --defined-only "$top/.libs/libgasnet-pgas-$mode.so" |
		awk '$2 ~ /[TDBRV]/ && $3 !~ /^(gasnet|gex_)/ { print $3 }' >"$work/out"
	[ ! -s "$work/out" ]
	check "libgasnet-pgas-$mode.so exports nothing but gasnet* and gex_*"
	for variable in CC CPPFLAGS CFLAGS CXX CXXFLAGS LD LDFLAGS LIBS; do
		printf 'include %s\nall:\n\t@test -n "$(GASNET_%s)"\n' \
			"$top/gasnet-conduit/pgas-conduit/pgas-$mode.mak" $variable >"$work/Makefile"
		make -s -f "$work/Makefile"
		check "pgas-$mode.mak: GASNET_$variable has a value"
	done
	printf 'include %s\nall:\n\t@echo $(GASNET_LIBS)\n' \
		"$top/gasnet-conduit/pgas-conduit/pgas-$mode.mak" >"$work/Makefile"
	make -s -f "$work/Makefile" | grep -q -e ' -lm\( \|$\)'
	check "pgas-$mode.mak: GASNET_LIBS has -lm"
done
! "$run" "$work/seq" 2>/dev/null
check "gasnetrun_pgas without -n is refused"
! "$run" -n 0 "$work/seq" 2>/dev/null
check "gasnetrun_pgas -n 0 is refused"
! GASNETRUN_OSHRUN=$top/launch/oshrun bounded "$run" -n 2 -N 2 "$work/seq" 2>/dev/null
check "gasnetrun_pgas -N 2 is refused where no second host is known"
! "$run" -n 2 2>/dev/null
check "gasnetrun_pgas without a program is refused"
[ -z "$(GASNETRUN_OSHRUN=/bin/false "$run" -t -n2 "$work/seq" 2>/dev/null)" ]
check "gasnetrun_pgas -t does not run the program"
finish
