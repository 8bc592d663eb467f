dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl configure.m4: the checks for instr-count/. configure.ac calls
dnl     m4_include([instr-count/configure.m4])
dnl     PGAS_PIN
dnl before the long checks, so that a bad kit is reported at once, and
dnl     PGAS_INSTR_COUNT
dnl after the compilers, LT_INIT and libfabric. Before the latter, configure.ac may set instr_count_direct,
dnl instr_count_shmem and instr_count_gasnet to yes if those parts are built, and the variables
dnl INSTR_COUNT_{PGAS,SHMEM,GASNET,GASNET_PAR}_LIBS and _CFLAGS to the flags that link them.

dnl --with-pin=DIR: $with_pin is the folder or no, $pin_found describes the kit; the makefile uses PIN_ROOT.
AC_DEFUN([PGAS_PIN], [
  AC_REQUIRE([AC_CANONICAL_HOST])
  AC_ARG_WITH([pin],
    [AS_HELP_STRING([--with-pin=DIR], [build the tools of 'instr-count --engine pin' with this Pin kit (x86_64)])],
    [], [with_pin=no])
  AS_IF([test "x$with_pin" = xyes], [AC_MSG_ERROR([--with-pin needs the folder of a Pin kit: --with-pin=DIR])])
  PIN_ROOT=
  pin_found=no
  AS_IF([test "x$with_pin" != xno],
    [AC_MSG_CHECKING([for a Pin kit])
     AS_CASE([$host], [x86_64-*-linux*], [],
       [AC_MSG_ERROR([--with-pin: Pin runs on x86_64 only, and this is $host; leave the option out])])
     pin_found=`sh "$srcdir/instr-count/pin/kit.sh" "$with_pin" 2>&1` || AC_MSG_ERROR([--with-pin: $pin_found])
     PIN_ROOT=`cd "$with_pin" && pwd`
     AC_MSG_RESULT([$pin_found])])
  AC_SUBST([PIN_ROOT])
])

AC_DEFUN([PGAS_INSTR_COUNT], [
  AC_REQUIRE([AC_CANONICAL_HOST])
  AC_REQUIRE([AM_PROG_AS])
  AC_REQUIRE([PGAS_PIN])
  AM_CONDITIONAL([INSTR_COUNT_PIN], [test -n "$PIN_ROOT"])

  AS_CASE([$host], [x86_64-*-linux*|aarch64-*-linux*], [instr_count_arch=yes], [instr_count_arch=no])
  AM_CONDITIONAL([INSTR_COUNT_ARCH], [test "$instr_count_arch" = yes])

  PKG_CHECK_MODULES([INSTR_COUNT_CMOCKA], [cmocka], [instr_count_unit=yes], [instr_count_unit=no])
  AM_CONDITIONAL([INSTR_COUNT_UNIT], [test "$instr_count_unit" = yes])
  AS_IF([test -n "$LIBFABRIC_LIBS"],
    [instr_count_fabric=yes
     INSTR_COUNT_FABRIC_CFLAGS=$LIBFABRIC_CFLAGS
     INSTR_COUNT_FABRIC_LIBS=$LIBFABRIC_LIBS
     AC_SUBST([INSTR_COUNT_FABRIC_CFLAGS])
     AC_SUBST([INSTR_COUNT_FABRIC_LIBS])],
    [PKG_CHECK_MODULES([INSTR_COUNT_FABRIC], [libfabric], [instr_count_fabric=yes], [instr_count_fabric=no])])
  AM_CONDITIONAL([INSTR_COUNT_FABRIC], [test "$instr_count_fabric" = yes])

  dnl The Valgrind tool, if the package has the files that tools are built from: checked by building the tool itself.
  instr_count_valgrind=no
  VALGRIND_PLATFORM=`$PKG_CONFIG --variable=platform valgrind 2>/dev/null`
  AS_CASE([$VALGRIND_PLATFORM], [amd64-linux|arm64-linux],
    [AC_MSG_CHECKING([whether a Valgrind tool can be built])
     valgrind_arch=`$PKG_CONFIG --variable=arch valgrind`
     valgrind_libs=`$PKG_CONFIG --variable=libdir valgrind`/valgrind
     VALGRIND_TOOL_CC="$CC -std=gnu11 -O2 -w -static -no-pie -fno-pie -fno-stack-protector -fno-strict-aliasing"
     VALGRIND_TOOL_CC="$VALGRIND_TOOL_CC -fno-builtin -fomit-frame-pointer -nodefaultlibs -nostartfiles -u _start"
     VALGRIND_TOOL_CC="$VALGRIND_TOOL_CC -Wl,--build-id"
     VALGRIND_TOOL_CC="$VALGRIND_TOOL_CC -Wl,-Ttext-segment=`$PKG_CONFIG --variable=valt_load_address valgrind`"
     VALGRIND_TOOL_CC="$VALGRIND_TOOL_CC -DVGO_linux=1 -DVGA_$valgrind_arch=1 -DVGP_${valgrind_arch}_linux=1"
     VALGRIND_TOOL_CC="$VALGRIND_TOOL_CC -DVGPV_${valgrind_arch}_linux_vanilla=1 `$PKG_CONFIG --cflags valgrind`"
     VALGRIND_TOOL_LIBS="-L$valgrind_libs -lcoregrind-$VALGRIND_PLATFORM -lvex-$VALGRIND_PLATFORM"
     AS_IF([test -f "$valgrind_libs/libgcc-sup-$VALGRIND_PLATFORM.a"],
       [VALGRIND_TOOL_LIBS="$VALGRIND_TOOL_LIBS -lgcc-sup-$VALGRIND_PLATFORM"])
     VALGRIND_TOOL_LIBS="$VALGRIND_TOOL_LIBS -lgcc"
     AS_IF([$VALGRIND_TOOL_CC -o conftest.vg "$srcdir/instr-count/valgrind/path_main.c" $VALGRIND_TOOL_LIBS \
       >&AS_MESSAGE_LOG_FD 2>&1],
       [instr_count_valgrind=yes])
     rm -f conftest.vg
     AC_MSG_RESULT([$instr_count_valgrind])])
  AC_SUBST([VALGRIND_PLATFORM])
  AC_SUBST([VALGRIND_TOOL_CC])
  AC_SUBST([VALGRIND_TOOL_LIBS])
  AM_CONDITIONAL([INSTR_COUNT_VALGRIND], [test "$instr_count_valgrind" = yes])

  dnl Our own oshcc may be first in the path; only Open MPI's supports --showme. Its headers are in a separate package,
  dnl so finding the wrapper is not enough.
  instr_count_ompi=no
  AC_PATH_PROGS([INSTR_COUNT_OMPI_CC], [oshcc.openmpi oshcc], [no])
  AS_IF([test "$INSTR_COUNT_OMPI_CC" != no &&
         "$INSTR_COUNT_OMPI_CC" --showme:link 2>/dev/null | grep loshmem >/dev/null],
    [INSTR_COUNT_OMPI_CFLAGS=`"$INSTR_COUNT_OMPI_CC" --showme:compile`
     INSTR_COUNT_OMPI_LIBS=`"$INSTR_COUNT_OMPI_CC" --showme:link`
     instr_count_saved_CPPFLAGS=$CPPFLAGS instr_count_saved_LIBS=$LIBS
     CPPFLAGS="$CPPFLAGS $INSTR_COUNT_OMPI_CFLAGS" LIBS="$LIBS $INSTR_COUNT_OMPI_LIBS"
     AC_MSG_CHECKING([whether Open MPI's OpenSHMEM can be linked])
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <shmem.h>]], [[shmem_init();]])], [instr_count_ompi=yes])
     AC_MSG_RESULT([$instr_count_ompi])
     CPPFLAGS=$instr_count_saved_CPPFLAGS LIBS=$instr_count_saved_LIBS])
  AC_SUBST([INSTR_COUNT_OMPI_CFLAGS])
  AC_SUBST([INSTR_COUNT_OMPI_LIBS])
  AM_CONDITIONAL([INSTR_COUNT_OMPI], [test "$instr_count_ompi" = yes])

  PKG_CHECK_MODULES([INSTR_COUNT_UCX], [ucx], [instr_count_ucx=yes], [instr_count_ucx=no])
  AM_CONDITIONAL([INSTR_COUNT_UCX], [test "$instr_count_ucx" = yes])

  AM_CONDITIONAL([INSTR_COUNT_DIRECT], [test "$instr_count_direct$instr_count_fabric" = yesyes])
  AM_CONDITIONAL([INSTR_COUNT_SHMEM], [test "$instr_count_shmem" = yes])
  AM_CONDITIONAL([INSTR_COUNT_GASNET], [test "$instr_count_gasnet" = yes])
  AC_SUBST([INSTR_COUNT_PGAS_LIBS])
  AC_SUBST([INSTR_COUNT_SHMEM_LIBS])
  AC_SUBST([INSTR_COUNT_SHMEM_CFLAGS])
  AC_SUBST([INSTR_COUNT_GASNET_LIBS])
  AC_SUBST([INSTR_COUNT_GASNET_CFLAGS])
  AC_SUBST([INSTR_COUNT_GASNET_PAR_LIBS])
  AC_SUBST([INSTR_COUNT_GASNET_PAR_CFLAGS])
])
