// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of this process: how they sleep and wake, and the lock that keeps lists whole for the threads of wires.
#include "pgas_domain.hpp"
#include "pgas_wire.hpp"

namespace pgas {

// --- sleeping: the first wire keeps what peers wake us by ------------------------------------------------------------

uint32_t sleep_announce(domain *dom)
{
	return dom->on[0]->ops->announce(*dom->on[0]);
}

void sleep_until_woken(domain *dom, uint32_t ticket, uint64_t max_ns)
{
	dom->on[0]->ops->sleep(*dom->on[0], ticket, max_ns);
}

void domain_wake(domain *dom)
{
	dom->on[0]->ops->wake(*dom->on[0]);
}

// --- the lock of lists -----------------------------------------------------------------------------------------------

namespace {

pthread_mutex_t *g_lists = nullptr;

pthread_mutex_t *fresh_mutex()
{
	auto *m = new pthread_mutex_t; // never destroyed: threads of wires may outlive static destruction
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(m, &attr);
	pthread_mutexattr_destroy(&attr);
	return m;
}

// In a child of fork() another thread may have held it, and will never give it back.
pthread_mutex_t *lists()
{
	static const bool made = [] {
		g_lists = fresh_mutex();
		return pthread_atfork(nullptr, nullptr, [] { g_lists = fresh_mutex(); }) == 0;
	}();
	(void)made;
	return g_lists;
}

} // namespace

watch_barrier::watch_barrier()
{
	pthread_mutex_lock(lists());
}

watch_barrier::~watch_barrier()
{
	pthread_mutex_unlock(lists());
}

} // namespace pgas
