// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point synchronisation: wait and test on one variable, or on all, any or some of an array, with one or many
// values to compare with. A satisfied wait is a load and a compare; a long one yields the core.
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "core/shmem_wait.hpp"
#include "device/shmem_device.hpp"
#include "path/shmem_check.hpp"
#include "path/shmem_debug.hpp"

namespace shmem {
namespace {

template <class T>
PGAS_HOT bool compare(T now, int cmp, T value)
{
	switch (cmp) {
	case SHMEM_CMP_EQ:
		return now == value;
	case SHMEM_CMP_NE:
		return now != value;
	case SHMEM_CMP_GT:
		return now > value;
	case SHMEM_CMP_GE:
		return now >= value;
	case SHMEM_CMP_LT:
		return now < value;
	case SHMEM_CMP_LE:
		return now <= value;
	default:
		fail("wait_until or test", "comparison operator %d is not one of SHMEM_CMP_*", cmp);
	}
}

template <class T>
PGAS_HOT T value_now(const T *ivar)
{
	return pgas_load_acquire(ivar); // pairs with the fence in fence(), which precedes a put of the flag
}

template <class T>
PGAS_COLD T value_on_device(const T *ivar)
{
	T now;
	device_read(&now, ivar, sizeof now);
	return now;
}

template <class T>
PGAS_HOT bool holds(const T *ivar, int cmp, T value)
{
	return compare(PGAS_UNLIKELY(g_shmem.devices) ? value_on_device(ivar) : value_now(ivar), cmp, value);
}

// Programs call a test until it holds: now and then a test that does not hold does what a wait would do, so that other
// processes get the core, and peers that cannot map our memory make progress. Returns its argument.
template <class Answer>
Answer note_failed_test(Answer answer)
{
	static thread_local unsigned failed;
	if (PGAS_UNLIKELY(++failed % 64 == 0 || is_far())) {
		act_for_peers();
		if (g_shmem.oversubscribed && failed % 64 == 0)
			pgas_core_yield();
	}
	return answer;
}

// Before a long wait, which has time for it.
template <class T>
void check_in_debug(const T *ivars, size_t n)
{
	if (PGAS_LIKELY(!g_shmem.env.debug))
		return;
	debug_call("shmem_wait_until");
	check_symmetric("shmem_wait_until", n == 1 ? "ivar" : "ivars", ivars, n * sizeof *ivars);
}

template <class T>
[[gnu::noinline]] void poll_until(const T *ivar, int cmp, T value) noexcept // out of line: calling it is a jump
{
	unsigned polls = 0;
	check_in_debug(ivar, 1);
	while (!holds(ivar, cmp, value))
		wait_pause(polls);
}

// Needs no frame if the wait is already satisfied and a load can see it.
template <class T>
PGAS_HOT void wait(const T *ivar, int cmp, T value)
{
	if (PGAS_UNLIKELY(g_shmem.devices) || !compare(value_now(ivar), cmp, value))
		poll_until(ivar, cmp, value);
}

// One value for all elements, or one each.
template <class T>
struct operand {
	const T *values;
	bool each;
	T at(size_t i) const { return each ? values[i] : *values; }
};

template <class T>
int test_all(T *ivars, size_t n, const int *status, int cmp, operand<T> v)
{
	for (size_t i = 0; i < n; i++)
		if (!(status && status[i]) && !holds(ivars + i, cmp, v.at(i)))
			return note_failed_test(0);
	return 1;
}

template <class T>
void wait_all(T *ivars, size_t n, const int *status, int cmp, operand<T> v)
{
	for (size_t i = 0; i < n; i++)
		if (!(status && status[i]))
			wait(ivars + i, cmp, v.at(i));
}

// Where the last search ended, so that a variable that is always satisfied cannot hide the others.
thread_local size_t g_next = 0;

template <class T>
size_t test_any(T *ivars, size_t n, const int *status, int cmp, operand<T> v)
{
	for (size_t k = 0; k < n; k++) {
		const size_t i = (g_next + k) % n;
		if (!(status && status[i]) && holds(ivars + i, cmp, v.at(i))) {
			g_next = i + 1;
			return i;
		}
	}
	return note_failed_test(SIZE_MAX);
}

bool nothing_to_wait_for(size_t n, const int *status)
{
	if (!status)
		return n == 0;
	for (size_t i = 0; i < n; i++)
		if (!status[i])
			return false;
	return true;
}

template <class T>
size_t wait_any(T *ivars, size_t n, const int *status, int cmp, operand<T> v)
{
	if (nothing_to_wait_for(n, status))
		return SIZE_MAX;
	unsigned polls = 0;
	check_in_debug(ivars, n);
	for (;;) {
		const size_t i = test_any(ivars, n, status, cmp, v);
		if (i != SIZE_MAX)
			return i;
		wait_pause(polls);
	}
}

template <class T>
size_t test_some(T *ivars, size_t n, size_t *indices, const int *status, int cmp, operand<T> v)
{
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		if (!(status && status[i]) && holds(ivars + i, cmp, v.at(i)))
			indices[found++] = i;
	return found == n ? found : note_failed_test(found); // a program may wait for more of them
}

template <class T>
size_t wait_some(T *ivars, size_t n, size_t *indices, const int *status, int cmp, operand<T> v)
{
	if (nothing_to_wait_for(n, status))
		return 0;
	unsigned polls = 0;
	check_in_debug(ivars, n);
	for (;;) {
		const size_t found = test_some(ivars, n, indices, status, cmp, v);
		if (found)
			return found;
		wait_pause(polls);
	}
}

} // namespace
} // namespace shmem

using namespace shmem;

#define BODY_wait_until(T) wait(ivar, cmp, cmp_value)
#define BODY_test(T) return holds(ivar, cmp, cmp_value) ? 1 : note_failed_test(0)
#define BODY_wait(T) wait(ivar, SHMEM_CMP_NE, cmp_value)
#define BODY_wait_until_all(T) wait_all(ivars, nelems, status, cmp, operand<T>{&cmp_value, false})
#define BODY_wait_until_any(T) return wait_any(ivars, nelems, status, cmp, operand<T>{&cmp_value, false})
#define BODY_wait_until_some(T) return wait_some(ivars, nelems, indices, status, cmp, operand<T>{&cmp_value, false})
#define BODY_wait_until_all_vector(T) wait_all(ivars, nelems, status, cmp, operand<T>{cmp_values, true})
#define BODY_wait_until_any_vector(T) return wait_any(ivars, nelems, status, cmp, operand<T>{cmp_values, true})
#define BODY_wait_until_some_vector(T)                                                                                 \
	return wait_some(ivars, nelems, indices, status, cmp, operand<T>{cmp_values, true})
#define BODY_test_all(T) return test_all(ivars, nelems, status, cmp, operand<T>{&cmp_value, false})
#define BODY_test_any(T) return test_any(ivars, nelems, status, cmp, operand<T>{&cmp_value, false})
#define BODY_test_some(T) return test_some(ivars, nelems, indices, status, cmp, operand<T>{&cmp_value, false})
#define BODY_test_all_vector(T) return test_all(ivars, nelems, status, cmp, operand<T>{cmp_values, true})
#define BODY_test_any_vector(T) return test_any(ivars, nelems, status, cmp, operand<T>{cmp_values, true})
#define BODY_test_some_vector(T) return test_some(ivars, nelems, indices, status, cmp, operand<T>{cmp_values, true})
#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(R, shmem_##N##_##CALL, P)                                                                           \
	{                                                                                                              \
		BODY_##CALL(T);                                                                                        \
	}
SHMEM_EACH_SYNC(DEFINE)
#undef DEFINE

SHMEM_NAME(uint64_t, shmem_signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value))
{
	unsigned polls = 0;
	for (;;) {
		const uint64_t now = pshmem_signal_fetch(sig_addr);
		if (holds(&now, cmp, cmp_value))
			return now; // the value that satisfied the wait, not a later one
		wait_pause(polls);
	}
}
SHMEM_NAME(void, shmem_wait_until, (long *ivar, int cmp, long cmp_value))
{
	wait(ivar, cmp, cmp_value);
}
SHMEM_NAME(void, shmem_wait, (long *ivar, long cmp_value))
{
	wait(ivar, SHMEM_CMP_NE, cmp_value);
}
