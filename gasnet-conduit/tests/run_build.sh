#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# How clients build: headers alone in C and C++ and every mode without a warning, modes that do not mix, what the libraries
# export, the makefile fragments' variables, static linking, the launcher's options.
set -u
top=${abs_top_builddir:-.}
src=${GASNET_TEST_SRC:-$top/..}
cc=${GASNET_TEST_CC:-cc}
cxx=${GASNET_TEST_CXX:-c++}
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0
flags="-I$src/gasnet-conduit/include -I$src/counters/include -I$src/prov/pgas/include ${GASNET_TEST_FABRIC-} ${GASNET_TEST_FLAGS-}"
fail()
{
	echo "FAIL: $*"
	failed=1
}
for mode in SEQ PAR PARSYNC; do
	for header in gasnet gasnet_tools gasnet_vis gasnet_coll; do
		echo "#include <$header.h>" > "$dir/h.c"
		cp "$dir/h.c" "$dir/h.cpp"
		$cc -std=gnu11 -Wall -Wextra -Werror -DGASNET_$mode $flags -fsyntax-only "$dir/h.c" || fail "$header.h, C, $mode"
		$cxx -std=c++20 -Wall -Wextra -Werror -DGASNET_$mode $flags -fsyntax-only "$dir/h.cpp" || fail "$header.h, C++, $mode"
	done
done
echo '#include <gasnet.h>' > "$dir/h.c"
$cc $flags -fsyntax-only "$dir/h.c" 2> "$dir/err" && fail "gasnet.h without a mode compiles"
grep -q "exactly one of GASNET_SEQ" "$dir/err" || fail "gasnet.h without a mode does not say what to do"

cat > "$dir/p.c" <<'TEXT'
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
$cc -O2 -DGASNET_SEQ $flags -o "$dir/seq" "$dir/p.c" $libs -lgasnet-pgas-seq -lpgas || fail "linking"
$cc -O2 -DGASNET_PAR $flags -o "$dir/mixed" "$dir/p.c" $libs -lgasnet-pgas-seq -lpgas 2> /dev/null && fail "a PAR program links with the SEQ library"
$cc -O2 -DGASNET_SEQ $flags -o "$dir/static" "$dir/p.c" $libs "$top/libgasnet-pgas-seq.a" -lpgas -lfabric -lstdc++ -ldl -lm -lpthread ||
	fail "linking the archive"
for p in seq static; do
	n=$(GASNETRUN_OSHRUN=$top/boot/oshrun timeout -s KILL $((60 * ${TEST_SLOW:-5})) "$top/gasnet-conduit/bin/gasnetrun_pgas" -n 3 "$dir/$p" | grep -c "of 3")
	[ "$n" -eq 3 ] || fail "gasnetrun_pgas -n 3 $p: $n nodes"
done
for mode in seq par parsync; do
	nm -D --defined-only "$top/.libs/libgasnet-pgas-$mode.so" | awk '$2 ~ /[TDBRV]/ && $3 !~ /^gasnet/ { print $3 }' > "$dir/names"
	[ ! -s "$dir/names" ] || fail "libgasnet-pgas-$mode.so exports $(tr '\n' ' ' < "$dir/names")"
	for variable in CC CPPFLAGS CFLAGS CXX CXXFLAGS LD LDFLAGS LIBS; do
		printf 'include %s\nall:\n\t@test -n "$(GASNET_%s)"\n' "$top/gasnet-conduit/pgas-conduit/pgas-$mode.mak" $variable > "$dir/Makefile"
		make -s -f "$dir/Makefile" || fail "pgas-$mode.mak: GASNET_$variable is empty"
	done
done
run=$top/gasnet-conduit/bin/gasnetrun_pgas
"$run" "$dir/seq" 2> /dev/null && fail "gasnetrun_pgas without -n"
"$run" -n 0 "$dir/seq" 2> /dev/null && fail "gasnetrun_pgas -n 0"
"$run" -n 2 -N 2 "$dir/seq" 2> /dev/null && fail "gasnetrun_pgas -N 2"
"$run" -n 2 2> /dev/null && fail "gasnetrun_pgas without a program"
[ -z "$(GASNETRUN_OSHRUN=/bin/false "$run" -t -n2 "$dir/seq" 2> /dev/null)" ] || fail "gasnetrun_pgas -t runs the program"
exit $failed
