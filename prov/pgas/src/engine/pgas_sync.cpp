// SPDX-License-Identifier: BSD-3-Clause
//
// Threads of this process: how they sleep and wake, and the lock that keeps lists consistent for the threads of wires.
#include "pgas_domain.hpp"
#include "pgas_wire.hpp"

#include <mutex>

namespace pgas {

// --- sleeping: the first wire has what wakes us ----------------------------------------------------------------------

uint32_t sleep_announce(domain *dom)
{
	for (size_t i = 0; i < kWiresMost && dom->wires[i]; i++)
		dom->wires[i]->ops->asleep(*dom->wires[i]);
	return g_host.announce(dom->host());
}

void sleep_until_woken(domain *dom, uint32_t ticket, uint64_t max_ns)
{
	g_host.sleep(dom->host(), ticket, max_ns);
}

void domain_wake(domain *dom)
{
	g_host.wake(dom->host());
}

// --- the lock that protects lists ------------------------------------------------------------------------------------

namespace {

std::recursive_mutex *g_lists = nullptr;

// In a child of fork() a thread that does not exist there may have held it, so the child gets a new one.
std::recursive_mutex *lists()
{
	static const bool made = [] {
		g_lists = new std::recursive_mutex; // never destroyed: threads of wires may outlive static destruction
		return pthread_atfork(nullptr, nullptr, [] { g_lists = new std::recursive_mutex; }) == 0;
	}();
	(void)made;
	return g_lists;
}

} // namespace

watch_barrier::watch_barrier()
{
	lists()->lock();
}

watch_barrier::~watch_barrier()
{
	lists()->unlock();
}

} // namespace pgas
