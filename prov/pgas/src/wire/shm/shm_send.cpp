// SPDX-License-Identifier: BSD-3-Clause
//
// Messages: short ones go through the peer's ring and eager buffers; for long ones the ring carries the location of the
// bytes, and the receiver fetches them with process_vm_readv, or by requests if the kernel does not permit that.
#include "shm.hpp"

#include <sys/uio.h>

#include <cstring>

namespace pgas {

int shm_send(wire_ep &ep, peer &dest, op &o)
{
	shm_peer *p = &shm_of(dest);
	ring_message m{.kind = static_cast<uint8_t>(o.tagged ? PGAS_KIND_TAGGED : PGAS_KIND_MSG),
		       .flags = static_cast<uint8_t>(o.carries_data ? PGAS_SLOT_CQ_DATA : 0),
		       .len = o.len,
		       .word = o.tag,
		       .data = o.data};
	// FI_DELIVERY_COMPLETE: sent as a long message, whose sender is notified when it is in the receiver's buffer
	if (o.len <= p->eager.bytes && !(o.flags & FI_DELIVERY_COMPLETE)) {
		m.iov = o.iov;
		m.iov_count = o.iov_count;
		m.iov_len = o.len;
		return ring_send(p, m);
	}
	op *kept = op_keep(ep, std::move(o), &dest);
	if (!kept)
		return -FI_EIO;
	long_message l{};
	l.op_id = kept->id;
	l.iov_count = static_cast<uint32_t>(kept->iov_count);
	for (size_t i = 0; i < kept->iov_count; i++)
		l.iov[i] = {reinterpret_cast<uintptr_t>(kept->iov[i].iov_base), kept->iov[i].iov_len};
	m.flags |= PGAS_SLOT_LONG;
	m.head = &l;
	m.head_len = sizeof l;
	if (const int err = ring_send(p, m)) {
		op_take_back(ep, kept, o);
		return err;
	}
	return kKept;
}

int shm_send_pieces(peer &p, const void *head, size_t head_len, const void *data, size_t len)
{
	return ring_send_pieces(&shm_of(p), head, head_len, data, len);
}

// --- control messages ------------------------------------------------------------------------------------------------

int shm_control(peer &p, const control &c)
{
	ring_message m{.kind = PGAS_KIND_REQUEST, .len = c.head_len + c.iov_len, .word = c.code};
	if (c.kind == control_kind::response) {
		m.kind = PGAS_KIND_RESPONSE;
	} else if (c.kind == control_kind::cq_data) {
		m.kind = PGAS_KIND_RMA_DATA;
		m.flags = PGAS_SLOT_CQ_DATA;
		m.len = c.len;
		m.data = c.data;
	}
	m.head = c.head;
	m.head_len = c.head_len;
	m.iov = c.iov;
	m.iov_count = c.iov_count;
	m.skip = c.skip;
	m.iov_len = c.iov_len;
	return ring_send(&shm_of(p), m);
}

// One of the peer's eager buffers; the answer must also fit one of ours, which may be smaller.
size_t shm_control_room(const peer &p)
{
	return std::min(shm_of(p).eager.bytes, shm_of(*p.owner).eager.bytes);
}

// --- long messages ---------------------------------------------------------------------------------------------------

namespace {

// The result of an attempt to read the sender's memory; otherwise -FI_E*.
enum fetched : int { kFetched = 0, kNotPermitted = 1 };

int fetch(const remote_domain *r, const rx_entry *rx, const long_message &m, size_t len)
{
	size_t done = 0;
	const size_t pieces = std::min<size_t>(m.iov_count, kIovLimit);
	for (size_t i = 0; i < pieces && done < len; i++) {
		uint64_t pos = m.iov[i].addr;
		size_t n = std::min<uint64_t>(m.iov[i].len, len - done);
		while (n) {
			// also for our own process: the address came through memory that others can write, and the
			// kernel checks it
			iovec local[kIovLimit];
			const size_t count = iov_part(rx->iov, rx->iov_count, done, n, local);
			const iovec remote{reinterpret_cast<void *>(pos), n};
			const ssize_t got = process_vm_readv(static_cast<pid_t>(r->pid), local, count, &remote, 1, 0);
			if (got <= 0)
				return errno == EPERM || errno == ENOSYS ? kNotPermitted
				       : errno == ESRCH                  ? -FI_ECONNRESET
									 : -FI_EFAULT;
			const auto moved = static_cast<size_t>(got);
			pos += moved;
			done += moved;
			n -= moved;
		}
	}
	return kFetched;
}

} // namespace

int shm_pull(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c)
{
	long_message m;
	memcpy(&m, bytes, sizeof m);
	remote_domain *r = sender.wire_state ? shm_state_of(sender).rdom : nullptr;
	if (!r || !r->cma)
		return request_pull(ep, sender, rx, m.op_id, c);
	// from 8 KiB on, one copy by the kernel is faster than two through the eager buffers
	const int status = fetch(r, rx, m, c.len);
	if (status == kNotPermitted) {
		r->cma = false;
		return request_pull(ep, sender, rx, m.op_id, c);
	}
	if (status) {
		c.err = -status;
		c.len = 0;
	}
	request_long_done(sender, m.op_id, status);
	return kDone;
}

void shm_discard(peer &sender, const char *bytes)
{
	long_message m;
	memcpy(&m, bytes, sizeof m);
	request_long_done(sender, m.op_id, 0);
}

} // namespace pgas
