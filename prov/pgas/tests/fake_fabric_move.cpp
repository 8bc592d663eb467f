// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams and transfers of the tests' network provider.
#include "fake_fabric.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include <rdma/fi_errno.h>

namespace fake_fabric {
namespace {

// One side is host memory, the other is memory of that device; null: both are host memory.
bool move(devices::kind *k, void *dst, const void *src, size_t len)
{
	if (!k) {
		memcpy(dst, src, len);
		return true;
	}
	const devices::piece one{dst, src, len};
	return k->copy(&one, 1) == 0 && k->finish() == 0;
}

void count(const devices::kind *k, size_t len)
{
	g_counts.device_bytes += k ? len : 0;
}

} // namespace

// --- datagrams -------------------------------------------------------------------------------------------------------

sockaddr_un name_of(const address &a, socklen_t *len)
{
	sockaddr_un u{};
	u.sun_family = AF_UNIX;
	const int n = snprintf(u.sun_path + 1, sizeof u.sun_path - 1, "pgas-fake-fabric-%u-%u", a.pid, a.number);
	*len = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(n));
	return u;
}

int put_datagram(const fake_ep &ep, const address &dest, const head &h, const void *bytes, size_t len)
{
	socklen_t name_len;
	sockaddr_un name = name_of(dest, &name_len);
	iovec iov[2] = {{const_cast<head *>(&h), sizeof h}, {const_cast<void *>(bytes), len}};
	msghdr m{};
	m.msg_name = &name;
	m.msg_namelen = name_len;
	m.msg_iov = iov;
	m.msg_iovlen = len ? 2 : 1;
	if (sendmsg(ep.socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? -FI_EAGAIN : -errno;
}

namespace {

void reply(fake_ep &ep, const address &dest, const head &h)
{
	if (!ep.replies.empty() || put_datagram(ep, dest, h, nullptr, 0) == -FI_EAGAIN)
		ep.replies.emplace_back(dest, h);
}

// --- transfers -------------------------------------------------------------------------------------------------------

// The memory that a peer names; null if it may not. Addresses are offsets in the region.
char *memory_of(const fake_ep &ep, const head &h, size_t len, uint64_t right, devices::kind **k)
{
	const auto it = ep.dom->regions.find(h.key);
	if (it == ep.dom->regions.end() || !(it->second->access & right))
		return nullptr;
	const fake_mr &m = *it->second;
	if (h.addr + h.offset > m.len || len > m.len - h.addr - h.offset)
		return nullptr;
	*k = m.kind;
	return m.base + h.addr + h.offset;
}

void end(fake_ep &ep, std::deque<transfer>::iterator t, int err)
{
	if (t->kind != what::answer)
		ep.cq->done.push_back(
			{t->context, FI_RMA | (t->kind == what::write ? FI_WRITE : FI_READ), t->len, err});
	ep.transfers.erase(t);
}

auto find_transfer(fake_ep &ep, uint64_t id)
{
	return std::find_if(ep.transfers.begin(), ep.transfers.end(),
			    [&](const transfer &t) { return t.id == id && t.kind != what::answer; });
}

void take_write(fake_ep &ep, const head &h, const char *bytes, size_t len)
{
	devices::kind *k = nullptr;
	char *dst = memory_of(ep, h, len, FI_REMOTE_WRITE, &k);
	const bool good = dst && move(k, dst, bytes, len);
	count(k, len);
	if (!good || h.last)
		reply(ep, h.sender, {what::over, good ? 0 : FI_EACCES, ep.self, h.id, 0, 0, 0, 0, 1});
}

void take_answer(fake_ep &ep, const head &h, const char *bytes, size_t len)
{
	const auto t = find_transfer(ep, h.id);
	if (t == ep.transfers.end())
		return;
	if (h.status || h.offset + len > t->len || !move(t->device, t->base + h.offset, bytes, len))
		return end(ep, t, h.status ? h.status : FI_EIO);
	count(t->device, len);
	t->came += len;
	if (t->came == t->len)
		end(ep, t, 0);
}

// Returns false for a message for which there is no buffer yet.
bool take(fake_ep &ep, size_t bytes)
{
	head h;
	memcpy(&h, ep.room.data(), sizeof h);
	const char *data = ep.room.data() + sizeof h;
	const size_t len = bytes - sizeof h;
	switch (h.kind) {
	case what::message: {
		if (ep.posted.empty())
			return false;
		const buffer b = ep.posted.front();
		ep.posted.pop_front();
		memcpy(b.bytes, data, std::min(len, b.len));
		ep.cq->done.push_back({b.context, FI_MSG | FI_RECV, len, len > b.len ? FI_ETRUNC : 0});
		break;
	}
	case what::write:
		take_write(ep, h, data, len);
		break;
	case what::ask:
		ep.transfers.push_back({what::answer, nullptr, nullptr, h.len, nullptr, h.sender, h.addr, h.key, h.id});
		break;
	case what::answer:
		take_answer(ep, h, data, len);
		break;
	case what::over:
		if (const auto t = find_transfer(ep, h.id); t != ep.transfers.end())
			end(ep, t, h.status);
		break;
	}
	return true;
}

// Sends the next datagram of a transfer.
int push_chunk(fake_ep &ep, transfer &t)
{
	head h{t.kind, 0, ep.self, t.id, t.key, t.addr, t.len, t.sent, 0};
	if (t.kind == what::ask) {
		const int rc = put_datagram(ep, t.dest, h, nullptr, 0);
		t.waits = rc == 0;
		return rc;
	}
	const size_t n = std::min(kChunk, t.len - t.sent);
	devices::kind *k = t.device;
	const char *src = t.kind == what::answer ? memory_of(ep, h, n, FI_REMOTE_READ, &k) : t.base + t.sent;
	h.last = t.sent + n == t.len;
	if (!src || !move(k, ep.chunk.data(), src, n)) {
		h.status = FI_EACCES;
		h.last = 1;
		t.sent = t.len;
	}
	const int rc = put_datagram(ep, t.dest, h, ep.chunk.data(), h.status ? 0 : n);
	if (rc == 0) {
		count(k, n);
		t.sent += h.status ? 0 : n;
		t.waits = h.last;
	}
	return rc;
}

// In order, as far as there is room; an answer is over when it is sent.
void push(fake_ep &ep)
{
	while (!ep.replies.empty()) {
		if (put_datagram(ep, ep.replies.front().first, ep.replies.front().second, nullptr, 0) == -FI_EAGAIN)
			return;
		ep.replies.pop_front();
	}
	for (size_t i = 0; i < ep.transfers.size();) {
		transfer &t = ep.transfers[i];
		int rc = 0;
		while (!t.waits && rc == 0)
			rc = push_chunk(ep, t);
		if (rc == -FI_EAGAIN)
			return;
		if (rc || t.kind == what::answer)
			end(ep, ep.transfers.begin() + static_cast<ptrdiff_t>(i), -rc);
		else
			i++;
	}
}

} // namespace

void progress(fake_ep &ep)
{
	constexpr int kMost = 16;
	for (int i = 0; i < kMost; i++) {
		if (!ep.held_bytes)
			ep.held_bytes = recv(ep.socket, ep.room.data(), ep.room.size(), MSG_DONTWAIT);
		if (ep.held_bytes < static_cast<ssize_t>(sizeof(head))) {
			ep.held_bytes = 0;
			break;
		}
		if (!take(ep, static_cast<size_t>(ep.held_bytes)))
			break;
		ep.held_bytes = 0;
	}
	push(ep);
}

} // namespace fake_fabric
