dnl SPDX-License-Identifier: BSD-3-Clause
dnl PGAS_PATHS: where installed files find one another. An installation may be moved as a whole, and the default prefix
dnl is not in any loader's cache, so libraries and programs contain the path to the libraries relative to themselves
dnl ($ORIGIN), then the full path. Defines functions for the rest of configure:
dnl   pgas_full VALUE        a folder of configure, with all variables expanded
dnl   pgas_way FROM TO       the relative path between two folders given in full
dnl   pgas_below VALUE NAME  a folder, with a leading prefix replaced by NAME
AC_DEFUN([PGAS_PATHS], [
  pgas_full() {
    ( test "x$prefix" != xNONE || prefix=$ac_default_prefix
      test "x$exec_prefix" != xNONE || exec_prefix=$prefix
      pgas_value=[$]1
      while :; do
        case $pgas_value in
        *'$'*) eval "pgas_value=\"$pgas_value\"" ;;
        *) break ;;
        esac
      done
      printf '%s\n' "$pgas_value" )
  }
  pgas_way() {
    ( pgas_from=${1%/}/ pgas_to=${2%/}/ pgas_up=
      while :; do
        case $pgas_to in "$pgas_from"*) break ;; esac
        pgas_from=${pgas_from%/*/}/ pgas_up=$pgas_up../
      done
      pgas_found=$pgas_up${pgas_to#"$pgas_from"}
      printf '%s\n' "${pgas_found:-.}" | $SED 's|/$||' )
  }
  pgas_libdir=`pgas_full "$libdir"`
  pgas_bindir=`pgas_full "$bindir"`
  LIBEXEC_FROM_BIN=`pgas_full "$libexecdir/$PACKAGE"`
  LIB_FROM_DRIVERS=`pgas_way "$LIBEXEC_FROM_BIN/instr-count/drivers" "$pgas_libdir"`
  LIBEXEC_FROM_BIN=`pgas_way "$pgas_bindir" "$LIBEXEC_FROM_BIN"`
  LIB_FROM_BIN=`pgas_way "$pgas_bindir" "$pgas_libdir"`
  DATA_FROM_BIN=`pgas_full "$datadir/$PACKAGE"`
  DATA_FROM_BIN=`pgas_way "$pgas_bindir" "$DATA_FROM_BIN"`
  AC_SUBST([LIB_FROM_BIN])
  AC_SUBST([LIB_FROM_DRIVERS])
  AC_SUBST([LIBEXEC_FROM_BIN])
  AC_SUBST([DATA_FROM_BIN])

  dnl Folders that every loader searches need no entry. /usr/local/lib is not one of them: even where it is configured,
  dnl it takes effect only after ldconfig.
  pgas_multiarch=`$CC -print-multiarch 2>/dev/null`
  AS_CASE([$pgas_libdir],
    [/lib|/lib64|/usr/lib|/usr/lib64|"/lib/${pgas_multiarch:-none}"|"/usr/lib/${pgas_multiarch:-none}"],
      [LIBDIR_RUNPATH= PC_RUNPATH=],
      [LIBDIR_RUNPATH='-Wl,-rpath,$(libdir)' PC_RUNPATH='-Wl,-rpath,${libdir}'])
  AC_SUBST([LIBDIR_RUNPATH])
  AC_SUBST([PC_RUNPATH])

  dnl pkg-config files derive the prefix from their own location and the rest from the prefix. Not in the system's
  dnl library folders: these are never moved, and compilers recognise such folders only by their plain names.
  pgas_prefix=`pgas_full '${prefix}'`
  PC_PREFIX=$pgas_prefix
  AS_CASE([${LIBDIR_RUNPATH:+$pgas_libdir}],
    ["$pgas_prefix"/*], [PC_PREFIX='${pcfiledir}/'`pgas_way "$pgas_libdir/pkgconfig" "$pgas_prefix"`])
  pgas_below() {
    ( pgas_value=`pgas_full "[$]1"`
      case $pgas_value in
      "$pgas_prefix"/*) printf '%s/%s\n' "[$]2" "${pgas_value#"$pgas_prefix"/}" ;;
      *) printf '%s\n' "$pgas_value" ;;
      esac )
  }
  PC_LIBDIR=`pgas_below "$libdir" '${prefix}'`
  PC_INCLUDEDIR=`pgas_below "$includedir" '${prefix}'`
  AC_SUBST([PC_PREFIX])
  AC_SUBST([PC_LIBDIR])
  AC_SUBST([PC_INCLUDEDIR])

  dnl The same for CMake and for modulefiles, each in its own syntax.
  PREFIX_FROM_CMAKE=`pgas_way "$pgas_libdir/cmake/PGAS" "$pgas_prefix"`
  CMAKE_LIBDIR=`pgas_below "$libdir" '${_pgas_prefix}'`
  CMAKE_BINDIR=`pgas_below "$bindir" '${_pgas_prefix}'`
  CMAKE_INCLUDEDIR=`pgas_below "$includedir" '${_pgas_prefix}'`
  AC_SUBST([PREFIX_FROM_CMAKE])
  AC_SUBST([CMAKE_LIBDIR])
  AC_SUBST([CMAKE_BINDIR])
  AC_SUBST([CMAKE_INCLUDEDIR])
  PREFIX_FROM_MODULE=`pgas_full "$datadir/$PACKAGE/modulefiles/pgas"`
  PREFIX_FROM_MODULE=`pgas_way "$PREFIX_FROM_MODULE" "$pgas_prefix"`
  MODULE_LIBDIR=`pgas_below "$libdir" '$prefix'`
  MODULE_BINDIR=`pgas_below "$bindir" '$prefix'`
  MODULE_MANDIR=`pgas_below "$mandir" '$prefix'`
  AC_SUBST([PREFIX_FROM_MODULE])
  AC_SUBST([MODULE_LIBDIR])
  AC_SUBST([MODULE_BINDIR])
  AC_SUBST([MODULE_MANDIR])

  dnl The Python package, and where it finds libraries and programs.
  AC_ARG_WITH([pythondir],
    [AS_HELP_STRING([--with-pythondir=DIR], [where the Python package pgas goes @<:@LIBDIR/pgas/python@:>@])],
    [], [with_pythondir=])
  AS_IF([test -n "$with_pythondir" && test "x$with_pythondir" != xno && test "x$with_pythondir" != xyes],
    [pythondir=$with_pythondir], [pythondir='${libdir}/pgas/python'])
  AC_SUBST([pythondir])
  pgas_pythondir=`pgas_full "$pythondir"`
  LIB_FROM_PYTHON=`pgas_way "$pgas_pythondir/pgas" "$pgas_libdir"`
  BIN_FROM_PYTHON=`pgas_way "$pgas_pythondir/pgas" "$pgas_bindir"`
  MODULE_PYTHONDIR=`pgas_below "$pythondir" '$prefix'`
  AC_SUBST([LIB_FROM_PYTHON])
  AC_SUBST([BIN_FROM_PYTHON])
  AC_SUBST([MODULE_PYTHONDIR])

  dnl libtool would put the full path first, so that a copied installation would load the original's libraries
  hardcode_into_libs=no
])
