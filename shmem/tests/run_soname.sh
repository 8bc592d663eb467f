#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run_soname.sh: two OpenSHMEMs whose libraries are linked by -lsma, ours and a stand-in for Sandia's, whose soname is
# libsma.so.0. With LD_LIBRARY_PATH in any order, a program runs the library that it was linked with, or does not start;
# the symbols of ours have a version, and a program that asks for one that the library lacks does not start.
set -u
. "$(dirname "$0")/../../tests/harness.sh"
[ -z "$sanitized" ] || skip "the small programs of this test are built without sanitizers"
[ -e "$top/.libs/libsma.so" ] || skip "no shared library was built"
cc=${CC:-cc} ours=$work/ours soname=libsma-pgas.so.0
case $(${cc} -dumpmachine 2>/dev/null) in '') skip "no C compiler" ;; esac

# --- what is built ----------------------------------------------------------------------------------------------------

# the links that an installation has; the build folder may have some of older builds
mkdir "$ours" && ln -s "$top/.libs/libsma.so" "$top/.libs/$soname" "$top/.libs/libpgas.so.0" "$ours"
readelf -d "$ours/libsma.so" >"$work/out" && grep -q "SONAME.*\[$soname\]" "$work/out"
check "the soname is $soname"
${NM:-nm} -D --defined-only "$ours/libsma.so" | awk '$2 != "A" && $3 !~ /@@SHMEM_PGAS_[0-9]+$/' >"$work/out"
[ ! -s "$work/out" ]
check "every exported symbol has a version"

# --- two libraries, and a program of each -----------------------------------------------------------------------------

mkdir "$work/theirs" "$work/later"
cat >"$work/theirs.c" <<'TEXT'
#include <stdio.h>
void shmem_init(void) { puts("the stand-in"); }
int shmem_my_pe(void) { return 0; }
void shmem_finalize(void) {}
void shmem_info_get_name(char *name) { snprintf(name, 256, "the stand-in"); }
TEXT
cat >"$work/prog.c" <<'TEXT'
#include <stdio.h>
void shmem_init(void);
void shmem_finalize(void);
void shmem_info_get_name(char *name);
int main(void)
{
	char name[256];
	shmem_init();
	shmem_info_get_name(name);
	printf("runs %s\n", name);
	shmem_finalize();
	return 0;
}
TEXT
# shellcheck disable=SC2086  # $cc may be several words
{
	$cc -shared -fPIC -Wl,-soname,libsma.so.0 "$work/theirs.c" -o "$work/theirs/libsma.so.0" &&
		ln -s libsma.so.0 "$work/theirs/libsma.so" &&
		$cc "$work/prog.c" -L"$work/theirs" -lsma -o "$work/with-theirs" &&
		$cc "$work/prog.c" -L"$ours" -Wl,-rpath-link,"$ours" -lsma -o "$work/with-ours"
} >"$work/out" 2>&1
check "-lsma links a program with either library"

runs() { # WHO PROGRAM FOLDER...: the program, with these folders for the loader, runs that library, alone and in a job
	_who=$1 _prog=$2 _path=$(echo "$3${4:+:$4}" | sed "s|$work/||g")
	by env LD_LIBRARY_PATH="$3${4:+:$4}" "$work/$_prog"
	[ $rc -eq 0 ] && grep -qx "runs $_who" "$work/out"
	check "LD_LIBRARY_PATH=$_path: $_prog runs $_who"
	by "$oshrun" -n 2 env LD_LIBRARY_PATH="$3${4:+:$4}" "$work/$_prog"
	[ $rc -eq 0 ] && [ "$(grep -cx "runs $_who" "$work/out")" = 2 ]
	check "... and so do two PEs"
}
lacks() { # NAME PROGRAM FOLDER: the program does not start, because the loader looks for that file
	expect 127 "$1: cannot open shared object file" env LD_LIBRARY_PATH="$3" "$work/$2"
}
runs "the stand-in" with-theirs "$work/theirs" "$ours"
runs "the stand-in" with-theirs "$ours" "$work/theirs"
lacks libsma.so.0 with-theirs "$ours"
runs "PGAS OpenSHMEM" with-ours "$ours" "$work/theirs"
runs "PGAS OpenSHMEM" with-ours "$work/theirs" "$ours"
lacks "$soname" with-ours "$work/theirs"

# --- versions ---------------------------------------------------------------------------------------------------------

${NM:-nm} -D --undefined-only "$work/with-ours" >"$work/out" && grep -q ' shmem_init@SHMEM_PGAS_1$' "$work/out"
check "a program that is linked with ours asks for a version of its symbols"
# ours as it may be one day, when this version is gone: the file has the right name and all symbols
echo 'SHMEM_PGAS_99 { global: shmem_*; local: *; };' >"$work/later.map"
# shellcheck disable=SC2086
$cc -shared -fPIC -Wl,-soname,$soname -Wl,--version-script="$work/later.map" "$work/theirs.c" \
	-o "$work/later/$soname" >"$work/out" 2>&1
check "a library under our name with another version"
expect bad 'SHMEM_PGAS_1.* not found' env LD_LIBRARY_PATH="$work/later" "$work/with-ours"
finish
