// SPDX-License-Identifier: BSD-3-Clause
//
// Incoming records: parsed in place, checked, reported or answered.
#include "wire/net/link/net_frame.hpp"
#include "port_socket.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kBeyondBulk = 1024; // read after bulk, or where bulk is expected: most of it would be copied
constexpr uint32_t kBulkMemory = 8;  // records
constexpr int kRounds = 16;          // then others get their turn

enum class cut : uint8_t { event, quiet, more, bad }; // one event; none; too few bytes; the line is lost

size_t bytes_there(const socket_line &l)
{
	return l.end - l.begin;
}

template <class Record>
bool whole(const socket_line &l, Record &r)
{
	if (bytes_there(l) < sizeof r)
		return false;
	memcpy(&r, l.chunk->bytes.get() + l.begin, sizeof r);
	return true;
}

cut bad(socket_port &p, socket_line &l, const char *what, int status = -ECONNRESET)
{
	line_drop(p, l, what, status);
	return cut::bad;
}

// Returns the memory that a peer names, if it has that right there.
char *memory_at(const socket_port &p, uint64_t key, uint64_t addr, size_t len, port_rights right)
{
	const auto it = p.memory.find(key);
	if (it == p.memory.end() || !(it->second.rights & right))
		return nullptr;
	const exposed_memory &m = it->second;
	return addr <= m.len && len <= m.len - addr ? m.base + addr : nullptr;
}

// For an incomplete packet: does its own head state a shorter length? Otherwise both sides would wait: we for the rest,
// and the peer, whose host acknowledges what we send, for an answer.
bool says_less(const socket_line &l, const record_head &h)
{
	struct {
		record_head record;
		packet_head packet;
	} both;
	return whole(l, both) && both.packet.magic == kPacketMagic && both.packet.protocol == kProtocol &&
	       both.packet.bytes < h.bytes;
}

cut take_packet(socket_port &p, socket_line &l, const record_head &h, port_event *e)
{
	if (!h.bytes || h.bytes > p.limits.packet)
		return bad(p, l, "a packet of a length that cannot be");
	const size_t all = sizeof h + round_up(h.bytes, 8);
	if (bytes_there(l) < all)
		return says_less(l, h) ? bad(p, l, "a packet of another length than its record") : cut::more;
	*e = {port_event_kind::received,
	      0,
	      nullptr,
	      l.chunk->bytes.get() + l.begin + sizeof h,
	      h.bytes,
	      l.chunk,
	      number_of(l)};
	l.chunk->users++;
	l.begin += all;
	if (l.bulk_lately)
		l.bulk_lately--;
	return cut::event;
}

void bulk_begins(socket_line &l, char *into, size_t len, uint64_t key, port_work *work)
{
	l.bulk = {into, len, key, work};
	l.bulk_lately = kBulkMemory;
}

cut take_write(socket_port &p, socket_line &l)
{
	write_record r;
	if (!whole(l, r))
		return cut::more;
	if (r.len != r.head.bytes)
		return bad(p, l, "a write of two lengths");
	char *const into = memory_at(p, r.key, r.addr, r.head.bytes, kPortWrite);
	if (!into || !r.head.bytes || r.head.bytes > kRecordBulkMost)
		return bad(p, l, "a write to memory that is not for it");
	l.begin += sizeof r;
	bulk_begins(l, into, r.head.bytes, r.key, nullptr);
	return cut::quiet;
}

cut take_read(socket_port &p, socket_line &l)
{
	read_record r;
	if (!whole(l, r))
		return cut::more;
	const char *const src = memory_at(p, r.key, r.addr, r.head.bytes, kPortRead);
	if (!src || !r.head.bytes || r.head.bytes > kRecordBulkMost)
		return bad(p, l, "a read of memory that is not for it");
	if (l.answers == kReadsMost)
		return bad(p, l, "more reads at a time than there may be");
	l.begin += sizeof r;
	record_out out{};
	const answer_record a{head_of(record_kind::answer, r.head.bytes), r.number, r.head.bytes};
	memcpy(out.head, &a, sizeof a);
	out.head_len = sizeof a;
	out.bytes = src;
	out.len = r.head.bytes;
	out.key = r.key;
	l.answers++;
	p.bulk_moved = true; // a peer that reads continues to do so
	const port_sent s = line_send(p, l, out);
	if (!s.status && s.packet == port_send::done)
		l.answers--;
	return s.status ? cut::bad : cut::quiet;
}

cut take_answer(socket_port &p, socket_line &l)
{
	answer_record r;
	if (!whole(l, r))
		return cut::more;
	if (l.reads.empty() || l.reads.front().number != r.number || l.reads.front().len != r.head.bytes ||
	    r.len != r.head.bytes)
		return bad(p, l, "an answer to what was not asked");
	l.begin += sizeof r;
	const read_out &asked = l.reads.front();
	bulk_begins(l, asked.into, asked.len, 0, asked.work);
	l.reads.pop_front();
	return cut::quiet;
}

// Takes the part of the current bulk that is in the chunk. cut::event: it was the last part of an answer.
cut take_bulk(socket_port &p, socket_line &l, port_event *e)
{
	p.bulk_moved = true;
	const size_t n = std::min(l.bulk.left, bytes_there(l));
	if (n) {
		memcpy(l.bulk.into, l.chunk->bytes.get() + l.begin, n);
		l.bulk.into += n;
		l.bulk.left -= n;
		l.begin += n;
	}
	if (l.bulk.left)
		return cut::more;
	if (const size_t odd = l.begin % 8; odd && bytes_there(l)) { // packets must be aligned
		char *const pos = l.chunk->bytes.get() + l.begin;
		memmove(pos - odd, pos, bytes_there(l));
		l.end -= odd;
		l.begin -= odd;
	}
	const bulk_in over = std::exchange(l.bulk, {});
	if (!over.work)
		return cut::quiet;
	*e = {port_event_kind::done, 0, over.work};
	return cut::event;
}

// The answer to our call; nothing was read beyond it.
cut take_welcome(socket_port &p, socket_line &l)
{
	welcome_record r;
	if (!whole(l, r))
		return cut::more;
	l.begin += sizeof r;
	if (r.head.kind == record_kind::refuse || (r.head.kind == record_kind::welcome && !r.head.bytes))
		line_answered(p, l, r);
	else
		line_drop(p, l, "no answer to our greeting", -EPROTO);
	return l.state == line_state::up ? cut::quiet : cut::bad;
}

cut take_one(socket_port &p, socket_line &l, port_event *e)
{
	if (l.bulk.into)
		return take_bulk(p, l, e);
	record_head h;
	if (!l.chunk || !whole(l, h))
		return cut::more;
	if (h.magic != kRecordMagic || h.version != kRecordVersion)
		return bad(p, l, "what is not of this protocol, or of another version",
			   l.state == line_state::greeting ? -EPROTO : -ECONNRESET);
	if (l.state == line_state::greeting)
		return take_welcome(p, l);
	if (h.kind != record_kind::packet && !l.trusted)
		return bad(p, l, "what only a peer may send that proved itself");
	switch (h.kind) {
	case record_kind::packet:
		return take_packet(p, l, h, e);
	case record_kind::write:
		return take_write(p, l);
	case record_kind::read:
		return take_read(p, l);
	case record_kind::answer:
		return take_answer(p, l);
	default:
		return bad(p, l, "a record of an unknown kind");
	}
}

// Makes room after the unparsed bytes. Returns false if there is no memory.
bool make_room(socket_port &p, socket_line &l)
{
	if (!l.chunk)
		return chunk_take(p, l);
	const size_t least = sizeof(record_head) + round_up(p.limits.packet, 8);
	if (l.begin + least <= p.chunk_bytes() && l.end < p.chunk_bytes())
		return true;
	in_chunk *const old = l.chunk;
	const size_t begin = l.begin, n = bytes_there(l);
	if (!chunk_take(p, l))
		return false;
	memcpy(l.chunk->bytes.get(), old->bytes.get() + begin, n);
	l.end = n;
	chunk_release(p, old);
	return true;
}

// Reads from the socket once. full: there may be more. Returns the bytes, 0: the peer closed it, or -errno.
ssize_t read_socket(socket_port &p, socket_line &l, bool *full)
{
	if (!make_room(p, l))
		return -ENOMEM;
	size_t room = p.chunk_bytes() - l.end;
	if (l.bulk.left || (l.bulk_lately && l.begin == l.end))
		room = std::min(room, kBeyondBulk);
	if (l.state == line_state::greeting) // the bytes after the welcome may be encrypted
		room = std::min(room, sizeof(welcome_record) - bytes_there(l));
	const iovec parts[] = {{l.bulk.into, l.bulk.left}, {l.chunk->bytes.get() + l.end, room}};
	const size_t first = l.bulk.left ? 0 : 1, asked = l.bulk.left + room;
	ssize_t n;
	do {
		n = first ? recv(l.fd.get(), parts[1].iov_base, room, MSG_DONTWAIT) : readv(l.fd.get(), parts, 2);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	*full = static_cast<size_t>(n) == asked;
	const size_t placed = std::min(l.bulk.left, static_cast<size_t>(n));
	if (placed) {
		l.bulk.into += placed;
		l.bulk.left -= placed;
	}
	l.end += static_cast<size_t>(n) - placed;
	return n;
}

} // namespace

// The kernel reports a TLS record that was changed on the way with errors that also have other meanings.
std::string error_text(const socket_port &p, int err)
{
	if (p.tls && (err == EBADMSG || err == EINVAL || err == EIO || err == EMSGSIZE))
		return std::string("what came was changed on the way, or was not encrypted by this peer: ") +
		       strerror(err);
	return strerror(err);
}

bool chunk_take(socket_port &p, socket_line &l)
{
	if (p.spare.empty()) {
		auto c = std::make_unique<in_chunk>();
		c->bytes.reset(new (std::nothrow) char[p.chunk_bytes()]);
		if (!c->bytes)
			return false;
		p.spare.push_back(c.get());
		p.chunks.push_back(std::move(c));
	}
	l.chunk = p.spare.back();
	p.spare.pop_back();
	l.chunk->users = 1;
	l.begin = l.end = 0;
	return true;
}

void chunk_release(socket_port &p, in_chunk *c)
{
	if (--c->users == 0)
		p.spare.push_back(c);
}

int records_take(socket_port &p, socket_line &l, port_event *events, int most)
{
	int n = 0;
	l.has_more = false;
	while (n < most) {
		const cut c = take_one(p, l, events + n);
		n += c == cut::event;
		if (c == cut::bad)
			return n;
		if (c == cut::more)
			break;
	}
	if (n == most) {
		l.has_more = true;
		line_pending(p, l);
	}
	if (l.chunk && l.begin == l.end) {
		chunk_release(p, std::exchange(l.chunk, nullptr));
		l.begin = l.end = 0;
	}
	return n;
}

int line_receive(socket_port &p, socket_line &l, port_event *events, int most)
{
	int n = l.has_more ? records_take(p, l, events, most) : 0;
	bool full = true;
	for (int round = 0; round < kRounds && full && n < most && l.fd; round++) {
		full = false;
		const ssize_t got = read_socket(p, l, &full);
		if (got == -EAGAIN || got == -EWOULDBLOCK)
			break;
		if (got <= 0) {
			const int err = got ? static_cast<int>(-got) : ECONNRESET;
			line_lost(p, l, -err, got ? error_text(p, err) : "the peer closed the connection");
			break;
		}
		n += records_take(p, l, events + n, most - n);
	}
	if (l.chunk && l.begin == l.end && !l.bulk.left) { // nothing was read
		chunk_release(p, std::exchange(l.chunk, nullptr));
		l.begin = l.end = 0;
	}
	return n;
}

} // namespace pgas
