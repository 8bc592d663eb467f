dnl SPDX-License-Identifier: BSD-3-Clause
dnl
dnl PGAS_VERBS: the port for RDMA adapters, if rdma-core's headers are found. Its libraries are opened at run time, so
dnl nothing is linked against them and the same binaries run on machines without them. Sets have_verbs, VERBS_CFLAGS and
dnl the conditional HAVE_VERBS.

AC_DEFUN([PGAS_VERBS], [
  AC_ARG_WITH([verbs], [AS_HELP_STRING([--with-verbs@<:@=DIR@:>@],
    [drive RDMA adapters by rdma-core, headers under DIR (default: if found)])], [], [with_verbs=check])
  VERBS_CFLAGS=
  have_verbs=no
  AS_CASE([$with_verbs], [no|yes|check], [], [VERBS_CFLAGS="-I$with_verbs/include"])
  AS_IF([test "x$with_verbs" != xno], [
    pgas_verbs_save_cppflags=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $VERBS_CFLAGS"
    AC_CHECK_HEADERS([infiniband/verbs.h rdma/rdma_cma.h], [have_verbs=yes], [have_verbs=no; break])
    CPPFLAGS=$pgas_verbs_save_cppflags
    AS_IF([test "x$have_verbs" = xno && test "x$with_verbs" != xcheck],
      [AC_MSG_ERROR([--with-verbs: infiniband/verbs.h and rdma/rdma_cma.h are needed, as in Debian's libibverbs-dev
and librdmacm-dev])])
  ])
  AC_SUBST([VERBS_CFLAGS])
  AM_CONDITIONAL([HAVE_VERBS], [test "x$have_verbs" = xyes])
])
