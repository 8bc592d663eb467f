// SPDX-License-Identifier: BSD-3-Clause
//
// Nodes without a window: transfers through the endpoint, and which of them are still in progress. gasneti_pending
// counts transfers started with an implicit handle since the last sync. All explicit handles are the same: the handle
// is complete when everything started before is complete.
#include "core/gasnet_objects.hpp"
#include "gasnet_rma.hpp"

#include <algorithm>
#include <cstring>

#include <pgas/pgas_base.hpp>

extern "C" {
uint64_t gasneti_pending;
}

namespace gasnet {
namespace {

pthread_mutex_t g_sync_mutex = PTHREAD_MUTEX_INITIALIZER;

void check_node(const char *call, gasnet_node_t node)
{
	check_attached(call);
	if (node >= gasneti_front.nodes)
		fail("%s: node %u of %u", call, node, gasneti_front.nodes);
}

void check_rc(const char *call, gasnet_node_t node, ssize_t rc)
{
	if (PGAS_UNLIKELY(rc != 0))
		lost(call, node, static_cast<int>(rc));
}

// If there is no room, makes progress on everything; handlers do not run.
template <class Call>
ssize_t retry(Call &&call)
{
	pgas_backoff wait{};
	for (;;) {
		const ssize_t rc = call();
		if (rc != -FI_EAGAIN)
			return rc;
		if (!g_gasnet.net.ops->progress(g_gasnet.net.domain))
			pgas_backoff_pause(&wait);
	}
}

// Where an address of a node lies: in its region, or in client memory.
struct far_address {
	uint64_t addr, key;
};
far_address far_address_of(gasnet_node_t node, const void *address)
{
	const auto pos = reinterpret_cast<uint64_t>(address);
	if (is_outside(node)) {
		const uint64_t offset = pos - reinterpret_cast<uint64_t>(g_gasnet.segments[node].addr);
		if (offset < g_gasnet.segments[node].size)
			return {offset, kOutsideKey};
	}
	return {pos, 0};
}
bool is_own_memory(gasnet_node_t node)
{
	return is_outside(node) && node == gasneti_front.mynode;
}

struct transfer {
	iovec iov;
	fi_rma_iov remote;
	fi_msg_rma m{};

	transfer(const void *mine, far_address theirs, size_t bytes, gasnet_node_t node)
		: iov{const_cast<void *>(mine), bytes}, remote{theirs.addr, bytes, theirs.key}
	{
		m.msg_iov = &iov;
		m.iov_count = 1;
		m.addr = node;
		m.rma_iov = &remote;
		m.rma_iov_count = 1;
	}
	transfer(const transfer &) = delete;
};

gasnet_handle_t taken(int implicit, gasneti_until until)
{
	if (!implicit)
		return until == GASNETI_REUSABLE ? &g_transfers_reusable : &g_transfers;
	pgas_add_release(&gasneti_pending, uint64_t{1}); // pairs with load_acquire in gasneti_sync_far()
	return GASNET_INVALID_HANDLE;
}

PGAS_HOT gasnet_handle_t put(gasnet_node_t node, const transfer &t, gasneti_until until, int implicit)
{
	const bool copied = t.iov.iov_len <= g_gasnet.net.info->tx_attr->inject_size;
	if (until == GASNETI_DONE) {
		check_rc("put", node, g_gasnet.rma->rma->writemsg(g_gasnet.rma, &t.m, FI_PGAS_WAIT));
		return GASNET_INVALID_HANDLE;
	}
	if (until == GASNETI_REUSABLE && !copied) {
		check_rc("put", node,
			 g_gasnet.rma->rma->writemsg(g_gasnet.rma, &t.m, FI_PGAS_WAIT | FI_TRANSMIT_COMPLETE));
		return taken(implicit, until);
	}
	const uint64_t flags = copied ? FI_INJECT : 0;
	check_rc("put", node, retry([&] { return g_gasnet.rma->rma->writemsg(g_gasnet.rma, &t.m, flags); }));
	return taken(implicit, until);
}

PGAS_HOT gasnet_handle_t get(gasnet_node_t node, const transfer &t, gasneti_until until, int implicit)
{
	if (until == GASNETI_DONE) {
		check_rc("get", node, g_gasnet.rma->rma->readmsg(g_gasnet.rma, &t.m, FI_PGAS_WAIT));
		return GASNET_INVALID_HANDLE;
	}
	check_rc("get", node, retry([&] { return g_gasnet.rma->rma->readmsg(g_gasnet.rma, &t.m, 0); }));
	return taken(implicit, GASNETI_TAKEN);
}

// Ends the job if a transfer failed after its call had returned.
void check_lost(const char *call) noexcept
{
	fi_addr_t dest = 0;
	if (const int err = g_gasnet.net.ops->failed(g_gasnet.rma, &dest))
		lost(call, static_cast<gasnet_node_t>(dest), err);
}

// True if all transfers started before are complete.
bool settle(gasneti_op *, const char *call)
{
	if (g_gasnet.net.ops->settled(g_gasnet.rma) != 1 || !copies_are_idle(call))
		return false;
	check_lost(call);
	return true;
}

// An atomic operation on one word at that node.
struct atomic_word {
	uint64_t value, compare;
	fi_ioc operand, out, with;
	fi_rma_ioc remote;
	fi_msg_atomic m{};

	atomic_word(gasnet_node_t node, void *target, fi_datatype type, fi_op op, uint64_t v, uint64_t c, uint64_t *old)
		: value(v), compare(c), operand{&value, 1}, out{old, 1}, with{&compare, 1}
	{
		const far_address there = far_address_of(node, target);
		remote = {there.addr, 1, there.key};
		m.msg_iov = &operand;
		m.iov_count = 1;
		m.addr = node;
		m.rma_iov = &remote;
		m.rma_iov_count = 1;
		m.datatype = type;
		m.op = op;
	}
	atomic_word(const atomic_word &) = delete;
};

ssize_t send_word(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value)
{
	const atomic_word w(node, mine, FI_UINT64, op, value, 0, nullptr);
	pgas_fence_stores(); // earlier writes of this node
	return retry([&] { return g_gasnet.rma->atomic->writemsg(g_gasnet.rma, &w.m, FI_INJECT | FI_FENCE); });
}

} // namespace

gasneti_op g_transfers{kEvent, settle}, g_transfers_reusable{kEvent, settle};

void far_update(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept
{
	check_rc("message between hosts", node, send_word(node, mine, op, value));
}

gasnet_handle_t far_atomic(gasnet_node_t node, void *target, fi_datatype type, fi_op op, uint64_t value,
			   uint64_t compare, uint64_t *old, int implicit) noexcept
{
	uint64_t ignored;
	const bool swap = op == FI_CSWAP;
	atomic_word w(node, target, type, op, value, compare, old ? old : &ignored);
	const fi_ops_atomic *amo = g_gasnet.rma->atomic;
	pgas_fence_stores(); // earlier writes of this node
	if (!old && !swap) {
		check_rc("atomic", node, retry([&] { return amo->writemsg(g_gasnet.rma, &w.m, FI_INJECT); }));
		return taken(implicit, GASNETI_TAKEN);
	}
	check_rc("atomic", node, retry([&] {
			 return swap ? amo->compwritemsg(g_gasnet.rma, &w.m, &w.with, nullptr, 1, &w.out, nullptr, 1,
							 FI_PGAS_WAIT)
				     : amo->readwritemsg(g_gasnet.rma, &w.m, &w.out, nullptr, 1, FI_PGAS_WAIT);
		 }));
	return GASNET_INVALID_HANDLE;
}

uint64_t far_fetch(gasnet_node_t node, uint64_t *mine, fi_op op, uint64_t value) noexcept
{
	uint64_t before = 0;
	atomic_word w(node, mine, FI_UINT64, op, value, 0, &before);
	pgas_fence_stores(); // earlier writes of this node
	check_rc("message between hosts", node,
		 g_gasnet.rma->atomic->readwritemsg(g_gasnet.rma, &w.m, &w.out, nullptr, 1, FI_PGAS_WAIT | FI_FENCE));
	return before;
}

void far_settle() noexcept
{
	g_gasnet.net.ops->drain(g_gasnet.rma);
	check_lost("collective");
}

void far_try_add(gasnet_node_t node, uint64_t *mine) noexcept
{
	send_word(node, mine, FI_SUM, 1);
}

gasnet_handle_t far_put_key(gasnet_node_t node, uint64_t key, uint64_t offset, const void *src, size_t nbytes,
			    gasneti_until until, int implicit) noexcept
{
	return put(node, transfer(src, {offset, key}, nbytes, node), until, implicit);
}

gasnet_handle_t far_get_key(void *dest, gasnet_node_t node, uint64_t key, uint64_t offset, size_t nbytes,
			    gasneti_until until, int implicit) noexcept
{
	return get(node, transfer(dest, {offset, key}, nbytes, node), until, implicit);
}

void far_order(gasnet_node_t node, uint64_t key, const void *bytes, size_t nbytes) noexcept
{
	check_rc("order for a device", node,
		 retry([&] { return g_gasnet.rma->rma->inject(g_gasnet.rma, bytes, nbytes, node, 0, key); }));
}

void far_fence() noexcept
{
	g_gasnet.net.ops->fence(g_gasnet.rma);
}

gasnet_handle_t far_taken(int implicit, gasneti_until until) noexcept
{
	return taken(implicit, until);
}

void far_finish(const char *call) noexcept
{
	g_gasnet.net.ops->drain(g_gasnet.rma);
	finish_copies(call);
	check_lost(call);
}

} // namespace gasnet

using namespace gasnet;

extern "C" gasnet_handle_t gasneti_put_far(gasnet_node_t node, void *dest, const void *src, size_t nbytes,
					   enum gasneti_until until, int implicit) noexcept
{
	check_node("put", node);
	if (!nbytes)
		return GASNET_INVALID_HANDLE;
	if (is_own_memory(node)) {
		gasneti_put_here(dest, src, nbytes);
		return GASNET_INVALID_HANDLE;
	}
	return put(node, transfer(src, far_address_of(node, dest), nbytes, node), until, implicit);
}

extern "C" gasnet_handle_t gasneti_get_far(void *dest, gasnet_node_t node, const void *src, size_t nbytes,
					   enum gasneti_until until, int implicit) noexcept
{
	check_node("get", node);
	if (!nbytes)
		return GASNET_INVALID_HANDLE;
	if (is_own_memory(node)) {
		gasneti_get_here(dest, src, nbytes);
		return GASNET_INVALID_HANDLE;
	}
	return get(node, transfer(dest, far_address_of(node, src), nbytes, node), until, implicit);
}

extern "C" void gasneti_memset_far(gasnet_node_t node, void *dest, int val, size_t nbytes) noexcept
{
	check_node("memset", node);
	std::vector<char> piece(std::min(nbytes, size_t{65536}), static_cast<char>(val));
	for (size_t pos = 0; pos < nbytes; pos += piece.size())
		gasneti_put_far(node, static_cast<char *>(dest) + pos, piece.data(),
				std::min(piece.size(), nbytes - pos), GASNETI_DONE, 0);
}

// Subtracts what it has waited for. Two threads at a time would subtract it twice.
extern "C" void gasneti_sync_far(void) noexcept
{
	const pgas::mutex_holder alone(g_sync_mutex, kThreads);
	const uint64_t before = pgas_load_acquire(&gasneti_pending); // pairs with add_release in taken()
	g_gasnet.net.ops->drain(g_gasnet.rma);
	finish_copies("sync");
	pgas_add_relaxed(&gasneti_pending, 0 - before);
	check_lost("sync");
}

extern "C" int gasneti_try_far(void) noexcept
{
	const pgas::mutex_holder alone(g_sync_mutex, kThreads);
	const uint64_t before = pgas_load_acquire(&gasneti_pending); // pairs with add_release in taken()
	if (g_gasnet.net.ops->settled(g_gasnet.rma) != 1 || !copies_are_idle("sync"))
		return GASNET_ERR_NOT_READY;
	pgas_add_relaxed(&gasneti_pending, 0 - before);
	check_lost("sync");
	return GASNET_OK;
}

extern "C" gasnet_handle_t gasneti_region_handle(void) noexcept
{
	return &g_transfers;
}

extern "C" gasnet_handle_t gasneti_local_leaf(gasnet_handle_t root) noexcept
{
	return root == &g_transfers_reusable ? GASNET_INVALID_HANDLE : root;
}

// --- the same through a team; pairs of other endpoints than the first have no ranks ----------------------------------

namespace {

struct value_bytes { // its low bytes, on machines of either byte order
	gex_RMA_Value_t value;
	char *pos;

	value_bytes(gex_RMA_Value_t v, size_t nbytes) : value(v), pos(reinterpret_cast<char *>(&value))
	{
		if (nbytes > sizeof value)
			fail("put or get of a value: %zu bytes, at most %zu", nbytes, sizeof value);
		if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
			pos += sizeof value - nbytes;
	}
	value_bytes(const value_bytes &) = delete;
};

} // namespace

extern "C" gex_Event_t gasneti_tm_put_far(gex_TM_t tm, gex_Rank_t rank, void *dest, const void *src, size_t nbytes,
					  enum gasneti_until until, int implicit) noexcept
{
	if (PGAS_UNLIKELY(rank >= tm->size))
		return g_pair_calls->put(tm, rank, dest, src, nbytes, until, implicit);
	return gasneti_put_some(tm->jobranks[rank], dest, src, nbytes, until, implicit);
}

extern "C" gex_Event_t gasneti_tm_get_far(gex_TM_t tm, void *dest, gex_Rank_t rank, const void *src, size_t nbytes,
					  enum gasneti_until until, int implicit) noexcept
{
	if (PGAS_UNLIKELY(rank >= tm->size))
		return g_pair_calls->get(tm, dest, rank, src, nbytes, until, implicit);
	return gasneti_get_some(dest, tm->jobranks[rank], src, nbytes, until, implicit);
}

extern "C" gex_Event_t gasneti_tm_put_odd(gex_TM_t tm, gex_Rank_t rank, void *dest, gex_RMA_Value_t value,
					  size_t nbytes, enum gasneti_until until, int implicit) noexcept
{
	if (PGAS_LIKELY(rank < tm->size))
		return gasneti_put_odd(tm->jobranks[rank], dest, value, nbytes, until, implicit);
	value_bytes bytes(value, nbytes);
	return g_pair_calls->put(tm, rank, dest, bytes.pos, nbytes, until, implicit);
}

extern "C" gex_RMA_Value_t gasneti_tm_get_odd(gex_TM_t tm, gex_Rank_t rank, const void *src, size_t nbytes) noexcept
{
	if (PGAS_LIKELY(rank < tm->size))
		return gasneti_get_odd(tm->jobranks[rank], src, nbytes);
	value_bytes bytes(0, nbytes);
	g_pair_calls->get(tm, bytes.pos, rank, src, nbytes, GASNETI_DONE, 0);
	return bytes.value;
}
