// SPDX-License-Identifier: BSD-3-Clause
//
// Queries about this PE, the others, and the library.
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "path/shmem_address.hpp"

#include <cstring>

using namespace shmem;

SHMEM_NAME(void, shmem_query_initialized, (int *initialized))
{
	*initialized = g_shmem.initialized;
}
SHMEM_NAME(void, shmem_query_thread, (int *provided))
{
	check_running("shmem_query_thread");
	*provided = g_shmem.thread_level;
}
SHMEM_NAME(int, shmem_my_pe, (void))
{
	if (PGAS_UNLIKELY(g_shmem.my_pe < 0))
		check_running("shmem_my_pe");
	return g_shmem.my_pe;
}
SHMEM_NAME(int, shmem_n_pes, (void))
{
	if (PGAS_UNLIKELY(g_shmem.my_pe < 0))
		check_running("shmem_n_pes");
	return g_shmem.n_pes;
}
SHMEM_NAME(double, shmemx_wtime, (void))
{
	return static_cast<double>(pgas_now_ns()) * 1e-9;
}
SHMEM_NAME(int, _my_pe, (void))
{
	return pshmem_my_pe();
}
SHMEM_NAME(int, _num_pes, (void))
{
	return pshmem_n_pes();
}
SHMEM_NAME(int, shmem_pe_accessible, (int pe))
{
	check_running("shmem_pe_accessible");
	return pe >= 0 && pe < g_shmem.n_pes;
}
SHMEM_NAME(int, shmem_addr_accessible, (const void *addr, int pe))
{
	check_running("shmem_addr_accessible");
	return pe >= 0 && pe < g_shmem.n_pes && is_symmetric(addr, 1);
}
SHMEM_NAME(void *, shmem_ptr, (const void *dest, int pe))
{
	check_running("shmem_ptr");
	check_pe("shmem_ptr", pe);
	if (!is_symmetric(dest, 1))
		return nullptr;
	return pe == g_shmem.my_pe ? const_cast<void *>(dest) : peer_pointer(dest, pe);
}
SHMEM_NAME(void, shmem_info_get_version, (int *major, int *minor))
{
	*major = SHMEM_MAJOR_VERSION;
	*minor = SHMEM_MINOR_VERSION;
}
SHMEM_NAME(void, shmem_info_get_name, (char *name))
{
	strcpy(name, SHMEM_VENDOR_STRING);
}
SHMEM_NAME(void, shmem_pcontrol, (int level, ...))
{
	(void)level; // for profiling tools that interpose the name
}
