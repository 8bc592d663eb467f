/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_generic.h: checks for the generated calls of type-generic names; one text for C11 and C++.
 *
 * A call passes when its result has the listed type and the stub library saw the C name of that type, or of the base
 * type it is an alias of.  Also here: the calls that are generic without a TYPE (sync, signal_add, signal_set), arrays
 * and std::complex as arguments.
 */
#ifndef TEST_GENERIC_H
#define TEST_GENERIC_H

#include <stdio.h>
#include <string.h>

#include <shmem.h>

typedef shmem_impl_complexd_t complexd;
typedef shmem_impl_complexf_t complexf;

#ifdef __cplusplus
#include <complex>
#include <type_traits>
extern "C" const char *stub_called;
#define BASE(N, T, A)                                                                                                  \
	inline const char *base_of(const T *)                                                                          \
	{                                                                                                              \
		return #N;                                                                                             \
	}
SHMEM_REDUCE_SUM_DISTINCT(BASE, )
#define BASE_OF(T) base_of(static_cast<const T *>(nullptr))
#define SAME_TYPE(T, expr) static_assert(std::is_same<decltype(expr), T>::value, "wrong result type: " #expr)
#else
extern const char *stub_called;
#define BASE(N, T, A) , T * : #N
#define BASE_OF(T) _Generic((T *)0 SHMEM_REDUCE_SUM_DISTINCT(BASE, ))
#define SAME_TYPE(T, expr) _Static_assert(_Generic((expr), T : 1, default : 0), "wrong result type: " #expr)
#endif

static int failures;

static void expect(const char *head, const char *tail, const char *base, const char *name)
{
	char by_base[128], by_name[128];
	snprintf(by_base, sizeof(by_base), "%s%s%s", head, base, tail);
	snprintf(by_name, sizeof(by_name), "%s%s%s", head, name, tail);
	/* in C++ wait_until of long is the C function of that name, deprecated but the same call */
	if (stub_called && strcmp(stub_called, "shmem_wait_until") == 0)
		stub_called = "shmem_long_wait_until";
	if (!stub_called || (strcmp(stub_called, by_base) != 0 && strcmp(stub_called, by_name) != 0)) {
		printf("%s or %s expected, %s called\n", by_name, by_base, stub_called ? stub_called : "nothing");
		failures++;
	}
	stub_called = NULL;
}

#define CALL(R, T, HEAD, TAIL, NAME, expr)                                                                             \
	do {                                                                                                           \
		SAME_TYPE(R, expr);                                                                                    \
		(void)(expr);                                                                                          \
		expect(HEAD, TAIL, BASE_OF(T), NAME);                                                                  \
	} while (0)
#define CALL_VOID(T, HEAD, TAIL, NAME, expr)                                                                           \
	do {                                                                                                           \
		expr;                                                                                                  \
		expect(HEAD, TAIL, BASE_OF(T), NAME);                                                                  \
	} while (0)

/* calls that are generic in the handle only, and arguments that are arrays */
static int plain_cases(void)
{
	static uint64_t sig;
	static long psync[SHMEM_SYNC_SIZE];
	static long array[4];
	static const shmem_ctx_t ctx = SHMEM_CTX_DEFAULT; /* handles are constants of static initializers */
	static const shmem_team_t team = SHMEM_TEAM_SHARED;
	(void)shmem_sync(team), expect("shmem_team_", "", "sync", "");
	shmem_sync(0, 0, 1, psync), expect("shmem_", "", "sync", "");
	shmem_signal_add(&sig, 1, 0), expect("shmem_signal_", "", "add", "");
	shmem_signal_add(ctx, &sig, 1, 0), expect("shmem_ctx_signal_", "", "add", "");
	shmem_signal_set(&sig, 1, 0), expect("shmem_signal_", "", "set", "");
	shmem_signal_set(ctx, &sig, 1, 0), expect("shmem_ctx_signal_", "", "set", "");
	shmem_put(array, array, 4, 0), expect("shmem_", "_put", "long", "");
	shmem_p(array, 1, 0), expect("shmem_", "_p", "long", "");
	shmem_p(ctx, array, 1, 0), expect("shmem_ctx_", "_p", "long", "");
	shmem_wait_until(array, SHMEM_CMP_NE, 0), expect("shmem_", "_wait_until", "long", "");
	return 10;
}

#ifdef __cplusplus
template <class E>
static void std_complex(const char *name)
{
	static std::complex<E> a[2], b[2];
	(void)shmem_sum_reduce(SHMEM_TEAM_WORLD, a, b, 2), expect("shmem_", "_sum_reduce", name, "");
	(void)shmem_prod_reduce(SHMEM_TEAM_WORLD, a, b, 2), expect("shmem_", "_prod_reduce", name, "");
	(void)shmem_sum_inscan(SHMEM_TEAM_WORLD, a, b, 2), expect("shmem_", "_sum_inscan", name, "");
	(void)shmem_sum_exscan(SHMEM_TEAM_WORLD, a, b, 2), expect("shmem_", "_sum_exscan", name, "");
}
static int std_cases(void)
{
	static std::complex<double> a[2], b[2], w[16];
	static long psync[SHMEM_SYNC_SIZE];
	std_complex<double>("complexd");
	std_complex<float>("complexf");
	(void)shmem_complexd_sum_reduce(SHMEM_TEAM_WORLD, a, b, 2), expect("shmem_", "_sum_reduce", "complexd", "");
	shmem_complexd_prod_to_all(a, b, 2, 0, 0, 1, w, psync), expect("shmem_", "_prod_to_all", "complexd", "");
	return 10;
}
#else
static int std_cases(void)
{
	return 0;
}
#endif

static int finish(int cases)
{
	cases += plain_cases() + std_cases();
	printf("%d calls of type-generic names, %d wrong\n", cases, failures);
	return failures != 0;
}

#endif /* TEST_GENERIC_H */
