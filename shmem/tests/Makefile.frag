# SPDX-License-Identifier: BSD-3-Clause
#
# Makefile.frag: how shmem/include, shmem/src/shmem_{heap,env}*, shmem/bin and shmem/tests hang in the one Makefile.am.
# Written to be included (or copied into shmem/Makefile.include) after the lists that it adds to have been set:
# EXTRA_DIST, CLEANFILES, BUILT_SOURCES, include_HEADERS, bin_PROGRAMS, bin_SCRIPTS, check_PROGRAMS, check_LTLIBRARIES,
# dist_check_SCRIPTS, TESTS, AM_TESTS_ENVIRONMENT.
# Needs from configure.ac: AC_CONFIG_FILES([shmem/bin/oshcc], [chmod +x shmem/bin/oshcc]), AC_PROG_AWK, LT_INIT,
# AM_INIT_AUTOMAKE([subdir-objects foreign]), PKG_CHECK_MODULES([CMOCKA], [cmocka]), AM_CONDITIONAL([HAVE_CMOCKA], ...).

# ---- headers ---------------------------------------------------------------------------------------------------------
include_HEADERS += shmem/include/shmem.h shmem/include/shmemx.h shmem/include/pshmem.h shmem/include/shmem_types.h \
	shmem/include/shmem_calls.h shmem/include/shmem_proto.h shmem/include/shmem_c11.h shmem/include/shmem_cxx.h \
	shmem/include/shmem_face.h shmem/include/shmem_inline.h
mppincludedir = $(includedir)/mpp
mppinclude_HEADERS = shmem/include/mpp/shmem.h shmem/include/mpp/shmemx.h shmem/include/mpp/pshmem.h

# ---- sources that need no provider; libsma takes them too ----------------------------------------------------------
shmem_heap_sources = shmem/src/shmem_heap.cpp shmem/src/shmem_heap_bins.cpp shmem/src/shmem_heap_check.cpp \
	shmem/src/shmem_heap.hpp
shmem_env_sources = shmem/src/shmem_env.cpp shmem/src/shmem_env.hpp shmem/src/shmem_env.def

# ---- programs and scripts --------------------------------------------------------------------------------------------
bin_PROGRAMS += shmem-info
shmem_info_SOURCES = shmem/bin/shmem_info.cpp $(shmem_env_sources)
shmem_info_CPPFLAGS = -I$(top_srcdir)/shmem/include -I$(top_srcdir)/shmem/src
bin_SCRIPTS += shmem/bin/oshcc
# call these from install-exec-hook and uninstall-hook
shmem-install-links:
	cd $(DESTDIR)$(bindir) && for n in oshc++ oshCC oshcxx; do rm -f $$n && $(LN_S) oshcc $$n; done
shmem-uninstall-links:
	cd $(DESTDIR)$(bindir) && rm -f oshc++ oshCC oshcxx

# ---- tests made from the list of names -------------------------------------------------------------------------------
shmem_api_list = $(top_srcdir)/shmem/tests/data/openshmem_api.txt
EXTRA_DIST += shmem/tests/data/openshmem_api.txt shmem/tests/gen_api_test.awk shmem/tests/gen_stub.awk \
	shmem/tests/gen_generic_test.awk shmem/tests/test_generic.h shmem/tests/test_shmem_headers.c \
	shmem/tests/Makefile.frag
shmem_generated = shmem/tests/api_test.c shmem/tests/stub.c shmem/tests/generic_test.c shmem/tests/generic_test_cxx.cpp
CLEANFILES += $(shmem_generated)
shmem/tests/api_test.c: shmem/tests/gen_api_test.awk $(shmem_api_list)
	$(AM_V_GEN)$(MKDIR_P) shmem/tests && $(AWK) -f $(top_srcdir)/shmem/tests/gen_api_test.awk $(shmem_api_list) > $@.tmp && mv $@.tmp $@
shmem/tests/stub.c: shmem/tests/gen_stub.awk $(shmem_api_list)
	$(AM_V_GEN)$(MKDIR_P) shmem/tests && $(AWK) -f $(top_srcdir)/shmem/tests/gen_stub.awk $(shmem_api_list) > $@.tmp && mv $@.tmp $@
shmem/tests/generic_test.c: shmem/tests/gen_generic_test.awk $(shmem_api_list)
	$(AM_V_GEN)$(MKDIR_P) shmem/tests && $(AWK) -f $(top_srcdir)/shmem/tests/gen_generic_test.awk $(shmem_api_list) > $@.tmp && mv $@.tmp $@
shmem/tests/generic_test_cxx.cpp: shmem/tests/generic_test.c
	$(AM_V_GEN)cp shmem/tests/generic_test.c $@

# the stub: every name, no function; a static convenience library
check_LTLIBRARIES += shmem/tests/libstub.la
nodist_shmem_tests_libstub_la_SOURCES = shmem/tests/stub.c
shmem_tests_libstub_la_CPPFLAGS = -I$(top_srcdir)/shmem/include
shmem_tests_libstub_la_CFLAGS = $(AM_CFLAGS) -Wno-unused-parameter

# names and types: against the stub (always), and against libsma: add test_shmem_api_libsma with
# LDADD = libsma.la and the same source
check_PROGRAMS += test_shmem_api test_shmem_generic_c11 test_shmem_generic_cxx
nodist_test_shmem_api_SOURCES = shmem/tests/api_test.c
test_shmem_api_CPPFLAGS = -I$(top_srcdir)/shmem/include
test_shmem_api_LDADD = shmem/tests/libstub.la
nodist_test_shmem_generic_c11_SOURCES = shmem/tests/generic_test.c
test_shmem_generic_c11_CPPFLAGS = -I$(top_srcdir)/shmem/include -I$(top_srcdir)/shmem/tests
test_shmem_generic_c11_CFLAGS = $(AM_CFLAGS) -std=c11
test_shmem_generic_c11_LDADD = shmem/tests/libstub.la
nodist_test_shmem_generic_cxx_SOURCES = shmem/tests/generic_test_cxx.cpp
test_shmem_generic_cxx_CPPFLAGS = -I$(top_srcdir)/shmem/include -I$(top_srcdir)/shmem/tests
test_shmem_generic_cxx_LDADD = shmem/tests/libstub.la

if HAVE_CMOCKA
check_PROGRAMS += test_shmem_heap test_shmem_env
test_shmem_heap_SOURCES = shmem/tests/test_shmem_heap.cpp $(shmem_heap_sources)
test_shmem_heap_CPPFLAGS = -I$(top_srcdir)/shmem/src $(CMOCKA_CFLAGS)
test_shmem_heap_LDADD = $(CMOCKA_LIBS)
test_shmem_env_SOURCES = shmem/tests/test_shmem_env.cpp $(shmem_env_sources)
test_shmem_env_CPPFLAGS = -I$(top_srcdir)/shmem/src $(CMOCKA_CFLAGS)
test_shmem_env_LDADD = $(CMOCKA_LIBS)
TESTS += test_shmem_heap test_shmem_env
endif

# scripts; libsma must export nothing but the list, shmemx_* and shmem_impl_* (check_exports.sh)
dist_check_SCRIPTS += shmem/tests/check_declares.sh shmem/tests/check_rejects.sh shmem/tests/check_exports.sh \
	shmem/tests/test_shmem_headers.sh shmem/tests/test_oshcc.sh shmem/tests/test_shmem_info.sh
TESTS += test_shmem_api test_shmem_generic_c11 test_shmem_generic_cxx shmem/tests/check_declares.sh \
	shmem/tests/check_exports.sh \
	shmem/tests/check_rejects.sh shmem/tests/test_shmem_headers.sh shmem/tests/test_oshcc.sh \
	shmem/tests/test_shmem_info.sh
AM_TESTS_ENVIRONMENT += \
	CC='$(CC)'; export CC; CXX='$(CXX)'; export CXX; NM='$(NM)'; export NM; \
	PGAS_TEST_INCLUDE='$(abs_top_srcdir)/shmem/include'; export PGAS_TEST_INCLUDE; \
	PGAS_TEST_API='$(abs_top_srcdir)/shmem/tests/data/openshmem_api.txt'; export PGAS_TEST_API; \
	PGAS_TEST_OSHCC='$(abs_top_builddir)/shmem/bin/oshcc'; export PGAS_TEST_OSHCC; \
	PGAS_TEST_INFO='$(abs_top_builddir)/shmem-info'; export PGAS_TEST_INFO; \
	PGAS_TEST_LIBSMA='$(abs_top_builddir)/.libs/libsma.so'; export PGAS_TEST_LIBSMA;
