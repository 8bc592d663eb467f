// SPDX-License-Identifier: BSD-3-Clause
//
// Starting and ending a PE: the program's calls, and its end without one. The steps of starting are in shmem_join.cpp.
#include "shmem_join.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "names/shmem_space.hpp"
#include "path/shmem_debug.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "pgas_boot.h"

namespace shmem {
namespace {

// Starting and ending, one thread at a time. An error-checking mutex: a signal handler may call exit() in the middle of
// either.
pthread_mutex_t g_life = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

struct life_lock {
	const bool mine = pthread_mutex_lock(&g_life) == 0;
	life_lock() = default;
	~life_lock()
	{
		if (mine)
			pthread_mutex_unlock(&g_life);
	}
	life_lock(const life_lock &) = delete;
	life_lock &operator=(const life_lock &) = delete;
};

// A program that returns from main or calls exit(0) without shmem_finalize: finalize is implied, as the standard
// specifies for start_pes. A program that exits with another status has failed; the launcher tells the other PEs.
// Registered at the first init, so it runs after the handlers and destructors of everything the program created later,
// and before those that already existed: ours, the provider's and libpmix's among them.
void leave_at_exit(int status, void *)
{
	if (status != 0 || !g_shmem.initialized || g_shmem.pid != getpid())
		return;
	life_lock lock;
	if (!lock.mine || !g_shmem.initialized)
		return;
	fflush(nullptr); // the output is not lost if the other PEs never arrive
	g_shmem.inits = 0;
	leave("exit", true);
}

int start(int requested, bool counted = true, bool device_asked = false)
{
	life_lock lock;
	if (!g_shmem.initialized) {
		join(requested, device_asked);
		static const bool registered = on_exit(leave_at_exit, nullptr) == 0;
		if (!registered)
			fail("shmem_init", "out of memory");
		g_shmem.pid = getpid();
		g_shmem.inits = 1;
	} else if (counted) {
		g_shmem.inits++;
	}
	return g_shmem.thread_level;
}

void stop()
{
	life_lock lock;
	if (!g_shmem.initialized)
		return;
	if (--g_shmem.inits > 0) {
		pshmem_barrier_all(); // every finalize includes one
		return;
	}
	if (g_shmem.env.debug)
		debug_end();
	leave("shmem_finalize", false);
}

} // namespace
} // namespace shmem

using namespace shmem;

SHMEM_NAME(void, shmem_init, (void))
{
	start(SHMEM_THREAD_SINGLE);
}
SHMEM_NAME(int, shmem_init_thread, (int requested, int *provided))
{
	constexpr int kDevice = SHMEM_DEVICE_HOST_INIT | SHMEM_DEVICE_KERNEL_INIT;
	const int level = requested & ~kDevice;
	if (level < SHMEM_THREAD_SINGLE || level > SHMEM_THREAD_MULTIPLE)
		fail("shmem_init_thread",
		     "thread level %d is not one of SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE, alone or with "
		     "SHMEM_DEVICE_HOST_INIT and SHMEM_DEVICE_KERNEL_INIT",
		     level);
	const bool host = requested & SHMEM_DEVICE_HOST_INIT;
	const int given = start(level, true, host);
	// no kernel can call this library, so that level is never provided
	*provided = given | (host && has_device_heap() ? SHMEM_DEVICE_HOST_INIT : 0);
	return 0;
}
SHMEM_NAME(void, start_pes, (int npes))
{
	(void)npes;
	start(SHMEM_THREAD_SINGLE, false); // called again: no effect, and no finalize of its own
}
SHMEM_NAME(void, shmem_finalize, (void))
{
	stop();
}
extern "C" SHMEM_EXPORT void pshmem_global_exit(int status) noexcept
{
	check_running("shmem_global_exit");
	fflush(nullptr);
	pgas_boot_abort(status, nullptr);
}
extern "C" SHMEM_EXPORT void shmem_global_exit(int status) noexcept __attribute__((weak, alias("pshmem_global_exit")));
