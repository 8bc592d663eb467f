dnl SPDX-License-Identifier: BSD-3-Clause
dnl PGAS_FORTRAN: a compiler for the module shmem. Without one, only the module's source is installed. Not AC_PROG_FC:
dnl libtool would add a third language for a single archive.
AC_DEFUN([PGAS_FORTRAN], [
  AC_ARG_ENABLE([fortran], [AS_HELP_STRING([--disable-fortran], [do not compile the Fortran module shmem])], [],
    [enable_fortran=auto])
  AC_ARG_VAR([FC], [Fortran compiler])
  AC_ARG_VAR([FCFLAGS], [Fortran compiler flags])
  AS_IF([test "x$enable_fortran" = xno], [FC=],
    [test "x$cross_compiling" = xyes], [AC_CHECK_PROGS([FC], [$host_alias-gfortran])],
    [AC_CHECK_PROGS([FC], [gfortran])])
  test "${FCFLAGS+set}" || FCFLAGS=-O2
  have_fortran=no
  AS_IF([test "x$FC" != x], [
    AC_MSG_CHECKING([whether $FC compiles Fortran 2018 for C])
    rm -rf conftest.dir && mkdir conftest.dir
    cat > conftest.dir/try.f90 <<PGAS_END
module try
  use, intrinsic :: iso_c_binding
  implicit none
contains
  function address(any_rank) result(answer)
    real(c_double), dimension(..), target, intent(in) :: any_rank
    type(c_ptr) :: answer
    answer = c_null_ptr
    if (is_contiguous(any_rank)) answer = c_loc(any_rank)
  end function address
end module try
PGAS_END
    AS_IF([(cd conftest.dir && $FC $FCFLAGS -std=f2018 -fPIC -c try.f90) >&AS_MESSAGE_LOG_FD 2>&1], [have_fortran=yes])
    rm -rf conftest.dir
    AC_MSG_RESULT([$have_fortran])])
  AS_IF([test "x$enable_fortran" = xyes && test $have_fortran = no],
    [AC_MSG_ERROR([--enable-fortran: no gfortran that knows Fortran 2018 (8 or newer); name one by FC=])])
  AM_CONDITIONAL([HAVE_FORTRAN], [test $have_fortran = yes])
  fortran_shown=$have_fortran
  AS_IF([test $have_fortran = yes], [fortran_shown="$FC, module shmem"])
])
