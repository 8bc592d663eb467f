// SPDX-License-Identifier: BSD-3-Clause
//
// Records on their way out: straight from where their bytes lie, as many as wait with one call.
#include "port_socket.hpp"

#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kPartsMost = 24; // of one sendmsg(): three for a record
constexpr char kZeros[8] = {};

// What is left of a record, in parts. The number of them.
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

// Bytes that the kernel took; 0: it has no room; negative: an error number.
ssize_t push(const socket_line &l, iovec *parts, size_t n)
{
	msghdr m{};
	m.msg_iov = parts;
	m.msg_iovlen = n;
	for (;;) {
		const ssize_t took = sendmsg(l.fd.get(), &m, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (took >= 0)
			return took;
		if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

void gone(socket_port &p, socket_line &l, const record_out &r)
{
	if (r.key)
		l.answers--;
	if (r.work)
		p.told.push_back({r.of_transfer ? port_event_kind::done : port_event_kind::sent, 0, r.work});
}

void broken(socket_port &p, socket_line &l, int err)
{
	line_lost(p, l, -err, strerror(err));
}

} // namespace

int line_send(socket_port &p, socket_line &l, record_out &r)
{
	if (l.out.empty()) [[likely]] {
		iovec parts[3];
		const ssize_t took = push(l, parts, parts_of(r, parts));
		if (took < 0) [[unlikely]] {
			broken(p, l, static_cast<int>(-took));
			return -FI_ECONNRESET;
		}
		r.gone = static_cast<size_t>(took);
		if (r.gone == r.all()) [[likely]]
			return 1;
	}
	l.out.push_back(r);
	line_pending(p, l);
	return 0;
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
		const ssize_t took = push(l, parts, n);
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
