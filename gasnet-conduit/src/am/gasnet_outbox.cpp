// SPDX-License-Identifier: BSD-3-Clause
//
// Replies that found no room. They wait on the heap, and later polls send them; gasnet_send.cpp explains why that is
// enough.
#include "gasnet_message.hpp"

#include <deque>

#include <pgas/pgas_base.hpp>

namespace gasnet {
namespace {

struct waiting_reply {
	gasnet_node_t dest;
	std::vector<char> bytes;
};

pthread_mutex_t g_outbox_mutex = PTHREAD_MUTEX_INITIALIZER;
std::deque<waiting_reply> g_outbox;

} // namespace

size_t g_outbox_count = 0;

void send_or_keep(gasnet_node_t node, const void *head, size_t head_bytes, const void *data, size_t data_bytes) noexcept
{
	const int rc = post_message(node, head, head_bytes, data, data_bytes); // may overtake: messages have no order
	if (PGAS_LIKELY(rc == 0))
		return;
	if (rc != -FI_EAGAIN)
		lost("message", node, rc);
	const pgas::mutex_holder lock(g_outbox_mutex, kThreads);
	waiting_reply r{node, std::vector<char>(head_bytes + data_bytes)};
	memcpy(r.bytes.data(), head, head_bytes);
	if (data_bytes)
		memcpy(r.bytes.data() + head_bytes, data, data_bytes);
	g_outbox.push_back(std::move(r));
	pgas_store_relaxed(&g_outbox_count, g_outbox.size());
}

bool outbox_push_some() noexcept
{
	const pgas::mutex_holder lock(g_outbox_mutex, kThreads);
	// a node whose ring is full delays only its own replies
	std::vector<bool> full(gasneti_front.nodes);
	std::deque<waiting_reply> left;
	for (waiting_reply &r : g_outbox) {
		const int rc = full[r.dest] ? -FI_EAGAIN
					    : post_message(r.dest, r.bytes.data(), r.bytes.size(), nullptr, 0);
		if (rc == -FI_EAGAIN) {
			full[r.dest] = true;
			left.push_back(std::move(r));
		} else if (rc != 0) {
			lost("message", r.dest, rc);
		}
	}
	g_outbox.swap(left);
	pgas_store_relaxed(&g_outbox_count, g_outbox.size());
	return g_outbox.empty();
}

} // namespace gasnet
