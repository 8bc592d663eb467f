// SPDX-License-Identifier: BSD-3-Clause
//
// Vector, indexed and strided transfers: walks both sides as lists of contiguous pieces, and copies where these
// overlap.
#include "am/gasnet_message.hpp"
#include "core/gasnet_objects.hpp"

#include <gasnet_vis.h>

namespace gasnet {
namespace {

// A side of a vector or indexed transfer: its pieces in order.
class vector_side {
public:
	vector_side(const gasnet_memvec_t *list, size_t count) : list_(list), count_(count) {}
	bool at(size_t i, char **p, size_t *len) const
	{
		if (i >= count_)
			return false;
		*p = static_cast<char *>(list_[i].addr);
		*len = list_[i].len;
		return true;
	}

private:
	const gasnet_memvec_t *list_;
	size_t count_;
};

class indexed_side {
public:
	indexed_side(void *const *list, size_t count, size_t len) : list_(list), count_(count), len_(len) {}
	bool at(size_t i, char **p, size_t *len) const
	{
		if (i >= count_)
			return false;
		*p = static_cast<char *>(list_[i]);
		*len = len_;
		return true;
	}

private:
	void *const *list_;
	size_t count_, len_;
};

// Calls move(dst, src, bytes) for each stretch that is contiguous on both sides. Both sides have the same number of
// bytes.
template <class Side, class Move>
void walk(const char *call, const Side &dest, const Side &source, Move &move)
{
	size_t ti = 0, fi = 0, t_left = 0, f_left = 0;
	char *t = nullptr, *f = nullptr;
	for (;;) {
		bool t_more = true, f_more = true;
		while (!t_left && (t_more = dest.at(ti++, &t, &t_left)))
			;
		while (!f_left && (f_more = source.at(fi++, &f, &f_left)))
			;
		if (!t_more || !f_more) {
			if (t_more != f_more)
				fail("%s: the two lists have different numbers of bytes", call);
			return;
		}
		const size_t n = t_left < f_left ? t_left : f_left;
		move(t, f, n);
		t += n, f += n, t_left -= n, f_left -= n;
	}
}

// Moves elemsz bytes, count[level - 1] times at strides[level - 1], and so on from the last level to the first.
template <class Move>
void walk_strides(char *dst, const ptrdiff_t *to_strides, char *src, const ptrdiff_t *from_strides, size_t elemsz,
		  const size_t *count, size_t level, Move &move)
{
	if (level == 0) {
		move(dst, src, elemsz);
		return;
	}
	for (size_t i = 0; i < count[level - 1]; i++) {
		walk_strides(dst, to_strides, src, from_strides, elemsz, count, level - 1, move);
		dst += to_strides[level - 1];
		src += from_strides[level - 1];
	}
}

// Starts the transfers of all pieces first if the node has no window; the last one's handle stands for all of them.
struct mover {
	gasnet_node_t node;
	bool get;
	const char *call;
	const team *pair = nullptr; // a pair whose endpoints are not both the first
	gasnet_handle_t in_flight = GASNET_INVALID_HANDLE;

	gasnet_handle_t move(char *dst, char *src, size_t n) const
	{
		if (PGAS_UNLIKELY(pair))
			return get ? g_pair_calls->move(call, false, pair, node, src, dst, n)
				   : g_pair_calls->move(call, true, pair, node, dst, src, n);
		return get ? gasneti_get_some(dst, node, src, n, GASNETI_TAKEN, 0)
			   : gasneti_put_some(node, dst, src, n, GASNETI_TAKEN, 0);
	}
	void operator()(char *dst, char *src, size_t n)
	{
		const gasnet_handle_t h = move(dst, src, n);
		if (h != GASNET_INVALID_HANDLE)
			in_flight = h;
	}
	~mover() { gasneti_sync_handle(in_flight, call); }
};

mover mover_to(const char *call, gex_TM_t tm, gex_Rank_t rank, bool get)
{
	if (PGAS_LIKELY(rank < tm->size))
		return {tm->jobranks[rank], get, call};
	return {rank, get, call, able_pair_of(call, tm, rank, GEX_EP_CAPABILITY_VIS)};
}

void vector(mover move, size_t dstcount, const gasnet_memvec_t *dstlist, size_t srccount,
	    const gasnet_memvec_t *srclist)
{
	walk(move.call, vector_side(dstlist, dstcount), vector_side(srclist, srccount), move);
}

// The same layout in memory, with other field names.
const gasnet_memvec_t *memvec(const gex_Memvec_t *list)
{
	static_assert(sizeof(gasnet_memvec_t) == sizeof(gex_Memvec_t) &&
		      offsetof(gasnet_memvec_t, len) == offsetof(gex_Memvec_t, gex_len));
	return reinterpret_cast<const gasnet_memvec_t *>(list);
}

void indexed(mover move, size_t dstcount, void *const *dstlist, size_t dstlen, size_t srccount, void *const *srclist,
	     size_t srclen)
{
	walk(move.call, indexed_side(dstlist, dstcount, dstlen), indexed_side(srclist, srccount, srclen), move);
}

void strided(mover move, void *dst, const ptrdiff_t *dststrides, void *src, const ptrdiff_t *srcstrides, size_t elemsz,
	     const size_t *count, size_t levels)
{
	if (elemsz)
		walk_strides(static_cast<char *>(dst), dststrides, static_cast<char *>(src), srcstrides, elemsz, count,
			     levels, move);
}

// GASNet-1's strides are unsigned.
const ptrdiff_t *strides(const size_t *list)
{
	return reinterpret_cast<const ptrdiff_t *>(list);
}

// --- the handler that follows the next put ---------------------------------------------------------------------------

struct peer_completion {
	gex_AM_Index_t handler; // 0: none
	const void *source;
	size_t bytes;
};
thread_local peer_completion t_completion;

// The put is complete: notifies its peer by a message that never waits.
void tell_peer(const mover &m)
{
	if (PGAS_LIKELY(!t_completion.handler))
		return;
	const peer_completion c = t_completion;
	t_completion = {};
	gasneti_token as_if{};
	as_if.source = m.node; // zeroes mark a request
	if (m.pair) {          // as if the peer had sent a request
		as_if.sender = static_cast<uint8_t>(m.pair->remote);
		as_if.receiver = static_cast<uint8_t>(m.pair->local->index);
	}
	gasneti_reply_medium(&as_if, GASNETI_WORD(c.handler, 0, GASNETI_MEDIUM | GASNETI_REPLY), c.source, c.bytes,
			     nullptr);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

// --- GASNet-EX -------------------------------------------------------------------------------------------------------

extern "C" void gex_VIS_SetPeerCompletionHandler(gex_AM_Index_t handler, const void *source_addr, size_t nbytes,
						 gex_Flags_t) noexcept
{
	if (nbytes > GEX_VIS_MAX_PEERCOMPLETION)
		fail("gex_VIS_SetPeerCompletionHandler: %zu bytes, at most %zu", nbytes, GEX_VIS_MAX_PEERCOMPLETION);
	t_completion = {handler, source_addr, nbytes};
}

extern "C" int gex_VIS_VectorGetBlocking(gex_TM_t tm, size_t dstcount, gex_Memvec_t const dstlist[], gex_Rank_t srcrank,
					 size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t) noexcept
{
	vector(mover_to("gex_VIS_VectorGet", tm, srcrank, true), dstcount, memvec(dstlist), srccount, memvec(srclist));
	return 0;
}

extern "C" int gex_VIS_VectorPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, gex_Memvec_t const dstlist[],
					 size_t srccount, gex_Memvec_t const srclist[], gex_Flags_t) noexcept
{
	const mover dest = mover_to("gex_VIS_VectorPut", tm, dstrank, false);
	vector(dest, dstcount, memvec(dstlist), srccount, memvec(srclist));
	tell_peer(dest);
	return 0;
}

extern "C" int gex_VIS_IndexedGetBlocking(gex_TM_t tm, size_t dstcount, void *const dstlist[], size_t dstlen,
					  gex_Rank_t srcrank, size_t srccount, void *const srclist[], size_t srclen,
					  gex_Flags_t) noexcept
{
	indexed(mover_to("gex_VIS_IndexedGet", tm, srcrank, true), dstcount, dstlist, dstlen, srccount, srclist,
		srclen);
	return 0;
}

extern "C" int gex_VIS_IndexedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, size_t dstcount, void *const dstlist[],
					  size_t dstlen, size_t srccount, void *const srclist[], size_t srclen,
					  gex_Flags_t) noexcept
{
	const mover dest = mover_to("gex_VIS_IndexedPut", tm, dstrank, false);
	indexed(dest, dstcount, dstlist, dstlen, srccount, srclist, srclen);
	tell_peer(dest);
	return 0;
}

// An empty transfer names no node: its rank is not checked.
static bool nothing(size_t elemsz, const size_t *count, size_t levels)
{
	for (size_t i = 0; i < levels && elemsz; i++)
		elemsz = count[i] ? elemsz : 0;
	return !elemsz;
}

extern "C" int gex_VIS_StridedGetBlocking(gex_TM_t tm, void *dstaddr, const ptrdiff_t dststrides[], gex_Rank_t srcrank,
					  void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz,
					  const size_t count[], size_t stridelevels, gex_Flags_t) noexcept
{
	if (nothing(elemsz, count, stridelevels))
		return 0;
	strided(mover_to("gex_VIS_StridedGet", tm, srcrank, true), dstaddr, dststrides, srcaddr, srcstrides, elemsz,
		count, stridelevels);
	return 0;
}

extern "C" int gex_VIS_StridedPutBlocking(gex_TM_t tm, gex_Rank_t dstrank, void *dstaddr, const ptrdiff_t dststrides[],
					  void *srcaddr, const ptrdiff_t srcstrides[], size_t elemsz,
					  const size_t count[], size_t stridelevels, gex_Flags_t) noexcept
{
	const bool empty = nothing(elemsz, count, stridelevels);
	if (empty && !t_completion.handler)
		return 0;
	const mover dest = mover_to("gex_VIS_StridedPut", tm, dstrank, false);
	if (!empty)
		strided(dest, dstaddr, dststrides, srcaddr, srcstrides, elemsz, count, stridelevels);
	tell_peer(dest);
	return 0;
}

// --- GASNet-1 --------------------------------------------------------------------------------------------------------

extern "C" void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[],
				 size_t srccount, gasnet_memvec_t const srclist[]) noexcept
{
	vector({dstnode, false, "gasnet_putv"}, dstcount, dstlist, srccount, srclist);
}

extern "C" void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode,
				 size_t srccount, gasnet_memvec_t const srclist[]) noexcept
{
	vector({srcnode, true, "gasnet_getv"}, dstcount, dstlist, srccount, srclist);
}

extern "C" void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen,
				 size_t srccount, void *const srclist[], size_t srclen) noexcept
{
	indexed({dstnode, false, "gasnet_puti"}, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

extern "C" void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode,
				 size_t srccount, void *const srclist[], size_t srclen) noexcept
{
	indexed({srcnode, true, "gasnet_geti"}, dstcount, dstlist, dstlen, srccount, srclist, srclen);
}

extern "C" void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], void *srcaddr,
				 const size_t srcstrides[], const size_t count[], size_t stridelevels) noexcept
{
	strided({dstnode, false, "gasnet_puts"}, dstaddr, strides(dststrides), srcaddr, strides(srcstrides), count[0],
		count + 1, stridelevels);
}

extern "C" void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, void *srcaddr,
				 const size_t srcstrides[], const size_t count[], size_t stridelevels) noexcept
{
	strided({srcnode, true, "gasnet_gets"}, dstaddr, strides(dststrides), srcaddr, strides(srcstrides), count[0],
		count + 1, stridelevels);
}
