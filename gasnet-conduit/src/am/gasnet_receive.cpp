// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving active messages. A message is handled where it arrived, in the ring's slot or the eager buffer, and its
// place is returned when the handler returns (messages_take of fi_ext_pgas.h): no receive buffer, no completion, no
// copy.
//
// Handlers run in the thread that polls, never inside another handler. But a message that a node sends to itself is
// handled in the call that sends it, a reply inside the handler that replies. With threads several handlers may run at
// once.
#include "core/gasnet_progress.hpp"
#include "gasnet_message.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace gasnet {
namespace {

// The most that one poll hands over, so that a flood does not hold up its caller for ever. Also, what a client copies
// for use after the poll, as UPC++ does, is then still in its caches, and in memory that its heap has used before.
constexpr size_t kAtOnce = 16, kBytesAtOnce = 8192;
// Messages taken together: more with each round, up to this number. Locking is paid once for all of them, and stores to
// the ring need not complete in between; but while this thread runs the handler of the first, no other thread runs the
// rest.
constexpr size_t kMostTaken = 8; // half of the smallest ring
// In front of the payload of a message that the library copies: room for the largest head.
constexpr size_t kCopiedHead = 96;

void run_handler(const char *head, const char *message, size_t bytes)
{
	const bool inside = t_in_handler; // true for a reply to this node, from its own handler
	t_in_handler = true;
	if (!dispatch(head, message, bytes))
		fail("a message of %zu bytes makes no sense", bytes);
	t_in_handler = inside;
}

// Senders place the payload so that it is aligned where it arrives; only messages that the provider had to move are not
// aligned.
[[gnu::cold, gnu::noinline]] void run_moved(const char *message, size_t bytes, size_t pos)
{
	const size_t total = kCopiedHead + bytes - pos;
	char *copy = allocate(total);
	memcpy(copy, message, pos);
	uint64_t word;
	memcpy(&word, message, sizeof word);
	word += word_with_payload(kCopiedHead) - word_with_payload(word_payload(word));
	memcpy(copy, &word, sizeof word);
	memcpy(copy + kCopiedHead, message + pos, bytes - pos);
	run_handler(copy, copy, total);
	free(copy);
}

void handle(const fi_pgas_message &m)
{
	const auto *message = static_cast<const char *>(m.buf);
	const char *head = m.head ? static_cast<const char *>(m.head) : message;
	uint64_t word;
	memcpy(&word, head, sizeof word);
	const size_t pos = word_payload(word);
	if (word_category(word) == GASNETI_MEDIUM && PGAS_UNLIKELY(reinterpret_cast<uintptr_t>(message + pos) % 16) &&
	    m.len >= pos)
		run_moved(message, m.len, pos);
	else
		run_handler(head, message, m.len);
}

// The test that inline code makes, but on the queue itself: polls enter the library for other reasons as well, and then
// all the time.
bool queue_is_empty()
{
	const auto *queue = reinterpret_cast<const pgas_cq *>(g_gasnet.cq);
	return kThreads ? pgas_hot_cq_empty_shared(queue) : pgas_hot_cq_empty(queue);
}

// How many messages the next poll takes first.
size_t g_first_take = 1;

void next_takes_first(size_t count)
{
	if (pgas_load_relaxed(&g_first_take) != count) // threads poll: a line that is only read stays in all caches
		pgas_store_relaxed(&g_first_take, count);
}

[[gnu::cold]] void report_error()
{
	fi_cq_err_entry e{};
	if (fi_cq_readerr(g_gasnet.cq, &e, 0) == 1)
		fail("active messages: %s", pgas_strerror(e.err));
}

// Runs the handlers of received messages; true if there were any.
bool receive_some()
{
	if (queue_is_empty())
		return false;
	size_t handled = 0, bytes = 0, want = pgas_load_relaxed(&g_first_take);
	for (; handled < kAtOnce && bytes < kBytesAtOnce; want = std::min(2 * want, kMostTaken)) {
		fi_pgas_message taken[kMostTaken];
		const int n = g_gasnet.net.ops->messages_take(g_gasnet.am, taken, want);
		if (n == -FI_EAGAIN)
			break;
		if (PGAS_UNLIKELY(n < 0))
			fail("active messages: %s", pgas_strerror(-n));
		for (int i = 0; i < n; i++) {
			handle(taken[i]);
			bytes += taken[i].len;
		}
		g_gasnet.net.ops->messages_release(g_gasnet.am, taken, static_cast<size_t>(n));
		handled += static_cast<size_t>(n);
		if (queue_is_empty()) {
			next_takes_first(1);
			return true;
		}
	}
	// more messages are there: the next poll first takes as many as its byte limit allows
	next_takes_first(std::clamp<size_t>(kBytesAtOnce * handled / (bytes + 1), 1, kMostTaken));
	if (PGAS_UNLIKELY(pgas_load_relaxed(&reinterpret_cast<pgas_cq *>(g_gasnet.cq)->queued)))
		report_error();
	return handled > 0;
}

// Work that other nodes need and any progress does.
bool serve_nodes()
{
	return g_gasnet.net.ops->progress(g_gasnet.net.domain) == 1;
}

void wait_turn_serving(pgas_backoff *wait)
{
	const bool served = serve_nodes();
	const bool moved = progress_some() || served; // both get a turn
	const bool handled = g_gasnet.attached && !in_handler() && receive_some();
	outbox_push();
	if (moved || handled)
		wait->polls = 0;
	else
		wait_pause(wait);
}

} // namespace

__thread bool t_in_handler = false;

void run_message(const void *message, size_t bytes) noexcept
{
	const auto *pos = static_cast<const char *>(message);
	run_handler(pos, pos, bytes);
}

} // namespace gasnet

using namespace gasnet;

// budget: 95 instructions while a barrier is open and nothing is there, 169 with threads (paths.def: gex_poll_open)
extern "C" int gasneti_poll(void) noexcept
{
	if (PGAS_UNLIKELY(!g_gasnet.attached))
		return GASNET_ERR_NOT_INIT;
	if (in_handler()) // for a handler that polls: the poll that runs it continues when it returns
		return GASNET_OK;
	if (PGAS_UNLIKELY(pgas_load_relaxed(&g_gasnet.serves)))
		serve_nodes();
	receive_some();
	progress_some();
	outbox_push();
	return GASNET_OK;
}

extern "C" int gasneti_poll_first(void) noexcept
{
	return gasneti_poll();
}

extern "C" void gasneti_wait_turn(struct pgas_backoff *wait) noexcept
{
	if (PGAS_UNLIKELY(pgas_load_relaxed(&g_gasnet.serves)))
		return wait_turn_serving(wait);
	if (PGAS_LIKELY(gasneti_nothing_arrived())) {
		outbox_push();
		wait_pause(wait);
		return;
	}
	if (in_handler())
		return;
	const bool handled = g_gasnet.attached && receive_some();
	if (progress_some() || handled)
		wait->polls = 0;
	else
		wait_pause(wait);
	outbox_push();
}
