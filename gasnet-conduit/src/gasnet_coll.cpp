// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcast. The root lays a piece into its own internal memory and raises its number; the others copy it out and raise
// theirs; the root goes on when all have. Nobody returns before everybody has the last piece.
#include "gasnet_state.hpp"

#include <cstring>

#include <gasnet_coll.h>

namespace gasnet {
namespace {

uint64_t g_pieces; // so far, the same on all nodes

void wait_for(gasnet_node_t node, uint64_t number)
{
	pgas_backoff wait{};
	// pairs with store_release in show(): the piece, or its copy, is complete
	while (pgas_load_acquire(&internal_of(node)->piece) < number)
		gasneti_wait_turn(&wait);
}

void show(uint64_t number)
{
	pgas_store_release(&reinterpret_cast<internal_memory *>(g.base)->piece, number);
}

void wait_for_all(uint64_t number)
{
	for (gasnet_node_t n = 0; n < gasneti_front.nodes; n++)
		wait_for(n, number);
}

// --- with nodes that have no window: the root puts every piece into everybody's internal memory ----------------------

internal_memory *own()
{
	return reinterpret_cast<internal_memory *>(g.base);
}

uint64_t g_copied; // how many copies of my own pieces the others have said to have

void tell_all(uint64_t number)
{
	for (gasnet_node_t n = 0; n < gasneti_front.nodes; n++)
		if (n != gasneti_front.mynode)
			far_word(n, &own()->piece, FI_ATOMIC_WRITE, number);
}

void root_piece(const char *from, size_t bytes, uint64_t ready)
{
	const gasnet_node_t me = gasneti_front.mynode, nodes = gasneti_front.nodes;
	gasnet_handle_t under_way = GASNET_INVALID_HANDLE;
	for (gasnet_node_t n = 0; n < nodes; n++)
		if (n != me && bytes)
			under_way = gasneti_put_far(n, own()->bytes, from, bytes, GASNETI_TAKEN, 0);
	gasneti_sync_handle(under_way, "gasnet_coll_broadcast");
	tell_all(ready);
	g_copied += nodes - 1;
	pgas_backoff wait{};
	while (pgas_load_acquire(&own()->copied) != g_copied) // the others' atomics release
		gasneti_wait_turn(&wait);
}

void other_piece(char *to, size_t bytes, gasnet_node_t root, uint64_t ready)
{
	pgas_backoff wait{};
	while (pgas_load_acquire(&own()->piece) < ready) // the root's atomic releases
		gasneti_wait_turn(&wait);
	memcpy(to, own()->bytes, bytes);
	far_word(root, &own()->copied, FI_SUM, 1);
}

// Nobody returns before everybody has the last piece: the root says when.
void broadcast_far(char *dst, gasnet_node_t root, const char *src, size_t nbytes)
{
	const bool mine = root == gasneti_front.mynode;
	for (size_t at = 0; at < nbytes || !at; at += sizeof own()->bytes) {
		const size_t n = nbytes - at < sizeof own()->bytes ? nbytes - at : sizeof own()->bytes;
		const uint64_t ready = 2 * g_pieces++ + 1;
		if (mine)
			root_piece(src + at, n, ready);
		else
			other_piece(dst + at, n, root, ready);
	}
	if (mine) {
		tell_all(2 * g_pieces);
		if (dst != src)
			memmove(dst, src, nbytes);
		return;
	}
	pgas_backoff wait{};
	while (pgas_load_acquire(&own()->piece) < 2 * g_pieces) // the root's atomic releases
		gasneti_wait_turn(&wait);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" void gasnet_coll_init(const gasnet_image_t *, gasnet_image_t, gasnet_coll_fn_entry_t *, size_t, int) noexcept
{
	check_attached("gasnet_coll_init");
}

extern "C" void gasnet_coll_broadcast(gasnet_team_handle_t, void *dst, gasnet_image_t root, void *src, size_t nbytes,
				      int) noexcept
{
	check_attached("gasnet_coll_broadcast");
	if (root >= gasneti_front.nodes)
		fail("gasnet_coll_broadcast: root %u of %u nodes", root, gasneti_front.nodes);
	if (g.far)
		return broadcast_far(static_cast<char *>(dst), root, static_cast<const char *>(src), nbytes);
	const bool mine = root == gasneti_front.mynode;
	auto *own = reinterpret_cast<internal_memory *>(g.base);
	wait_for_all(2 * g_pieces); // nobody still reads the last piece of the broadcast before
	for (size_t at = 0; at < nbytes || !at; at += sizeof own->bytes) {
		const size_t n = nbytes - at < sizeof own->bytes ? nbytes - at : sizeof own->bytes;
		const uint64_t ready = 2 * g_pieces + 1, done = ready + 1;
		if (mine) {
			memcpy(own->bytes, static_cast<char *>(src) + at, n);
			show(ready);
		} else {
			wait_for(root, ready);
			memcpy(static_cast<char *>(dst) + at, internal_of(root)->bytes, n);
			show(done);
		}
		g_pieces++;
		if (mine) {
			for (gasnet_node_t node = 0; node < gasneti_front.nodes; node++)
				if (node != root)
					wait_for(node, done);
			show(done);
		}
	}
	if (mine && dst != src)
		memmove(dst, src, nbytes);
	wait_for_all(2 * g_pieces);
}
