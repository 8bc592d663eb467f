// SPDX-License-Identifier: BSD-3-Clause
//
// Cold exits of the data path: first access to a peer, threads that share a context, memory that is not mapped, and all
// wrong use. Arguments are checked here; then the provider does the work.
//
// Operations on mapped memory are complete on return. All others go to the wire. Puts, plain atomics and non-blocking
// gets are counted in `pending`. Short puts and plain atomics are copied; a longer blocking put and every blocking
// operation that returns a value wait for themselves alone (FI_PGAS_WAIT).
#include "device/shmem_partition.hpp"

#include <time.h>

#include <cstdio>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

// A peer that cannot be reached has usually ended. The launcher knows how, reports it and ends us: give it time for
// that.
[[noreturn]] void failed_to(const context *c, int pe, ssize_t rc, const char *what)
{
	const auto err = static_cast<int>(rc < 0 ? -rc : rc);
	const int world = teams::world_rank(*c->owner, pe);
	const bool gone = err == FI_EHOSTUNREACH || err == FI_ECONNRESET || err == FI_ENOTCONN || err == FI_ETIMEDOUT;
	if (gone) {
		const timespec patience{1, 0};
		nanosleep(&patience, nullptr);
	}
	char why[200];
	if (!gone || !g.net.ops->reason(c->ep, static_cast<fi_addr_t>(pe), why, sizeof why))
		snprintf(why, sizeof why, "%s", pgas_strerror(err));
	if (gone && g.host_names)
		fail(what, "PE %d on %s is lost: %s", world, g.host_names[world], why);
	fail(what, "to PE %d: %s", world, why);
}

// The provider itself reads or writes: usually this PE has nothing in flight.
bool mapped(const context *c, int pe)
{
	return pgas_hot_window(reinterpret_cast<const pgas_ep *>(c->ep), static_cast<uint64_t>(pe), 0, 1, PGAS_CHECKED);
}

void finish_mapped(context *c, ssize_t rc, const char *what, int pe)
{
	if (PGAS_UNLIKELY(rc != 0))
		failed_to(c, pe, rc, what);
	if (const int err = g.net.ops->drain(c->ep))
		failed_to(c, pe, err, what);
}

void finish_far(const context *c, ssize_t rc, const char *what, int pe)
{
	if (PGAS_UNLIKELY(rc != 0))
		failed_to(c, pe, rc, what);
}

// The wire accepted it. Increment after the submission, so that a quiet that subtracts the count has waited for it.
void finish_taken(context *c, ssize_t rc, const char *what, int pe)
{
	finish_far(c, rc, what, pe);
	pgas_add_release(&c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
}

// Makes progress on everything while there is no room: the peers that should make room may be waiting for us.
template <class Call>
ssize_t retry(Call &&call)
{
	unsigned polls = 0;
	for (;;) {
		const ssize_t rc = call();
		if (rc != -FI_EAGAIN)
			return rc;
		if (!g.net.ops->progress(g.net.domain))
			wait_pause(polls);
	}
}

void check_context(context *c, const char *what)
{
	check_running(what);
	if (c == from_handle(SHMEM_CTX_INVALID))
		fail(what, "the context is SHMEM_CTX_INVALID");
}

// PE numbers are ranks in the context's team.
void check_member(const char *what, const context *c, int pe)
{
	const team &t = *c->owner;
	if (PGAS_UNLIKELY(pe < 0 || pe >= t.size))
		fail(what, "PE number %d is outside 0..%d%s", pe, t.size - 1,
		     &t == &g_teams[0] ? "" : " of the context's team");
}

// A put or get for the calls that take flags.
struct transfer {
	iovec iov;
	fi_rma_iov remote;
	fi_msg_rma m{};

	transfer(const void *mine, const void *theirs, size_t bytes, int pe)
		: iov{const_cast<void *>(mine), bytes}, remote{reinterpret_cast<uintptr_t>(theirs), bytes, 0}
	{
		m.msg_iov = &iov;
		m.iov_count = 1;
		m.addr = static_cast<fi_addr_t>(pe);
		m.rma_iov = &remote;
		m.rma_iov_count = 1;
	}
	transfer(const transfer &) = delete;
};

// The same for an atomic.
struct atomic_word {
	fi_ioc operand, with, out;
	fi_rma_ioc remote;
	fi_msg_atomic m{};

	atomic_word(uint64_t *value, uint64_t *compare, uint64_t *old, const void *target, int pe, fi_datatype type,
		    fi_op op)
		: operand{value, 1}, with{compare, 1}, out{old, 1}, remote{reinterpret_cast<uintptr_t>(target), 1, 0}
	{
		m.msg_iov = &operand;
		m.iov_count = 1;
		m.addr = static_cast<fi_addr_t>(pe);
		m.rma_iov = &remote;
		m.rma_iov_count = 1;
		m.datatype = type;
		m.op = op;
	}
	atomic_word(const atomic_word &) = delete;
};

void put_mapped(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name)
{
	finish_mapped(c, retry([&] {
			      return c->ep->rma->write(c->ep, source, bytes, nullptr, static_cast<fi_addr_t>(pe),
						       reinterpret_cast<uintptr_t>(dest), 0, nullptr);
		      }),
		      name, pe);
}

void put_far(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when,
	     uint64_t more)
{
	if (PGAS_LIKELY(bytes <= g.copy_limit && !more)) {
		finish_taken(c, retry([&] {
				     return c->ep->rma->inject(c->ep, source, bytes, static_cast<fi_addr_t>(pe),
							       reinterpret_cast<uintptr_t>(dest), 0);
			     }),
			     name, pe);
		return;
	}
	const transfer t(source, dest, bytes, pe);
	const uint64_t copied = bytes <= g.copy_limit ? FI_INJECT : 0;
	if (when == until::reusable && !copied)
		finish_taken(c, c->ep->rma->writemsg(c->ep, &t.m, FI_PGAS_WAIT | FI_TRANSMIT_COMPLETE | more), name,
			     pe);
	else
		finish_taken(c, retry([&] { return c->ep->rma->writemsg(c->ep, &t.m, copied | more); }), name, pe);
}

// more: FI_MORE, or 0
void put_checked(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when,
		 uint64_t more)
{
	check_context(c, name);
	check_member(name, c, pe);
	if (!bytes)
		return;
	check_symmetric(name, "dest", dest, bytes);
	if (g.env.debug) {
		debug_remote(name, "dest", dest, bytes);
		order_compare(name, dest, teams::world_rank(*c->owner, pe));
		debug_overlap(name, dest, source, bytes, teams::world_rank(*c->owner, pe));
	}
	if (PGAS_UNLIKELY(g.devices) && device_put(c, dest, source, bytes, pe, name, when))
		return;
	if (mapped(c, pe))
		put_mapped(c, dest, source, bytes, pe, name);
	else
		put_far(c, dest, source, bytes, pe, name, when, more);
}

} // namespace

void cold_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	put_checked(c, dest, source, bytes, pe, name, when, 0);
}

void cold_put_before(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	put_checked(c, dest, source, bytes, pe, name, when, FI_MORE);
}

void cold_get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	check_context(c, name);
	check_member(name, c, pe);
	if (!bytes)
		return;
	check_symmetric(name, "source", source, bytes);
	if (g.env.debug) {
		debug_remote(name, "source", source, bytes);
		order_compare(name, source, teams::world_rank(*c->owner, pe));
		debug_overlap(name, dest, source, bytes, teams::world_rank(*c->owner, pe));
	}
	if (PGAS_UNLIKELY(g.devices) && device_get(c, dest, source, bytes, pe, name, when))
		return;
	const transfer t(dest, source, bytes, pe);
	if (mapped(c, pe))
		finish_mapped(c, retry([&] {
				      return c->ep->rma->read(c->ep, dest, bytes, nullptr, static_cast<fi_addr_t>(pe),
							      reinterpret_cast<uintptr_t>(source), 0, nullptr);
			      }),
			      name, pe);
	else if (when == until::taken)
		finish_taken(c, retry([&] { return c->ep->rma->readmsg(c->ep, &t.m, 0); }), name, pe);
	else
		finish_far(c, c->ep->rma->readmsg(c->ep, &t.m, FI_PGAS_WAIT), name, pe);
}

// The usual case of a call for another host: the arguments are valid and the wire accepts it. Otherwise nothing was
// done, and the long way finds out why. paths.def: shmem_long_p_far
[[gnu::noinline]] static void p_far(context *c, void *dest, uint64_t value, size_t bytes, int pe,
				    const char *name) noexcept
{
	if (PGAS_LIKELY(g.short_ways->put_word(c->ep, reinterpret_cast<uintptr_t>(dest), value, bytes,
					       static_cast<fi_addr_t>(pe)) == 0)) {
		pgas_add_release(&c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
		return;
	}
	cold_put(c, dest, &value, bytes, pe, name); // little endian: the value's bytes come first
}

// Two calls, so that neither needs stack space for the other.
void cold_p(context *c, void *dest, uint64_t value, size_t bytes, int pe, const char *name) noexcept
{
	if (PGAS_LIKELY(c->plain))
		p_far(c, dest, value, bytes, pe, name);
	else
		device_p(c, dest, value, bytes, pe, name);
}

uint64_t cold_g(context *c, const void *source, size_t bytes, int pe, const char *name)
{
	uint64_t value = 0;
	if (c->plain && PGAS_LIKELY(g.short_ways->get_word(c->ep, reinterpret_cast<uintptr_t>(source), bytes,
							   static_cast<fi_addr_t>(pe), &value) == 0))
		return value;
	cold_get(c, &value, source, bytes, pe, name);
	return value;
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

void check_strided(context *c, const char *name, const void *remote, size_t bytes, int pe)
{
	check_context(c, name);
	check_member(name, c, pe);
	check_symmetric(name, "the remote array", remote, bytes);
}

namespace {

void check_word(context *c, const void *target, size_t bytes, int pe, const char *name)
{
	check_context(c, name);
	check_member(name, c, pe);
	check_symmetric(name, "target", target, bytes);
	if (g.env.debug) {
		debug_remote(name, "target", target, bytes);
		order_compare(name, target, teams::world_rank(*c->owner, pe));
	}
	if (reinterpret_cast<uintptr_t>(target) % bytes)
		fail(name, "target %p is not aligned to its %zu bytes", target, bytes);
}

ssize_t amo_mapped(context *c, atomic_word &w, uint64_t *old, bool fetch)
{
	const fi_ops_atomic *amo = c->ep->atomic;
	const fi_msg_atomic &m = w.m;
	return retry([&] {
		if (m.op == FI_CSWAP)
			return amo->compwrite(c->ep, w.operand.addr, 1, nullptr, w.with.addr, nullptr, old, nullptr,
					      m.addr, w.remote.addr, 0, m.datatype, m.op, nullptr);
		if (fetch)
			return amo->readwrite(c->ep, w.operand.addr, 1, nullptr, old, nullptr, m.addr, w.remote.addr, 0,
					      m.datatype, m.op, nullptr);
		return amo->write(c->ep, w.operand.addr, 1, nullptr, m.addr, w.remote.addr, 0, m.datatype, m.op,
				  nullptr);
	});
}

} // namespace

namespace {

// False: nothing was done; the long way does it or reports the error.
bool fetch_short(const context *c, const void *target, int pe, fi_datatype type, fi_op op, uint64_t value,
		 uint64_t compare, uint64_t *old)
{
	return g.net.ops->fetch_word(c->ep, reinterpret_cast<uintptr_t>(target), type, op, value, compare,
				     static_cast<fi_addr_t>(pe), old) == 0;
}

} // namespace

uint64_t cold_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		  bool fetch, const char *name)
{
	check_word(c, target, type == FI_UINT64 ? 8 : 4, pe, name);
	uint64_t old = 0;
	if (PGAS_UNLIKELY(g.devices) &&
	    device_amo(c, target, pe, type, op, value, compare, fetch ? &old : nullptr, name))
		return old;
	atomic_word w(&value, &compare, &old, target, pe, type, op);
	const fi_ops_atomic *amo = c->ep->atomic;
	if (mapped(c, pe))
		finish_mapped(c, amo_mapped(c, w, &old, fetch), name, pe);
	else if ((fetch || op == FI_CSWAP) && fetch_short(c, target, pe, type, op, value, compare, &old))
		return old;
	else if (op == FI_CSWAP)
		finish_far(c, amo->compwritemsg(c->ep, &w.m, &w.with, nullptr, 1, &w.out, nullptr, 1, FI_PGAS_WAIT),
			   name, pe);
	else if (fetch)
		finish_far(c, amo->readwritemsg(c->ep, &w.m, &w.out, nullptr, 1, FI_PGAS_WAIT), name, pe);
	else
		finish_taken(c, retry([&] {
				     return amo->inject(c->ep, &value, 1, static_cast<fi_addr_t>(pe),
							reinterpret_cast<uintptr_t>(target), 0, type, op);
			     }),
			     name, pe);
	return old;
}

// A fence for this one operation: it requires nothing of other PEs, and waits only where the wire does not keep order.
void cold_amo_behind(context *c, uint64_t *target, int pe, fi_op op, uint64_t value, const char *name)
{
	check_word(c, target, sizeof *target, pe, name);
	if (PGAS_UNLIKELY(g.devices)) { // data before signal, whatever memory each is in
		device_finish(name);
		if (device_amo(c, target, pe, FI_UINT64, op, value, 0, nullptr, name))
			return;
	}
	atomic_word w(&value, nullptr, nullptr, target, pe, FI_UINT64, op);
	pgas_fence_stores(); // data before signal
	if (mapped(c, pe))
		finish_mapped(c, amo_mapped(c, w, nullptr, false), name, pe);
	else
		finish_taken(c, retry([&] { return c->ep->atomic->writemsg(c->ep, &w.m, FI_INJECT | FI_FENCE); }), name,
			     pe);
}

// --- completion and order --------------------------------------------------------------------------------------------

void check_lost(const context *c, const char *name)
{
	fi_addr_t dest = 0;
	const int err = g.net.ops->failed(c->ep, &dest);
	if (PGAS_LIKELY(!err))
		return;
	if (dest >= static_cast<fi_addr_t>(c->owner->size))
		fail(name, "%s", pgas_strerror(-err));
	failed_to(c, static_cast<int>(dest), err, name);
}

// Subtracts only what it has waited for. Two threads at a time would subtract it twice.
void cold_quiet(context *c)
{
	check_context(c, "shmem_quiet");
	const pgas::mutex_holder alone(g.quiet_mutex, g.thread_level == SHMEM_THREAD_MULTIPLE);
	const uint64_t before = pgas_load_acquire(&c->pending); // pairs with add_release in finish_taken()
	if (PGAS_UNLIKELY(g.devices))
		device_finish("shmem_quiet");
	g.net.ops->drain(c->ep);
	pgas_add_relaxed(&c->pending, 0 - before);
	check_lost(c, "shmem_quiet");
}

void cold_fence(context *c)
{
	check_context(c, "shmem_fence");
	if (PGAS_UNLIKELY(g.devices))
		device_finish("shmem_fence");
	g.net.ops->fence(c->ep);
	check_lost(c, "shmem_fence");
}

} // namespace shmem
