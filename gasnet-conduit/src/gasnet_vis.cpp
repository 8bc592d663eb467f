// SPDX-License-Identifier: BSD-3-Clause
//
// Vector, indexed and strided transfers: both sides are walked as lists of contiguous pieces, and what overlaps is
// copied.
#include "gasnet_state.hpp"

namespace gasnet {
namespace {

// A side of a vector or indexed transfer: pieces in order.
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

// move(to, from, bytes) for each stretch that is contiguous on both sides. The sides have the same number of bytes.
template <class Side, class Move>
void walk(const char *call, const Side &to, const Side &from, Move &move)
{
	size_t ti = 0, fi = 0, t_left = 0, f_left = 0;
	char *t = nullptr, *f = nullptr;
	for (;;) {
		bool t_more = true, f_more = true;
		while (!t_left && (t_more = to.at(ti++, &t, &t_left)))
			;
		while (!f_left && (f_more = from.at(fi++, &f, &f_left)))
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

template <class Move>
void strided(char *to, const size_t *to_strides, char *from, const size_t *from_strides, const size_t *count,
	     size_t level, Move &move)
{
	if (level == 0) {
		move(to, from, count[0]);
		return;
	}
	for (size_t i = 0; i < count[level]; i++)
		strided(to + i * to_strides[level - 1], to_strides, from + i * from_strides[level - 1], from_strides,
			count, level - 1, move);
}

// Pieces for a node without a window are all handed over first; the last one's handle stands for them all.
struct mover {
	gasnet_node_t node;
	bool get;
	const char *call;
	gasnet_handle_t under_way = GASNET_INVALID_HANDLE;

	void operator()(char *to, char *from, size_t n)
	{
		const gasnet_handle_t h = get ? gasneti_get_some(to, node, from, n, GASNETI_TAKEN, 0)
					      : gasneti_put_some(node, to, from, n, GASNETI_TAKEN, 0);
		if (h != GASNET_INVALID_HANDLE)
			under_way = h;
	}
	~mover() { gasneti_sync_handle(under_way, call); }
};

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" void gasnet_putv_bulk(gasnet_node_t dstnode, size_t dstcount, gasnet_memvec_t const dstlist[],
				 size_t srccount, gasnet_memvec_t const srclist[]) noexcept
{
	mover move{dstnode, false, "gasnet_putv"};
	walk(move.call, vector_side(dstlist, dstcount), vector_side(srclist, srccount), move);
}

extern "C" void gasnet_getv_bulk(size_t dstcount, gasnet_memvec_t const dstlist[], gasnet_node_t srcnode,
				 size_t srccount, gasnet_memvec_t const srclist[]) noexcept
{
	mover move{srcnode, true, "gasnet_getv"};
	walk(move.call, vector_side(dstlist, dstcount), vector_side(srclist, srccount), move);
}

extern "C" void gasnet_puti_bulk(gasnet_node_t dstnode, size_t dstcount, void *const dstlist[], size_t dstlen,
				 size_t srccount, void *const srclist[], size_t srclen) noexcept
{
	mover move{dstnode, false, "gasnet_puti"};
	walk(move.call, indexed_side(dstlist, dstcount, dstlen), indexed_side(srclist, srccount, srclen), move);
}

extern "C" void gasnet_geti_bulk(size_t dstcount, void *const dstlist[], size_t dstlen, gasnet_node_t srcnode,
				 size_t srccount, void *const srclist[], size_t srclen) noexcept
{
	mover move{srcnode, true, "gasnet_geti"};
	walk(move.call, indexed_side(dstlist, dstcount, dstlen), indexed_side(srclist, srccount, srclen), move);
}

extern "C" void gasnet_puts_bulk(gasnet_node_t dstnode, void *dstaddr, const size_t dststrides[], void *srcaddr,
				 const size_t srcstrides[], const size_t count[], size_t stridelevels) noexcept
{
	mover move{dstnode, false, "gasnet_puts"};
	strided(static_cast<char *>(dstaddr), dststrides, static_cast<char *>(srcaddr), srcstrides, count, stridelevels,
		move);
}

extern "C" void gasnet_gets_bulk(void *dstaddr, const size_t dststrides[], gasnet_node_t srcnode, void *srcaddr,
				 const size_t srcstrides[], const size_t count[], size_t stridelevels) noexcept
{
	mover move{srcnode, true, "gasnet_gets"};
	strided(static_cast<char *>(dstaddr), dststrides, static_cast<char *>(srcaddr), srcstrides, count, stridelevels,
		move);
}
