dnl SPDX-License-Identifier: BSD-3-Clause
dnl PGAS_COMPILER: C11 and C++20, warnings, --enable-debug, --enable-sanitizers, --enable-werror.
AC_DEFUN([PGAS_COMPILER], [
  AC_LANG_PUSH([C++])
  saved_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -std=c++20"
  AC_MSG_CHECKING([whether $CXX compiles C++20])
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <span>
#include <vector>]], [[struct s { int a; int b; }; s x{.a = 1, .b = 2}; std::vector<int> v{1, 2};
std::erase(v, 1); return x.a - static_cast<int>(std::span(v).size());]])],
    [AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no]); AC_MSG_ERROR([a C++20 compiler is needed (gcc 11, clang 14 or newer)])])
  CXXFLAGS=$saved_CXXFLAGS
  AC_LANG_POP([C++])

  AC_ARG_ENABLE([debug],
    [AS_HELP_STRING([--enable-debug], [no optimisation, debug information, assertions @<:@no@:>@])],
    [], [enable_debug=no])
  AC_ARG_ENABLE([werror],
    [AS_HELP_STRING([--enable-werror], [warnings are errors @<:@no@:>@])], [], [enable_werror=no])
  AC_ARG_ENABLE([sanitizers],
    [AS_HELP_STRING([--enable-sanitizers=LIST], [build with sanitizers: address,undefined or thread @<:@no@:>@])],
    [], [enable_sanitizers=no])
  PGAS_WARNINGS="-Wall -Wextra"
  AS_IF([test "x$enable_werror" = xyes], [PGAS_WARNINGS="$PGAS_WARNINGS -Werror"])
  AS_CASE([$enable_sanitizers],
    [no], [SANITIZER_FLAGS=],
    [yes], [enable_sanitizers=address,undefined
      SANITIZER_FLAGS="-fsanitize=address,undefined -fno-omit-frame-pointer"],
    [SANITIZER_FLAGS="-fsanitize=$enable_sanitizers -fno-omit-frame-pointer"])
  dnl a program may put unaligned words; the tests of the provider check the addresses that it stores to
  AS_CASE([$enable_sanitizers],
    [*undefined*], [SANITIZER_FLAGS="$SANITIZER_FLAGS -fno-sanitize=alignment -fno-sanitize-recover=undefined"])
  dnl a double that does not fit into an integer is undefined as well, but "undefined" does not check for it
  AS_CASE([$enable_sanitizers], [*undefined*], [
    AC_MSG_CHECKING([whether $CXX knows -fsanitize=float-cast-overflow])
    AC_LANG_PUSH([C++])
    saved_CXXFLAGS=$CXXFLAGS
    CXXFLAGS="$CXXFLAGS -Werror -fsanitize=float-cast-overflow -fno-sanitize-recover=float-cast-overflow"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
      [SANITIZER_FLAGS="$SANITIZER_FLAGS -fsanitize=float-cast-overflow -fno-sanitize-recover=float-cast-overflow"
       AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    CXXFLAGS=$saved_CXXFLAGS
    AC_LANG_POP([C++])])
  AS_IF([test "x$enable_debug" = xyes], [DEBUG_FLAGS="-O0 -g3 -DPGAS_DEBUG=1"], [DEBUG_FLAGS="-DNDEBUG"])
  dnl gcc folds equal functions into jumps to one another; clang does not, and does not support the flag
  AC_MSG_CHECKING([whether $CXX knows -fno-ipa-icf])
  AC_LANG_PUSH([C++])
  saved_CXXFLAGS=$CXXFLAGS
  CXXFLAGS="$CXXFLAGS -Werror -fno-ipa-icf"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
    [NO_IPA_ICF=-fno-ipa-icf; AC_MSG_RESULT([yes])], [NO_IPA_ICF=; AC_MSG_RESULT([no])])
  CXXFLAGS=$saved_CXXFLAGS
  AC_LANG_POP([C++])
  AC_SUBST([NO_IPA_ICF])
  AC_SUBST([PGAS_WARNINGS])
  AC_SUBST([SANITIZER_FLAGS])
  AC_SUBST([DEBUG_FLAGS])
  AM_CONDITIONAL([WITH_SANITIZERS], [test "x$enable_sanitizers" != xno])
])
