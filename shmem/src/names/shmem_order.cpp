// SPDX-License-Identifier: BSD-3-Clause
//
// fence and quiet. Puts to mapped memory are stores: fence orders stores, quiet is a full fence, and one compare checks
// whether any operation was handed to a wire since the last quiet.
#include "core/shmem_export.hpp"
#include "core/shmem_fail.hpp"
#include "path/shmem_cold.hpp"

using namespace shmem;

namespace {

// budget: 5 instructions with the return on x86_64 (paths.def: shmem_fence)
PGAS_HOT void fence(context *c)
{
	pgas_fence_stores(); // pairs with load_acquire in value_now(), and in any other reader of the flag
	if (PGAS_UNLIKELY(pgas_load_word(&c->pending)))
		cold_fence(c);
}

// budget: 6 instructions with the return (paths.def: shmem_quiet)
PGAS_HOT void quiet(context *c)
{
	pgas_fence_full();
	if (PGAS_UNLIKELY(pgas_load_word(&c->pending)))
		cold_quiet(c);
}

} // namespace

SHMEM_NAME(void, shmem_fence, (void))
{
	fence(&g_default);
}
SHMEM_NAME(void, shmem_ctx_fence, (shmem_ctx_t ctx))
{
	if (ctx != SHMEM_CTX_INVALID)
		fence(from_handle(ctx));
}
SHMEM_NAME(void, shmem_quiet, (void))
{
	quiet(&g_default);
}
SHMEM_NAME(void, shmem_ctx_quiet, (shmem_ctx_t ctx))
{
	if (ctx != SHMEM_CTX_INVALID)
		quiet(from_handle(ctx));
}
SHMEM_NAME(void, shmem_pe_quiet, (const int *target_pes, size_t npes))
{
	for (size_t i = 0; i < npes; i++)
		check_pe("shmem_pe_quiet", target_pes[i]);
	quiet(&g_default);
}
SHMEM_NAME(void, shmem_ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
	for (size_t i = 0; i < npes; i++)
		check_pe("shmem_ctx_pe_quiet", target_pes[i]);
	if (ctx != SHMEM_CTX_INVALID)
		quiet(from_handle(ctx));
}

SHMEM_NAME(void, shmem_sync_all, (void))
{
	check_running("shmem_sync_all");
	teams::sync(g_teams[0]);
}
// Members raise their numbers with release stores: on one host, puts are complete when the numbers are seen. Only a
// wire needs more.
SHMEM_NAME(void, shmem_barrier_all, (void))
{
	check_running("shmem_barrier_all");
	if (PGAS_UNLIKELY(pgas_load_word(&g_default.pending)))
		cold_quiet(&g_default);
	teams::sync(g_teams[0]);
}
