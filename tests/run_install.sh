#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_install.sh: make install into a folder of its own, which is then moved; everything must work from there, as
# another user if we are root, with nothing in the environment but PATH. Runs in the top build folder, after all other
# tests: libtool moves the libraries of the build tree aside for a moment while it installs.
set -u
. "$(dirname "$0")/harness.sh"
# if libtool was interrupted: moves the files that it put aside back
mend() {
	for aside in "$top"/.libs/*.so*U; do
		[ ! -e "$aside" ] || mv -f "$aside" "${aside%U}"
	done
}
at_exit mend
mend

installed() { # a folder as make install has it
	printf 'include Makefile\nprint-setting:\n\t@echo $(%s)\n' "$1" |
		env -u MAKEFLAGS -u MFLAGS make -s -f - print-setting
}

if ! env -u MAKEFLAGS -u MFLAGS make install DESTDIR="$work/first" >"$work/out" 2>&1; then
	fail "make install DESTDIR=$work/first"
	finish
fi
mv "$work/first" "$work/moved"
mkdir "$work/user"
chmod 755 "$work"
chmod 1777 "$work/user"
moved=$work/moved
prefix=$(installed prefix) bindir=$moved$(installed bindir) libdir=$moved$(installed libdir)
providerdir=$moved$(installed providerdir) pkgconfigdir=$moved$(installed pkgconfigdir)
gasnetmakdir=$moved$(installed gasnetmakdir) pythondir=$moved$(installed pythondir)
drivers=$moved$(installed instrcountdriversdir) pages=$moved$(installed mandir)
cc=$(installed CC) flags=$(installed SANITIZER_FLAGS)
src=$(cd "$src" && pwd) # it may be relative
cd "$work/user" || exit 99

other= # who uses it
nobody="setpriv --reuid 65534 --regid 65534 --clear-groups"
[ "$(id -u)" != 0 ] || ! $nobody test -x "$libdir/libsma.so" 2>/dev/null || other=$nobody
echo "# as ${other:-the same user}"
user() { # program, arguments; its output is in $work/out
	$other env -i PATH="$PATH" IPATH_NO_BACKTRACE=1 CCACHE_DISABLE=1 ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
		timeout -s KILL $((LIMIT * SLOW)) "$@" >"$work/out" 2>&1
}
says() { grep -q "$1" "$work/out"; }

# checks that the files use the libraries installed next to them, whatever else is installed on this machine
own() { # files
	for file; do
		[ -f "$file" ] || { echo "no $file"; return 1; }
		user ldd "$file" || return 1
		! grep 'libpgas\.so\|libsma-pgas\.so\|libgasnet' "$work/out" | grep -v "=> $moved/" || return 1
		says 'libpgas\.so' || return 1
	done
}
own "$libdir/libsma.so" "$libdir/libgasnet-pgas-seq.so" "$libdir/libgasnet-pgas-par.so" \
	"$libdir/libgasnet-pgas-parsync.so" "$providerdir/libpgas-fi.so"
check "libraries find one another"
find "$libdir" -name 'libsma.so.*' >"$work/out"
[ ! -s "$work/out" ]
check "no file has the name of another project's library"
[ ! -d "$drivers" ] || own "$drivers/shmem_int_p" "$drivers/gasnet_put_nbi" "$drivers/fi_write_direct"
check "drivers of instr-count find the libraries"
for file in "${drivers%/*}"/valgrind/path-*; do
	[ ! -f "$file" ] || readelf -n "$file" | grep -q 'Build ID' || echo "$file"
done >"$work/out" 2>&1
[ ! -s "$work/out" ]
check "the Valgrind tool has a build id, without which rpmbuild ends"
for file in "$libdir"/*.so "$providerdir"/*.so "$bindir"/* "$drivers"/*; do readelf -d "$file"; done \
	>"$work/out" 2>/dev/null
! cat "$work/out" "$pkgconfigdir"/*.pc "$gasnetmakdir"/*.mak "$bindir/oshcc" \
	"$bindir/gasnetrun_pgas" | grep -F "$top"
check "nothing points to the build tree"

if command -v fi_info >/dev/null; then
	user env FI_PROVIDER_PATH="$providerdir" fi_info -p pgas && says 'provider: pgas'
	check "fi_info -p pgas"
else
	not_run "fi_info -p pgas: no fi_info"
fi

cat >hello.c <<'TEXT'
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
runs() { # program on two PEs
	user "$bindir/oshrun" -n 2 "$1" && [ "$(grep -c '^hello [12]$' "$work/out")" = 2 ]
}
user "$bindir/oshcc" $flags hello.c -o oshcc && runs ./oshcc && own ./oshcc
check "oshcc, oshrun"
user "$bindir/oshcc" --inline $flags hello.c -o inline && runs ./inline
check "oshcc --inline"
for wrapper in oshcxx oshc++ oshCC; do
	user "$bindir/$wrapper" $flags -x c++ hello.c -o cxx && runs ./cxx && own ./cxx
	check "$wrapper, oshrun"
done
if [ -f "$libdir/pgas/fortran/shmem.mod" ]; then
	user "$bindir/oshfort" $flags "$src/examples/heat.f90" -o heat && user "$bindir/oshrun" -n 2 ./heat &&
		says '^heat: 2 PEs agree' && own ./heat
	check "oshfort, oshrun"
else
	not_run "oshfort: no Fortran module"
fi
user "$bindir/shmemrun" -n 2 ./cxx && says '^hello 2$'
check "shmemrun"
user "$bindir/oshcc" -static-libsma $flags hello.c -o static && runs ./static && user ldd ./static &&
	! says 'libsma\|libpgas'
check "oshcc -static-libsma"
if user python3 -c 'import ctypes'; then
	cp "$src/examples/ring.py" .
	user env PYTHONPATH="$pythondir" python3 -B -m pgas -n 3 ring.py &&
		says '^ring: 3 PEs'
	check "the Python package finds the moved library and oshrun"
else
	not_run "the Python package: no Python with ctypes"
fi
user "$bindir/shmem-info" && says SHMEM_SYMMETRIC_SIZE
check "shmem-info"
user "$bindir/shmem-tune" --help && says '^usage: shmem-tune' && own "$bindir/shmem-tune"
check "shmem-tune"
for program in "$bindir"/*; do
	user ldd "$program"
	! says 'not found' || echo "$program"
done >"$work/lost"
[ ! -s "$work/lost" ]
check "every program finds its libraries"

pc() { # module, options: what pkg-config says of the moved installation
	module=$1
	shift
	PKG_CONFIG_PATH=$pkgconfigdir pkg-config $pc_options "$@" "$module"
}
# the .pc files find the prefix from their own location, unless they are in the system's library folders
pc_options=
grep -q '^prefix=.{pcfiledir}' "$pkgconfigdir/sma.pc" || pc_options="--define-variable=prefix=$moved$prefix"
case $prefix in /usr) ;; *) [ -z "$pc_options" ]; check "sma.pc knows its prefix by its own place" ;; esac
if command -v pkg-config >/dev/null; then
	# as README describes it; and with unneeded libraries dropped (--as-needed), as some compilers do by default
	user $cc $flags -Wl,--as-needed hello.c $(pc sma --cflags --libs) -o pc && runs ./pc && own ./pc
	check "cc with pkg-config"
	[ "$(realpath "$(pc libpgas --variable=providerdir)")" = "$(realpath "$providerdir")" ]
	check "libpgas.pc names the provider's folder"
	case $libdir in
	"$moved$prefix/lib") # pkg-config takes the folder above lib for the prefix
		options=$(PKG_CONFIG_PATH=$pkgconfigdir pkg-config --define-prefix --cflags --libs sma)
		user $cc $flags hello.c $options -o pc && runs ./pc
		check "pkg-config --define-prefix"
		;;
	esac
	user $cc $flags hello.c $(pc sma --cflags) $(pc sma --variable=archives) -o static && runs ./static &&
		user ldd ./static && ! says 'libsma\|libpgas'
	check "the archives, with pkg-config"
	cat >direct.c <<'TEXT'
#include <pgas/pgas_counter.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_ext_pgas.h>
int main(void) { return pgas_now_ns() > 0 ? 0 : 1; }
TEXT
	user $cc $flags -Werror -DFABRIC_DIRECT -I"$(pc libpgas --variable=directdir)" direct.c \
		$(pc libpgas --cflags --libs) -o direct &&
		user ./direct && own ./direct
	check "a direct program, with pkg-config"
else
	not_run "pkg-config: it is not here"
fi

# every page exists under every name; a page of one line refers to another by its path relative to the folder above
page() { # section, name
	if command -v man >/dev/null; then
		user man -M "$pages" "$1" "$2"
	elif command -v mandoc >/dev/null; then
		(cd "$pages" && mandoc -T html "man$1/$2.$1") >"$work/out" 2>&1
	else
		cat "$pages/man$1/$2.$1" "$pages/$(sed -n 's/^\.so //p' "$pages/man$1/$2.$1")" >"$work/out"
	fi
}
page 3 shmem_int_p && says TYPENAME && page 1 oshcxx && says oshcc && page 1 shmemrun && says oshrun &&
	page 7 fi_pgas && says FI_PGAS && page 7 gasnet-pgas && says GASNet
check "manual pages"

cat >node.c <<'TEXT'
#include <gasnet.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	if (gasnet_init(&argc, &argv) != GASNET_OK || gasnet_attach(NULL, 0, GASNET_PAGESIZE, 0) != GASNET_OK)
		return 1;
	printf("hello %d\n", (int)gasnet_mynode() + 1);
	gasnet_exit(0);
}
TEXT
cat >node.mk <<TEXT
include $gasnetmakdir/pgas-seq.mak
\$(OUT): node.c
	\$(GASNET_CC) $flags \$(GASNET_CPPFLAGS) \$(GASNET_CFLAGS) \$(GASNET_LDFLAGS) -o \$@ node.c \$(GASNET_LIBS)
TEXT
for static in "" 1; do
	user make -f node.mk OUT=node$static GASNET_STATIC=$static && own ./node$static &&
		user "$bindir/gasnetrun_pgas" -n 2 ./node$static && [ "$(grep -c '^hello [12]$' "$work/out")" = 2 ]
	check "GASNet by its makefile fragment${static:+, static}, gasnetrun_pgas"
done
if command -v pkg-config >/dev/null; then
	user $cc $flags node.c $(pc gasnet-pgas-seq --cflags --libs) -o gasnet && own ./gasnet && runs ./gasnet
	check "GASNet by pkg-config"
fi
# the smp face, as an installation, and as the build folder that UPC++ takes it for
smp=$libdir/gasnet-pgas/smp
cat >face.c <<'TEXT'
#include <gasnetex.h>
#include <stdio.h>
#if !GASNET_CONDUIT_SMP || !GASNET_CONDUIT_PGAS || GASNET_RELEASE_VERSION_MAJOR < 2025
#error this is not the smp face
#endif
int main(int argc, char **argv)
{
	gex_Client_t client;
	gex_EP_t ep;
	gex_TM_t tm;
	if (gex_Client_Init(&client, &ep, &tm, "FACE", &argc, &argv, 0) != GASNET_OK)
		return 1;
	printf("hello %d\n", (int)gex_TM_QueryRank(tm) + 1);
	gasnet_exit(0);
}
TEXT
ln -s "$smp" linked # as UPC++ has it, and installs it beside itself
user make -C linked install prefix="$work/user/client" && ! user make -C linked install &&
	! make -C linked install prefix="$smp" >/dev/null 2>&1
check "a client installs the smp face where it installs itself, and nowhere else"
for mak in "$smp/include/smp-conduit" "$smp/smp-conduit" "$work/user/linked/smp-conduit" \
	"$work/user/client/include/smp-conduit"; do
	cat >face.mk <<TEXT
include $mak/smp-par.mak
face: face.c
	\$(GASNET_CC) $flags \$(GASNET_CPPFLAGS) \$(GASNET_CFLAGS) \$(GASNET_LDFLAGS) -o \$@ face.c \$(GASNET_LIBS)
TEXT
	rm -f face
	user make -f face.mk && own ./face && user env GASNET_PSHM_NODES=2 PATH="$bindir:$PATH" ./face &&
		[ "$(grep -c '^hello [12]$' "$work/out")" = 2 ] && grep -q 'GASNetConduitName: SMP' face
	check "the smp face by ${mak#"$work/"}/smp-par.mak"
done
if command -v pkg-config >/dev/null; then
	as_said=$(PKG_CONFIG_PATH=$smp/lib/pkgconfig pkg-config --cflags --libs gasnet-smp-seq)
	user $cc $flags face.c $as_said -o face && own ./face && runs ./face
	check "the smp face by pkg-config"
fi
echo '@CONDUITS@ @CC_SUBFAMILY@ @GASNET_THREAD_LIBS@' >asked.in
chmod 644 asked.in
user env CONFIG_FILES="answered:$PWD/asked.in" "$smp/config.status" && [ "$(cat answered)" = "smp NONE -lpthread" ] &&
	user make -C "$smp/smp-conduit" seq smp-seq.mak && user make -C "$smp" all clean
check "the smp face answers as a build does"

. "$src/packaging/check_lists.sh"
. "$src/packaging/check_installed.sh"

# the commands of README.md, the tutorial and the guide, with the tools of the moved installation
if [ -z "$flags" ]; then
	. "$src/tests/documents.sh"
	LIMIT=240 document_user=$other
	run_documents installed "PATH='$bindir':\$PATH; export PKG_CONFIG_PATH='$pkgconfigdir' PGAS_PC='$pc_options'
export PYTHONPATH='$pythondir'
pkg-config() { command pkg-config \$PGAS_PC \"\$@\"; }; export FI_PROVIDER_PATH='$providerdir'"
	LIMIT=60
else
	not_run "the commands of the documents: readers compile without sanitizers"
fi

if [ -x "$bindir/instr-count" ]; then
	user "$bindir/instr-count" run shmem_int_p
	rc=$?
	[ $rc = 0 ] || [ $rc = 6 ] # 6: this kernel lets nobody trace
	check "instr-count"
	if [ $rc = 0 ] && [ -x "$drivers/fi_inject_write" ]; then
		# 0 system calls: the driver's memory is mapped, without any privilege that an ordinary user lacks
		user env FI_PROVIDER_PATH="$providerdir" "$bindir/instr-count" run fi_inject_write_table &&
			says '^fi_inject_write_table  *[0-9][0-9]  *[0-9]*  *0 '
		check "instr-count counts the same for every user"
	fi
	user "$bindir/instr-count" list && says '^shmem_int_p  *built'
	check "instr-count has its drivers"
else
	not_run "instr-count: it is not built here"
fi
# the same without debugging information: a twentieth of the size, and everything works
cd "$top" || exit 99
if env -u MAKEFLAGS -u MFLAGS make install-strip DESTDIR="$work/lean" >"$work/out" 2>&1; then
	mend
	lean=$work/lean libdir=$work/lean$(installed libdir) drivers=$work/lean$(installed instrcountdriversdir)
	for file in "$libdir"/*.so "$libdir"/*.a "$lean$(installed bindir)"/*; do
		! readelf -S "$file" 2>/dev/null | grep -q '\.debug_info' || echo "$file has debugging information"
	done >"$work/out"
	ls "$libdir"/*-tools.la "$lean$(installed providerdir)"/*.la >>"$work/out" 2>/dev/null
	[ ! -s "$work/out" ]
	check "make install-strip: $(du -sm "$lean" | cut -f 1) MiB instead of $(du -sm "$moved" | cut -f 1)"
	cd "$work/user" || exit 99
	user "$lean$(cd "$top" && installed bindir)/oshcc" -static-libsma $flags hello.c -o lean && runs ./lean
	check "make install-strip: the archives"
	[ ! -d "$drivers" ] || nm "$drivers/shmem_int_p" 2>/dev/null | grep -q ' T main$'
	check "make install-strip: instr-count's drivers have their names"
	env -u MAKEFLAGS -u MFLAGS make -C "$top" uninstall DESTDIR="$lean" >/dev/null 2>&1
	find "$lean" ! -type d >"$work/out"
	[ ! -s "$work/out" ]
	check "make uninstall leaves no file"
else
	fail "make install-strip"
fi
finish
