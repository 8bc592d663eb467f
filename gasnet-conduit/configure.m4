dnl SPDX-License-Identifier: BSD-3-Clause
dnl PGAS_GASNET_CONFIG: files that contain the installation's paths. Makes other than ours read the makefile fragments,
dnl which therefore need full paths.
AC_DEFUN([PGAS_GASNET_CONFIG], [
  gasnet_prefix=`pgas_full '${prefix}'`
  gasnet_includedir=`pgas_full "$includedir"`
  gasnet_libdir=`pgas_full "$libdir"`
  PREFIX_FROM_MAK=`pgas_way "$gasnet_includedir/gasnet-pgas/pgas-conduit" "$gasnet_prefix"`
  AC_SUBST([PREFIX_FROM_MAK])
  PREFIX_FROM_SMP=`pgas_way "$gasnet_libdir/gasnet-pgas/smp" "$gasnet_prefix"`
  AC_SUBST([PREFIX_FROM_SMP])
  GASNET_INCLUDE_BELOW=`pgas_way "$gasnet_prefix" "$gasnet_includedir"`
  AC_SUBST([GASNET_INCLUDE_BELOW])
  GASNET_LIB_BELOW=`pgas_way "$gasnet_prefix" "$gasnet_libdir"`
  AC_SUBST([GASNET_LIB_BELOW])
  AC_SUBST([gasnet_includedir])
  AC_SUBST([gasnet_libdir])
  AC_CONFIG_FILES([gasnet-conduit/pgas-conduit/pgas-seq.mak gasnet-conduit/pgas-conduit/pgas-par.mak
    gasnet-conduit/pgas-conduit/pgas-parsync.mak gasnet-conduit/pgas-conduit/gasnet-pgas-seq.pc
    gasnet-conduit/pgas-conduit/gasnet-pgas-par.pc gasnet-conduit/pgas-conduit/gasnet-pgas-parsync.pc])
  AC_CONFIG_FILES([gasnet-conduit/bin/gasnetrun_pgas], [chmod +x gasnet-conduit/bin/gasnetrun_pgas])
])
