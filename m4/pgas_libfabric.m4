dnl SPDX-License-Identifier: BSD-3-Clause
dnl PGAS_LIBFABRIC: headers and library, and the folder in which that libfabric searches for external providers. Call it
dnl after PGAS_PATHS.
AC_DEFUN([PGAS_LIBFABRIC], [
  AC_ARG_WITH([libfabric],
    [AS_HELP_STRING([--with-libfabric=DIR], [libfabric's install prefix @<:@pkg-config@:>@])], [], [with_libfabric=yes])
  AC_ARG_WITH([providerdir],
    [AS_HELP_STRING([--with-providerdir=DIR], [where libpgas-fi.so goes @<:@LIBDIR/libfabric@:>@])],
    [], [with_providerdir=])
  AS_IF([test "x$with_libfabric" != xyes], [
    AS_IF([test -d "$with_libfabric/lib/pkgconfig"],
      [PKG_CONFIG_PATH="$with_libfabric/lib/pkgconfig:$PKG_CONFIG_PATH"],
      [PKG_CONFIG_PATH="$with_libfabric/lib64/pkgconfig:$PKG_CONFIG_PATH"])
    export PKG_CONFIG_PATH
    LIBFABRIC_WHERE=$with_libfabric
  ], [LIBFABRIC_WHERE=pkg-config])
  PKG_CHECK_MODULES([LIBFABRIC], [libfabric >= 1.17], [],
    [AC_MSG_ERROR(m4_normalize([libfabric 1.17 or newer is needed: install libfabric-dev (Debian, Ubuntu),
      libfabric-devel (Fedora, SUSE), or give --with-libfabric=DIR]))])
  LIBFABRIC_VERSION=`$PKG_CONFIG --modversion libfabric`
  LIBFABRIC_LIBDIR=`$PKG_CONFIG --variable=libdir libfabric`
  saved_CPPFLAGS=$CPPFLAGS
  CPPFLAGS="$CPPFLAGS $LIBFABRIC_CFLAGS"
  AC_CHECK_HEADERS([rdma/providers/fi_prov.h], [],
    [AC_MSG_ERROR([rdma/providers/fi_prov.h is missing: this libfabric was installed without its provider headers])],
    [#include <rdma/fabric.h>])
  CPPFLAGS=$saved_CPPFLAGS
  dnl libfabric searches <its libdir>/libfabric; if the provider goes elsewhere, make install prints how to point it
  dnl there
  AS_IF([test -n "$with_providerdir"], [providerdir=$with_providerdir], [providerdir='${libdir}/libfabric'])
  AC_SUBST([providerdir])
  AC_SUBST([LIBFABRIC_LIBDIR])
  AC_SUBST([LIBFABRIC_VERSION])
  providerdir_shown=`pgas_full "$providerdir"`
  PC_PROVIDERDIR=`pgas_below "$providerdir" '${prefix}'`
  CMAKE_PROVIDERDIR=`pgas_below "$providerdir" '${_pgas_prefix}'`
  MODULE_PROVIDERDIR=`pgas_below "$providerdir" '$prefix'`
  LIBFABRIC_INCLUDEDIR=`$PKG_CONFIG --variable=includedir libfabric`
  AC_SUBST([PC_PROVIDERDIR])
  AC_SUBST([CMAKE_PROVIDERDIR])
  AC_SUBST([MODULE_PROVIDERDIR])
  AC_SUBST([LIBFABRIC_INCLUDEDIR])
  LIB_FROM_PROVIDER=`pgas_way "$providerdir_shown" "$pgas_libdir"`
  AC_SUBST([LIB_FROM_PROVIDER])
  dnl --with-libfabric: libpgas.so must find it at run time as well
  AS_IF([test "x$with_libfabric" != xyes], [LIBFABRIC_RUNPATH="-Wl,-rpath,$LIBFABRIC_LIBDIR"])
  AC_SUBST([LIBFABRIC_RUNPATH])
  AS_IF([test "x$providerdir_shown" = "x$LIBFABRIC_LIBDIR/libfabric"],
    [provider_found="by itself"], [provider_found="with FI_PROVIDER_PATH=$providerdir_shown"])
])
