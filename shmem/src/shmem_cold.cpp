// SPDX-License-Identifier: BSD-3-Clause
//
// Cold exits of the data path: first access to a peer, threads that share a context, memory that is not mapped, and
// every wrong use. Arguments are checked here; then the provider's table does the work and the operation is complete on
// return.
#include "shmem_team.hpp"

#include <time.h>

#include <cstring>

namespace shmem {
namespace {

// A peer that cannot be reached has ended, as a rule. The launcher knows how, says so and ends us: it gets the time for
// that.
void failed_to(int pe, ssize_t rc, const char *what)
{
	const auto err = static_cast<int>(rc < 0 ? -rc : rc);
	if (err == FI_EHOSTUNREACH || err == FI_ECONNRESET || err == FI_ENOTCONN) {
		const timespec patience{1, 0};
		nanosleep(&patience, nullptr);
	}
	fail(what, "to PE %d: %s", pe, fi_strerror(err));
}

void finish(context *c, ssize_t rc, const char *what, int pe)
{
	if (PGAS_UNLIKELY(rc != 0))
		failed_to(pe, rc, what);
	if (const int err = g.net.ops->drain(c->ep))
		failed_to(pe, err, what);
}

template <class Call>
ssize_t again(context *c, Call &&call)
{
	for (;;) {
		const ssize_t rc = call();
		if (rc != -FI_EAGAIN)
			return rc;
		g.net.ops->drain(c->ep);
	}
}

void check_context(context *c, const char *what)
{
	check_running(what);
	if (c == from_handle(SHMEM_CTX_INVALID))
		fail(what, "the context is SHMEM_CTX_INVALID");
}

// PE numbers are those of the context's team.
void check_member(const char *what, const context *c, int pe)
{
	const team &t = *c->owner;
	if (PGAS_UNLIKELY(pe < 0 || pe >= t.n_pes))
		fail(what, "PE number %d is outside 0..%d%s", pe, t.n_pes - 1,
		     &t == &g_teams[0] ? "" : " of the context's team");
}

} // namespace

void cold_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name)
{
	check_context(c, name);
	check_member(name, c, pe);
	if (!bytes)
		return;
	check_symmetric(name, "dest", dest, bytes);
	if (g.env.debug) {
		debug_remote(name, "dest", dest, bytes);
		debug_overlap(name, dest, source, bytes, world_pe(*c->owner, pe));
	}
	finish(c,
	       again(c,
		     [&] {
			     return c->ep->rma->write(c->ep, source, bytes, nullptr, static_cast<fi_addr_t>(pe),
						      reinterpret_cast<uintptr_t>(dest), 0, nullptr);
		     }),
	       name, pe);
}

void cold_get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name)
{
	check_context(c, name);
	check_member(name, c, pe);
	if (!bytes)
		return;
	check_symmetric(name, "source", source, bytes);
	if (g.env.debug) {
		debug_remote(name, "source", source, bytes);
		debug_overlap(name, dest, source, bytes, world_pe(*c->owner, pe));
	}
	finish(c,
	       again(c,
		     [&] {
			     return c->ep->rma->read(c->ep, dest, bytes, nullptr, static_cast<fi_addr_t>(pe),
						     reinterpret_cast<uintptr_t>(source), 0, nullptr);
		     }),
	       name, pe);
}

void cold_p(context *c, void *dest, uint64_t value, size_t bytes, int pe, const char *name)
{
	cold_put(c, dest, &value, bytes, pe, name); // little endian: the value's bytes come first
}

uint64_t cold_g(context *c, const void *source, size_t bytes, int pe, const char *name)
{
	uint64_t value = 0;
	cold_get(c, &value, source, bytes, pe, name);
	return value;
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

uint64_t cold_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		  bool fetch, const char *name)
{
	const size_t bytes = type == FI_UINT64 ? 8 : 4;
	check_context(c, name);
	check_member(name, c, pe);
	check_symmetric(name, "target", target, bytes);
	if (g.env.debug)
		debug_remote(name, "target", target, bytes);
	if (reinterpret_cast<uintptr_t>(target) % bytes)
		fail(name, "target %p is not aligned to its %zu bytes", target, bytes);
	uint64_t old = 0;
	const auto to = static_cast<fi_addr_t>(pe);
	const auto at = reinterpret_cast<uintptr_t>(target);
	const fi_ops_atomic *amo = c->ep->atomic;
	finish(c,
	       again(c,
		     [&] {
			     if (op == FI_CSWAP)
				     return amo->compwrite(c->ep, &value, 1, nullptr, &compare, nullptr, &old, nullptr,
							   to, at, 0, type, op, nullptr);
			     if (fetch)
				     return amo->readwrite(c->ep, &value, 1, nullptr, &old, nullptr, to, at, 0, type,
							   op, nullptr);
			     return amo->write(c->ep, &value, 1, nullptr, to, at, 0, type, op, nullptr);
		     }),
	       name, pe);
	return old;
}

void cold_quiet(context *c)
{
	check_context(c, "shmem_quiet");
	g.net.ops->drain(c->ep);
	pgas_store_relaxed(&c->pending, uint64_t{0});
}

} // namespace shmem
