// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving active messages: multi-receive buffers that the provider fills, a queue that says what lies where, handlers.
//
// Handlers run in the thread that polls, never inside another handler. With threads several may run at once; a buffer is
// posted again when the last of its messages was handled.
#include "gasnet_state.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace gasnet {
namespace {

constexpr size_t kBuffers = 4;
constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr int kAtOnce = 64; // messages handled by one poll, so that a flood does not hold up its caller for ever

struct buffer {
	fi_context context; // first: the queue answers its address
	std::atomic<uint32_t> users; // messages being handled, and one while the provider fills it
	char *bytes;
};

buffer g_buffers[kBuffers];
thread_local bool t_in_handler __attribute__((tls_model("initial-exec"))) = false;

void post(buffer *b)
{
	b->users.store(1, std::memory_order_relaxed);
	const iovec iov{b->bytes, kBufferBytes};
	fi_msg m{};
	m.msg_iov = &iov;
	m.iov_count = 1;
	m.addr = FI_ADDR_UNSPEC;
	m.context = &b->context;
	if (const auto rc = fi_recvmsg(g.am, &m, FI_MULTI_RECV | FI_COMPLETION))
		fail("cannot post a receive buffer: %s", fi_strerror(static_cast<int>(-rc)));
}

void put(buffer *b)
{
	if (b->users.fetch_sub(1, std::memory_order_acq_rel) == 1)
		post(b);
}

void run(const char *message, size_t bytes)
{
	t_in_handler = true;
	if (!dispatch(message, bytes))
		fail("a message of %zu bytes makes no sense", bytes);
	t_in_handler = false;
}

// The provider aligns messages to 8 bytes; a payload may hold anything and is moved where it must.
void handle(const char *message, size_t bytes)
{
	uint64_t word;
	memcpy(&word, message, sizeof word);
	const size_t at = word >> 24 & 0xff;
	if ((word >> 16 & GASNETI_CATEGORY) != GASNETI_MEDIUM || bytes < at || reinterpret_cast<uintptr_t>(message + at) % 16 == 0) {
		run(message, bytes);
		return;
	}
	constexpr size_t kHead = 96;
	const size_t total = kHead + bytes - at;
	auto *copy = static_cast<char *>(aligned_alloc(16, (total + 15) / 16 * 16));
	if (!copy)
		fail("out of memory for a message of %zu bytes", bytes);
	memcpy(copy, message, at);
	word = (word & ~(uint64_t{0xff} << 24)) | uint64_t{kHead} << 24;
	memcpy(copy, &word, sizeof word);
	memcpy(copy + kHead, message + at, bytes - at);
	run(copy, total);
	free(copy);
}

[[gnu::cold]] void report_error()
{
	fi_cq_err_entry e{};
	if (fi_cq_readerr(g.cq, &e, 0) == 1)
		fail("active messages: %s", fi_strerror(e.err));
}

} // namespace

bool in_handler() noexcept
{
	return t_in_handler;
}

void receive_open()
{
	const size_t least = g.eager_bytes;
	if (const int rc = fi_setopt(&g.am->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least))
		fail("gasnet_init: receive buffers: %s", fi_strerror(-rc));
	for (buffer &b : g_buffers) {
		b.bytes = static_cast<char *>(aligned_alloc(4096, kBufferBytes));
		if (!b.bytes)
			fail("gasnet_init: out of memory for receive buffers");
		post(&b);
	}
}

bool receive_some() noexcept
{
	int n = 0;
	for (; n < kAtOnce; n++) {
		fi_cq_data_entry e;
		const ssize_t rc = fi_cq_read(g.cq, &e, 1);
		if (rc == -FI_EAGAIN)
			break;
		if (rc < 0) {
			report_error();
			break;
		}
		auto *b = static_cast<buffer *>(e.op_context);
		if (e.flags & FI_RECV) {
			// counted before the provider's own hold can end: its last entry comes behind this one
			b->users.fetch_add(1, std::memory_order_relaxed);
			handle(static_cast<char *>(e.buf), e.len);
			put(b);
		}
		if (e.flags & FI_MULTI_RECV)
			put(b);
	}
	return n > 0;
}

} // namespace gasnet

using namespace gasnet;

extern "C" int gasneti_poll(void) noexcept
{
	if (PGAS_UNLIKELY(!g.attached))
		return GASNET_ERR_NOT_INIT;
	if (in_handler()) // a handler that polls: its own poll goes on when it returns
		return GASNET_OK;
	receive_some();
	outbox_push();
	return GASNET_OK;
}

extern "C" void gasneti_wait_turn(struct pgas_backoff *wait) noexcept
{
	if (in_handler())
		return;
	if (g.attached && receive_some())
		*wait = {};
	else
		wait_pause(wait);
	outbox_push();
}
