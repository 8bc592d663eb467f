/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of compiler, system and machine that programs written to GASNet's tools use. Part of gasnet_tools.h. */
#ifndef GASNET_PGAS_PLATFORM_H
#define GASNET_PGAS_PLATFORM_H

#define PLATFORM_OS_LINUX 1
#define PLATFORM_OS_FAMILYNAME LINUX
#define PLATFORM_ARCH_64 1
#define _PLATFORM_ARCH_64 1
#if defined(__x86_64__)
#define PLATFORM_ARCH_X86_64 1
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#define GASNETI_MACHINE "x86_64"
#elif defined(__aarch64__)
#define PLATFORM_ARCH_AARCH64 1
#define PLATFORM_ARCH_LITTLE_ENDIAN 1
#define GASNETI_MACHINE "aarch64"
#else
#define GASNETI_MACHINE "unknown"
#endif
#if defined(__clang__)
#define PLATFORM_COMPILER_CLANG 1
#define PLATFORM_COMPILER_FAMILYNAME CLANG
#define PLATFORM_COMPILER_FAMILYID 19
#else
#define PLATFORM_COMPILER_GNU 1
#define PLATFORM_COMPILER_FAMILYNAME GNU
#define PLATFORM_COMPILER_FAMILYID 1
#endif
#if defined(__cplusplus)
#define PLATFORM_COMPILER_CXX_LANGLVL __cplusplus
#else
#define PLATFORM_COMPILER_C_LANGLVL __STDC_VERSION__
#endif
#define PLATFORM_COMPILER_VERSION_STR __VERSION__
#define PLATFORM_COMPILER_IDSTR __VERSION__
#define GASNETT_PLATFORM_COMPILER_IDSTR PLATFORM_COMPILER_IDSTR
#define GASNETT_PLATFORM_COMPILER_FAMILYID PLATFORM_COMPILER_FAMILYID
#define GASNETT_PLATFORM_COMPILER_ID PLATFORM_COMPILER_FAMILYID
#define GASNETT_PLATFORM_COMPILER_VERSION (__GNUC__ * 10000 + __GNUC_MINOR__ * 100)
#define PLATFORM_COMPILER_VERSION_GT(a_arg, b_arg, c_arg)                                                              \
	((__GNUC__ * 10000 + __GNUC_MINOR__ * 100) > ((a_arg)*10000 + (b_arg)*100))
#define PLATFORM_COMPILER_VERSION_GE(a_arg, b_arg, c_arg)                                                              \
	((__GNUC__ * 10000 + __GNUC_MINOR__ * 100) >= ((a_arg)*10000 + (b_arg)*100))
#define PLATFORM_COMPILER_VERSION_LT(a_arg, b_arg, c_arg) (!PLATFORM_COMPILER_VERSION_GE(a_arg, b_arg, c_arg))

#ifndef HAVE_PTHREAD_H
#define HAVE_PTHREAD_H 1
#endif

#define GASNETT_CONCAT_(a_arg, b_arg) a_arg##b_arg
#define GASNETT_CONCAT(a_arg, b_arg) GASNETT_CONCAT_(a_arg, b_arg)
#ifndef _CONCAT
#define _CONCAT(a_arg, b_arg) GASNETT_CONCAT(a_arg, b_arg)
#endif
#define GASNETT_STRINGIFY_(a_arg) #a_arg
#define GASNETT_STRINGIFY(a_arg) GASNETT_STRINGIFY_(a_arg)
#ifndef _STRINGIFY
#define _STRINGIFY(a_arg) GASNETT_STRINGIFY(a_arg)
#endif

#define GASNETT_PREDICT_TRUE(x_arg) __builtin_expect(!!(x_arg), 1)
#define GASNETT_PREDICT_FALSE(x_arg) __builtin_expect(!!(x_arg), 0)
#ifndef if_pf
#define if_pf(x_arg) if (__builtin_expect(!!(x_arg), 0))
#define if_pt(x_arg) if (__builtin_expect(!!(x_arg), 1))
#endif

#define GASNETT_INLINE(name_arg) static inline
#define GASNETT_RESTRICT __restrict__
#define GASNETT_NORETURN __attribute__((noreturn))
#define GASNETT_NORETURNP(name_arg)
#define GASNETT_MALLOC __attribute__((malloc))
#define GASNETT_MALLOCP(name_arg)
#define GASNETT_PURE __attribute__((pure))
#define GASNETT_CONST __attribute__((const))
#define GASNETT_HOT __attribute__((hot))
#define GASNETT_COLD __attribute__((cold))
#define GASNETT_DEPRECATED __attribute__((deprecated))
#define GASNETT_NEVER_INLINE(name_arg, declaration_arg) __attribute__((noinline)) declaration_arg
#define GASNETT_ALWAYS_INLINE(name_arg) static inline __attribute__((always_inline))
#define GASNETT_FORMAT_PRINTF(name_arg, at_arg, first_arg, declaration_arg)                                            \
	__attribute__((format(printf, at_arg, first_arg))) declaration_arg
#define GASNETT_FORMAT_PRINTF_FUNCPTR(name_arg, at_arg, first_arg, declaration_arg)                                    \
	__attribute__((format(printf, at_arg, first_arg))) declaration_arg
#define GASNETT_PREFETCH_READ_HINT(p_arg) __builtin_prefetch((p_arg), 0)
#define GASNETT_PREFETCH_WRITE_HINT(p_arg) __builtin_prefetch((p_arg), 1)
#define GASNETT_CURRENT_FUNCTION __func__
#define gasnett_current_loc (__FILE__ ":" GASNETT_STRINGIFY(__LINE__))
#define gasnett_constant_p(x_arg) __builtin_constant_p(x_arg)
#define gasnett_unreachable() __builtin_unreachable()
#define gasnett_assume(x_arg) ((x_arg) ? (void)0 : __builtin_unreachable())
#define GASNETT_UNUSED __attribute__((unused))
#define GASNETT_USED __attribute__((used))
#define GASNETT_WARN_UNUSED_RESULT __attribute__((warn_unused_result))
#define GASNETT_PUREP(name_arg)
#define GASNETT_CONSTP(name_arg)
#define GASNETT_FALLTHROUGH __attribute__((fallthrough));
/* For macro arguments that are not used: each is evaluated once, and no compiler warns that it has no effect. */
#define GASNETT_UNUSED_ARGS1(a_arg) ((void)(a_arg))
#define GASNETT_UNUSED_ARGS2(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS1(__VA_ARGS__))
#define GASNETT_UNUSED_ARGS3(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS2(__VA_ARGS__))
#define GASNETT_UNUSED_ARGS4(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS3(__VA_ARGS__))
#define GASNETT_UNUSED_ARGS5(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS4(__VA_ARGS__))
#define GASNETT_UNUSED_ARGS6(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS5(__VA_ARGS__))
#define GASNETT_UNUSED_ARGS7(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS6(__VA_ARGS__))
#define GASNETT_UNUSED_ARGS8(a_arg, ...) ((void)(a_arg), GASNETT_UNUSED_ARGS7(__VA_ARGS__))
/* Sizes under the names that GASNet's configuration uses. A program's own config.h may define them, too. */
#ifndef SIZEOF_SHORT
#define SIZEOF_SHORT 2
#endif
#ifndef SIZEOF_INT
#define SIZEOF_INT 4
#endif
#ifndef SIZEOF_LONG
#define SIZEOF_LONG 8
#endif
#ifndef SIZEOF_VOID_P
#define SIZEOF_VOID_P 8
#endif
#ifndef SIZEOF_SIZE_T
#define SIZEOF_SIZE_T 8
#endif

#ifdef __cplusplus
#define GASNETT_EXTERNC extern "C"
#define GASNETT_BEGIN_EXTERNC extern "C" {
#define GASNETT_END_EXTERNC }
#else
#define GASNETT_EXTERNC extern
#define GASNETT_BEGIN_EXTERNC
#define GASNETT_END_EXTERNC
#endif

#endif /* GASNET_PGAS_PLATFORM_H */
