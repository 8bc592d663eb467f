// SPDX-License-Identifier: BSD-3-Clause
//
// Cold exits of the data path: first access to a peer, threads that share a context, memory that is not mapped, and all
// wrong use. Arguments are checked here; then the driver of a device (device/) or the provider (shmem_fabric.cpp) does
// the work.
#include "shmem_cold.hpp"
#include "shmem_check.hpp"
#include "shmem_debug.hpp"
#include "core/shmem_fail.hpp"
#include "device/shmem_device.hpp"

#include <time.h>

#include <cstdio>
#include <cstring>

#include <pgas/pgas_base.hpp>

namespace shmem {
namespace {

void check_context(context *c, const char *what)
{
	check_running(what);
	if (c == from_handle(SHMEM_CTX_INVALID))
		fail(what, "the context is SHMEM_CTX_INVALID");
	if (PGAS_UNLIKELY(g_shmem.env.debug)) {
		debug_call(what);
		if (!c->owner)
			fail(what, "the context was destroyed");
	}
}

// PE numbers are ranks in the context's team.
void check_member(const char *what, const context *c, int pe)
{
	const team &t = *c->owner;
	if (PGAS_UNLIKELY(pe < 0 || pe >= t.size))
		fail(what, "PE number %d is outside 0..%d%s", pe, t.size - 1,
		     &t == &g_teams[0] ? "" : " of the context's team");
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
	if (g_shmem.env.debug) {
		debug_remote(name, "dest", dest, bytes);
		debug_local(name, "source", source, bytes);
		order_compare(name, dest, teams::world_rank(*c->owner, pe));
		debug_overlap(name, dest, source, bytes, teams::world_rank(*c->owner, pe));
	}
	if (PGAS_UNLIKELY(g_shmem.devices) && device_put(c, dest, source, bytes, pe, name, when))
		return;
	fabric_put(c, dest, source, bytes, pe, name, when, more);
}

} // namespace

void cold_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	put_checked(c, dest, source, bytes, pe, name, when, 0);
}

void cold_put_more(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
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
	if (g_shmem.env.debug) {
		debug_remote(name, "source", source, bytes);
		debug_local(name, "dest", dest, bytes);
		order_compare(name, source, teams::world_rank(*c->owner, pe));
		debug_overlap(name, dest, source, bytes, teams::world_rank(*c->owner, pe));
	}
	if (PGAS_UNLIKELY(g_shmem.devices) && device_get(c, dest, source, bytes, pe, name, when))
		return;
	fabric_get(c, dest, source, bytes, pe, name, when);
}

namespace {

// Separate from p_by_device(), which would need a frame for the address of its value.
[[gnu::cold, gnu::noinline]] void p_by_address(context *c, void *dest, uint64_t value, size_t bytes, int pe,
					       const char *name) noexcept
{
	cold_put(c, dest, &value, bytes, pe, name);
}

// A put of one word in a job that has devices, usually to host memory; addresses between device partitions take the
// long way, and so do unusable contexts. budget: 40 instructions from the call on (paths.def: shmem_long_p_devices)
[[gnu::noinline]] void p_by_device(context *c, void *dest, uint64_t value, size_t bytes, int pe,
				   const char *name) noexcept
{
	const auto addr = reinterpret_cast<uintptr_t>(dest);
	if (PGAS_UNLIKELY(addr - g_partitions.begin < g_partitions.span || g_shmem.env.debug ||
			  static_cast<unsigned>(pe) >= static_cast<unsigned>(c->owner->size)))
		return p_by_address(c, dest, value, bytes, pe, name);
	const uint64_t window = pgas_hot_window(reinterpret_cast<const pgas_ep *>(c->ep), static_cast<uint64_t>(pe), 0,
						0, PGAS_UNCHECKED);
	if (PGAS_UNLIKELY(!window))
		return p_by_address(c, dest, value, bytes, pe, name);
	void *there = reinterpret_cast<void *>(window + addr);
	if (PGAS_LIKELY(bytes == 8))
		pgas_copy_out(there, &value, 8);
	else if (bytes == 4)
		pgas_copy_out(there, &value, 4);
	else if (bytes == 2)
		pgas_copy_out(there, &value, 2);
	else
		pgas_copy_out(there, &value, 1);
}

// The usual case of a call for another host: the arguments are valid and the wire accepts it. Otherwise nothing was
// done, and the long way finds out why. paths.def: shmem_long_p_far
[[gnu::noinline]] void p_far(context *c, void *dest, uint64_t value, size_t bytes, int pe, const char *name) noexcept
{
	if (PGAS_LIKELY(g_shmem.short_ways->put_word(c->ep, reinterpret_cast<uintptr_t>(dest), value, bytes,
						     static_cast<fi_addr_t>(pe)) == 0)) {
		pgas_add_release(&c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
		return;
	}
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_aligned(name, "dest", dest, bytes);
	cold_put(c, dest, &value, bytes, pe, name); // little endian: the value's bytes come first
}

} // namespace

// Two calls, so that neither needs stack space for the other.
void cold_p(context *c, void *dest, uint64_t value, size_t bytes, int pe, const char *name) noexcept
{
	if (PGAS_LIKELY(c->plain))
		p_far(c, dest, value, bytes, pe, name);
	else
		p_by_device(c, dest, value, bytes, pe, name);
}

uint64_t cold_g(context *c, const void *source, size_t bytes, int pe, const char *name)
{
	uint64_t value = 0;
	if (c->plain && PGAS_LIKELY(g_shmem.short_ways->get_word(c->ep, reinterpret_cast<uintptr_t>(source), bytes,
								 static_cast<fi_addr_t>(pe), &value) == 0))
		return value;
	if (PGAS_UNLIKELY(g_shmem.env.debug))
		debug_aligned(name, "source", source, bytes);
	cold_get(c, &value, source, bytes, pe, name);
	return value;
}
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

bool cold_strided(context *c, const char *name, void *dest, const void *source, size_t dest_step, size_t source_step,
		  size_t block, size_t count, int pe, bool is_put)
{
	if (!device_takes_strided(c, dest, source, block, count, pe, is_put))
		return false;
	check_context(c, name);
	check_member(name, c, pe);
	check_symmetric(name, "the remote array", is_put ? dest : source,
			(count - 1) * (is_put ? dest_step : source_step) + block);
	device_strided(c, name, dest, source, dest_step, source_step, block, count, pe, is_put);
	return true;
}

namespace {

void check_word(context *c, const void *target, size_t bytes, int pe, const char *name)
{
	check_context(c, name);
	check_member(name, c, pe);
	check_symmetric(name, "target", target, bytes);
	if (g_shmem.env.debug) {
		debug_remote(name, "target", target, bytes);
		order_compare(name, target, teams::world_rank(*c->owner, pe));
	}
	if (reinterpret_cast<uintptr_t>(target) % bytes)
		fail(name, "target %p is not aligned to its %zu bytes", target, bytes);
}

} // namespace

uint64_t cold_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		  bool fetch, const char *name)
{
	check_word(c, target, type == FI_UINT64 ? 8 : 4, pe, name);
	uint64_t old = 0;
	if (PGAS_UNLIKELY(g_shmem.devices) &&
	    device_amo(c, target, pe, type, op, value, compare, fetch ? &old : nullptr, name))
		return old;
	return fabric_amo(c, target, pe, type, op, value, compare, fetch, name);
}

// First the usual case of a PE of another host, as in p_far().
void cold_amo_nbi(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		  void *fetch, const char *name)
{
	const size_t bytes = type == FI_UINT64 ? 8 : 4;
	const bool plain = c->plain && reinterpret_cast<uintptr_t>(target) % bytes == 0;
	if (plain && fabric_start_amo(*g_shmem.short_ways, c, target, pe, type, op, value, compare, fetch))
		return;
	check_word(c, target, bytes, pe, name);
	uint64_t old = 0;
	if (!g_shmem.devices || !device_amo(c, target, pe, type, op, value, compare, &old, name)) {
		if (fabric_start_amo(*g_shmem.net.ops, c, target, pe, type, op, value, compare, fetch))
			return;
		old = fabric_amo(c, target, pe, type, op, value, compare, true, name);
	}
	memcpy(fetch, &old, bytes); // little endian
}

void cold_signal_word(context *c, uint64_t *target, int pe, fi_op op, uint64_t value, const char *name)
{
	check_word(c, target, sizeof *target, pe, name);
	if (PGAS_UNLIKELY(g_shmem.devices)) { // data before signal, whatever memory each is in
		device_finish(name);
		if (device_amo(c, target, pe, FI_UINT64, op, value, 0, nullptr, name))
			return;
	}
	fabric_signal(c, target, pe, op, value, name);
}

void cold_signal(context *c, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, const char *name)
{
	if (sig_op != SHMEM_SIGNAL_SET && sig_op != SHMEM_SIGNAL_ADD)
		fail(name, "signal operator is %d; it must be SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD", sig_op);
	cold_signal_word(c, sig_addr, pe, sig_op == SHMEM_SIGNAL_SET ? FI_ATOMIC_WRITE : FI_SUM, signal, name);
}

// --- completion and order --------------------------------------------------------------------------------------------

// Subtracts only what it has waited for. Two threads at a time would subtract it twice.
void cold_quiet(context *c)
{
	check_context(c, "shmem_quiet");
	const pgas::mutex_holder alone(g_shmem.quiet_mutex, g_shmem.thread_level == SHMEM_THREAD_MULTIPLE);
	const uint64_t before = pgas_load_acquire(&c->pending); // pairs with add_release in count_pending()
	if (PGAS_UNLIKELY(g_shmem.devices))
		device_finish("shmem_quiet");
	g_shmem.net.ops->drain(c->ep);
	pgas_add_relaxed(&c->pending, 0 - before);
	check_lost(c, "shmem_quiet");
}

void cold_fence(context *c)
{
	check_context(c, "shmem_fence");
	if (PGAS_UNLIKELY(g_shmem.devices))
		device_finish("shmem_fence");
	g_shmem.net.ops->fence(c->ep);
	check_lost(c, "shmem_fence");
}

} // namespace shmem
