// SPDX-License-Identifier: BSD-3-Clause
//
// Outgoing records: sent directly from where their bytes are, as many as wait with one call.
#include "port_socket.hpp"

#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kPartsMost = 24;  // of one sendmsg(): three per record
constexpr size_t kShortMost = 256; // bytes of a record that is copied into one piece
constexpr char kZeros[8] = {};

// Fills in the remaining parts of a record. Returns their number.
size_t parts_of(const record_out &r, iovec *out)
{
	const iovec all[] = {{const_cast<char *>(r.head), r.head_len},
			     {const_cast<char *>(r.bytes), r.len},
			     {const_cast<char *>(kZeros), r.pad}};
	size_t gone = r.gone, n = 0;
	for (const iovec &part : all) {
		const size_t skip = std::min(gone, part.iov_len);
		gone -= skip;
		if (part.iov_len > skip)
			out[n++] = {static_cast<char *>(part.iov_base) + skip, part.iov_len - skip};
	}
	return n;
}

// Returns the bytes that the kernel accepted; 0: it has no room; negative: an error number.
template <class Call>
ssize_t push(const Call &call)
{
	for (;;) {
		const ssize_t took = call(MSG_DONTWAIT | MSG_NOSIGNAL);
		if (took >= 0)
			return took;
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

ssize_t push_parts(const socket_line &l, iovec *parts, size_t n)
{
	msghdr m{};
	m.msg_iov = parts;
	m.msg_iovlen = n;
	return push([&](int how) { return sendmsg(l.fd.get(), &m, how); });
}

// Sends a short record in one piece: the kernel takes longer for a list of parts than this copy does.
ssize_t push_short(const socket_line &l, const record_out &r)
{
	char all[kShortMost];
	memcpy(all, r.head, r.head_len);
	if (r.len)
		memcpy(all + r.head_len, r.bytes, r.len);
	memset(all + r.head_len + r.len, 0, r.pad);
	return push([&](int how) { return send(l.fd.get(), all, r.all(), how); });
}

ssize_t push_whole(const socket_line &l, const record_out &r)
{
	if (r.all() <= kShortMost) [[likely]]
		return push_short(l, r);
	iovec parts[3];
	return push_parts(l, parts, parts_of(r, parts));
}

void gone(socket_port &p, socket_line &l, const record_out &r)
{
	if (r.key)
		l.answers--;
	if (r.work)
		p.found.push_back({r.of_transfer ? port_event_kind::done : port_event_kind::sent, 0, r.work});
}

void broken(socket_port &p, socket_line &l, int err)
{
	line_lost(p, l, -err, error_text(p, err));
}

} // namespace

port_sent line_send(socket_port &p, socket_line &l, record_out &r)
{
	if (l.out.empty()) [[likely]] {
		const ssize_t took = push_whole(l, r);
		if (took < 0) [[unlikely]] {
			broken(p, l, static_cast<int>(-took));
			return {-FI_ECONNRESET};
		}
		r.gone = static_cast<size_t>(took);
		if (r.gone == r.all()) [[likely]]
			return {0, port_send::done};
	}
	l.out.push_back(r);
	line_pending(p, l);
	return {0, port_send::queued};
}

void line_flush(socket_port &p, socket_line &l)
{
	while (!l.out.empty()) {
		iovec parts[kPartsMost];
		size_t n = 0, asked = 0;
		for (auto r = l.out.begin(); r != l.out.end() && n + 3 <= kPartsMost; ++r) {
			n += parts_of(*r, parts + n);
			asked += r->all() - r->gone;
		}
		const ssize_t took = push_parts(l, parts, n);
		if (took < 0) {
			broken(p, l, static_cast<int>(-took));
			return;
		}
		for (auto left = static_cast<size_t>(took); left;) {
			record_out &r = l.out.front();
			const size_t part = std::min(left, r.all() - r.gone);
			left -= part;
			r.gone += part;
			if (r.gone < r.all())
				break;
			gone(p, l, r);
			l.out.pop_front();
		}
		if (static_cast<size_t>(took) < asked)
			return; // the kernel has no more room
	}
	if (l.watched & EPOLLOUT)
		line_watch(p, l, EPOLLIN);
}

} // namespace pgas
