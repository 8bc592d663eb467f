dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl configure.m4: the checks for the bootstrap library and oshrun. Only headers are needed: libpmix, libpmi2 and hwloc
dnl are opened at run time, so nothing is linked against them and the same binaries run on machines without them.
dnl
dnl PGAS_BOOT_CONFIG sets the macros HAVE_PMIX, HAVE_PMI2, HAVE_HWLOC, and, if a directory was given,
dnl PGAS_{PMIX,PMI2,HWLOC}_SONAME; the variables PMIX_CFLAGS, PMI2_CFLAGS, HWLOC_CFLAGS, DLOPEN_LIBS. The tests use
dnl HAVE_CMOCKA of configure.ac.

AC_DEFUN([PGAS_BOOT_CONFIG], [
  AC_REQUIRE([PKG_PROG_PKG_CONFIG])

  AC_ARG_WITH([pmix], [AS_HELP_STRING([--with-pmix@<:@=DIR@:>@],
    [PMIx client and server, 4.0 or newer, headers under DIR (default: if found)])], [], [with_pmix=check])
  AC_ARG_WITH([pmi2], [AS_HELP_STRING([--with-pmi2@<:@=DIR@:>@],
    [PMI-2 client by libpmi2, headers under DIR (default: if found); PMI by socket is always there])],
    [], [with_pmi2=check])
  AC_ARG_WITH([hwloc], [AS_HELP_STRING([--with-hwloc@<:@=DIR@:>@],
    [oshrun asks hwloc for cores, headers under DIR (default: if found)])], [], [with_hwloc=check])

  _PGAS_BOOT_HEADER([PMIX], [pmix], [pmix >= 4.0], [pmix_server.h], [libpmix.so.2])
  _PGAS_BOOT_HEADER([HWLOC], [hwloc], [hwloc >= 2.0], [hwloc.h], [libhwloc.so.15])

  dnl libpmi2 has no pkg-config file; its header is slurm/pmi2.h with Slurm and pmi2.h elsewhere
  PMI2_CFLAGS=
  have_pmi2=no
  AS_CASE([$with_pmi2], [no|yes|check], [], [PMI2_CFLAGS="-I$with_pmi2/include"])
  AS_IF([test "x$with_pmi2" != xno], [
    pgas_boot_save_cppflags=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $PMI2_CFLAGS"
    AC_CHECK_HEADERS([slurm/pmi2.h pmi2.h], [have_pmi2=yes; break])
    CPPFLAGS=$pgas_boot_save_cppflags
    AS_IF([test "x$have_pmi2" = xyes], [AC_DEFINE([HAVE_PMI2], [1], [Define to 1 to be a PMI-2 client by libpmi2.])
      _PGAS_BOOT_SONAME([PMI2], [$with_pmi2], [libpmi2.so.0])],
      [test "x$with_pmi2" != xcheck], [AC_MSG_ERROR([--with-pmi2: neither slurm/pmi2.h nor pmi2.h found])])
  ])
  AC_SUBST([PMI2_CFLAGS])

  pgas_boot_save_libs=$LIBS
  AC_SEARCH_LIBS([dlopen], [dl])
  LIBS=$pgas_boot_save_libs
  AS_CASE([$ac_cv_search_dlopen], [-l*], [DLOPEN_LIBS=$ac_cv_search_dlopen], [DLOPEN_LIBS=])
  AC_SUBST([DLOPEN_LIBS])
])

dnl _PGAS_BOOT_HEADER(NAME, name, pkg-config module, header, soname): sets NAME_CFLAGS, defines HAVE_NAME
AC_DEFUN([_PGAS_BOOT_HEADER], [
  have_$2=no
  AS_CASE([$with_$2],
    [no], [],
    [yes|check], [PKG_CHECK_MODULES([$1], [$3], [have_$2=yes], [have_$2=no])],
    [$1_CFLAGS="-I$with_$2/include"
     have_$2=yes])
  AS_IF([test "x$have_$2" = xyes], [
    pgas_boot_save_cppflags=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $$1_CFLAGS"
    AC_CHECK_HEADER([$4], [], [have_$2=no])
    CPPFLAGS=$pgas_boot_save_cppflags
  ])
  AS_IF([test "x$have_$2" = xyes], [
      AC_DEFINE([HAVE_$1], [1], [Define to 1 if $4 is there; the library is opened at run time.])
      _PGAS_BOOT_SONAME([$1], [$with_$2], [$5])],
    [test "x$with_$2" != xcheck && test "x$with_$2" != xno], [AC_MSG_ERROR([--with-$2: $4 ($3) not found])],
    [$1_CFLAGS=])
  AC_SUBST([$1_CFLAGS])
])

dnl _PGAS_BOOT_SONAME(NAME, directory or yes/check, soname): a library in a user-given directory is opened by its path
AC_DEFUN([_PGAS_BOOT_SONAME], [
  AS_CASE([$2], [yes|check], [], [
    for pgas_boot_lib in lib lib64; do
      AS_IF([test -e "$2/$pgas_boot_lib/$3"],
        [AC_DEFINE_UNQUOTED([PGAS_$1_SONAME], ["$2/$pgas_boot_lib/$3"], [What to open instead of $3.])
         break])
    done])
])
