// SPDX-License-Identifier: BSD-3-Clause
//
// Contexts: aliases of the PE's endpoint. A private or serialized context is used by one thread at a time, so its alias
// counts without locked instructions whatever the thread level; others follow the level. Sessions are hints and change
// nothing here.
#include "shmem_barrier.hpp"
#include "shmem_state.hpp"

#include <pthread.h>

#include <new>

namespace shmem {
namespace {

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
context *g_all = nullptr; // of every team; few, so one list serves

constexpr long kOptions = SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE;

int create(team *owner, long options, shmem_ctx_t *out)
{
    if (options & ~kOptions)
        return 1;
    const uint64_t flags = options & (SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE) ? FI_PGAS_PRIVATE : 0;
    auto *c = new (std::nothrow) context{};
    if (!c)
        return 1;
    if (fi_ep_alias(g_default.ep, &c->ep, FI_TRANSMIT | flags) != 0) {
        delete c;
        return 1;
    }
    c->front = front_for(c->ep);
    g.ops->symmetric(c->ep, reinterpret_cast<void *>(g.base));
    c->options = options;
    c->owner = owner;
    pthread_mutex_lock(&g_mutex);
    c->next = g_all;
    if (g_all)
        g_all->prev = c;
    g_all = c;
    pthread_mutex_unlock(&g_mutex);
    *out = to_handle(c);
    return 0;
}

void destroy(context *c)
{
    pthread_mutex_lock(&g_mutex);
    (c->prev ? c->prev->next : g_all) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    pthread_mutex_unlock(&g_mutex);
    fi_close(&c->ep->fid);
    delete c;
}

} // namespace

void contexts_close()
{
    while (g_all)
        destroy(g_all);
}

} // namespace shmem

using namespace shmem;

SHMEM_NAME(int, shmem_ctx_create, (long options, shmem_ctx_t *ctx))
{
    check_running("shmem_ctx_create");
    return create(&g_teams[0], options, ctx);
}
SHMEM_NAME(void, shmem_ctx_destroy, (shmem_ctx_t ctx))
{
    check_running("shmem_ctx_destroy");
    if (ctx == SHMEM_CTX_INVALID)
        return;
    if (ctx == SHMEM_CTX_DEFAULT)
        fail("shmem_ctx_destroy", "the default context cannot be destroyed");
    pshmem_ctx_quiet(ctx);
    destroy(from_handle(ctx));
}
SHMEM_NAME(void, shmem_ctx_session_start,
           (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
    (void)ctx, (void)options, (void)config, (void)config_mask;
    check_running("shmem_ctx_session_start");
}
SHMEM_NAME(void, shmem_ctx_session_stop, (shmem_ctx_t ctx))
{
    (void)ctx;
    check_running("shmem_ctx_session_stop");
}
