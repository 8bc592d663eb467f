// SPDX-License-Identifier: BSD-3-Clause
//
// Starting and ending a PE: the program's calls, and its end without one. The steps of starting are in shmem_join.cpp.
#include "shmem_join.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "names/shmem_space.hpp"
#include "path/shmem_debug.hpp"

#include <shmemx.h>

#include <pthread.h>
#include <unistd.h>

#include <cerrno>
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

void begin(int requested, bool device_asked)
{
	join(requested, device_asked);
	static const bool registered = on_exit(leave_at_exit, nullptr) == 0;
	if (!registered)
		fail("shmem_init", "out of memory");
	g_shmem.pid = getpid();
	g_shmem.inits = 1;
}

int start(int requested, bool counted = true, bool device_asked = false)
{
	life_lock lock;
	if (!g_shmem.initialized) {
		join_launcher();
		begin(requested, device_asked);
	} else if (counted) {
		g_shmem.inits++;
	}
	return g_shmem.thread_level;
}

// Without a launcher. Who has begun already may not know it, and two jobs would be one: this is not counted.
int start_unique(const char *routine, const shmemx_uniqueid_t *id, int rank, int size, int requested, bool device_asked)
{
	life_lock lock;
	if (g_shmem.initialized) {
		fprintf(stderr, "PE %d: %s: the library is started already, by shmem_init or another such call\n",
			g_shmem.my_pe, routine);
		return -EALREADY;
	}
	if (!id) {
		fprintf(stderr, "%s: the pointer to the id is NULL\n", routine);
		return -EINVAL;
	}
	const int rc = join_unique(id, rank, size);
	if (rc == 0)
		begin(requested, device_asked);
	return rc;
}

// A thread level of a program, without the device levels that it may have.
int check_level(const char *routine, int requested)
{
	const int level = requested & ~(SHMEM_DEVICE_HOST_INIT | SHMEM_DEVICE_KERNEL_INIT);
	if (level < SHMEM_THREAD_SINGLE || level > SHMEM_THREAD_MULTIPLE)
		fail(routine,
		     "thread level %d is not one of SHMEM_THREAD_SINGLE to SHMEM_THREAD_MULTIPLE, alone or with "
		     "SHMEM_DEVICE_HOST_INIT and SHMEM_DEVICE_KERNEL_INIT",
		     level);
	return level;
}

// No kernel can call this library, so that level is never provided.
int provided_levels(int level, bool host_asked)
{
	return level | (host_asked && has_device_heap() ? SHMEM_DEVICE_HOST_INIT : 0);
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

static_assert(sizeof(shmemx_uniqueid_t) == PGAS_BOOT_ID_BYTES);

} // namespace
} // namespace shmem

using namespace shmem;

SHMEM_NAME(void, shmem_init, (void))
{
	start(SHMEM_THREAD_SINGLE);
}
SHMEM_NAME(int, shmem_init_thread, (int requested, int *provided))
{
	const int level = check_level("shmem_init_thread", requested);
	const bool host = requested & SHMEM_DEVICE_HOST_INIT;
	*provided = provided_levels(start(level, true, host), host);
	return 0;
}
SHMEM_NAME(int, shmemx_get_uniqueid, (shmemx_uniqueid_t * id))
{
	life_lock lock;
	if (id)
		return pgas_boot_get_uniqueid(id);
	fprintf(stderr, "shmemx_get_uniqueid: the pointer to the id is NULL\n");
	return -EINVAL;
}
SHMEM_NAME(int, shmemx_init_uniqueid, (const shmemx_uniqueid_t *id, int rank, int size))
{
	return start_unique("shmemx_init_uniqueid", id, rank, size, SHMEM_THREAD_SINGLE, false);
}
SHMEM_NAME(int, shmemx_init_thread_uniqueid,
	   (const shmemx_uniqueid_t *id, int rank, int size, int requested, int *provided))
{
	constexpr char kName[] = "shmemx_init_thread_uniqueid";
	const int level = check_level(kName, requested);
	const bool host = requested & SHMEM_DEVICE_HOST_INIT;
	const int rc = start_unique(kName, id, rank, size, level, host);
	if (rc == 0)
		*provided = provided_levels(g_shmem.thread_level, host);
	return rc;
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
