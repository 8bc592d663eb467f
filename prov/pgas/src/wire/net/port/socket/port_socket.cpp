// SPDX-License-Identifier: BSD-3-Clause
//
// The port over TCP sockets: its table, exposed memory, polling and waiting, opening.
#include "port_socket.hpp"
#include "wire/net/port/port_address.hpp"

#include <pgas/pgas_proof.hpp>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr size_t kBulkFrom = 16384;
constexpr size_t kReadUnasked = 2;     // up to this many lines are read without asking epoll which have something
constexpr uint32_t kPollsBetween = 32; // polls between checks for callers, while lines are read without asking epoll
constexpr uint32_t kFoundAlone = 4;    // one in so many polls that had events waiting also checks for new ones
constexpr int kReadyAtOnce = 32;

void socket_close(port *base)
{
	std::unique_ptr<socket_port> p(&socket_of(*base));
	for (const auto &l : p->lines) {
		line_leave(*l);
		if (l->state != line_state::up)
			continue;
		// closing a socket with unread data discards what it still has to send
		char rest[4096];
		shutdown(l->fd.get(), SHUT_WR);
		for (int i = 0; i < 64 && recv(l->fd.get(), rest, sizeof rest, MSG_DONTWAIT) > 0; i++)
			;
	}
}

size_t socket_address(const port &p, char *out)
{
	const std::string &a = socket_of(p).address;
	memcpy(out, a.data(), a.size());
	return a.size();
}

std::string socket_show(const port &base, const char *addr, size_t len)
{
	return len == socket_of(base).address.size() ? address_show(FI_SOCKADDR, addr, len) : "";
}

int socket_insert(port &base, const char *addr, size_t len, uint64_t *dst)
{
	socket_port &p = socket_of(base);
	const std::string address(addr, len);
	if (socket_show(p, addr, len).empty() || address == p.address)
		return -FI_EINVAL;
	socket_line &l = line_new(p, address);
	l.kept = true;
	*dst = number_of(l);
	return 0;
}

void socket_remove(port &p, uint64_t line)
{
	line_remove(socket_of(p), line_of(line));
}

bool socket_keep(port &, uint64_t line)
{
	socket_line &l = line_of(line);
	l.kept = l.kept || l.state == line_state::up;
	return l.state == line_state::up;
}

const std::string &socket_peer(const port &, uint64_t line)
{
	return line_of(line).address;
}

void socket_trust(port &p, uint64_t line, const uint64_t *)
{
	line_trust(socket_of(p), line_of(line));
}

void socket_drop(port &p, uint64_t line, const char *what)
{
	line_drop(socket_of(p), line_of(line), what);
}

// Can something be sent now? Returns 0, -FI_EAGAIN, or a permanent error.
int ready(socket_port &p, socket_line &l)
{
	if (l.state == line_state::up) [[likely]]
		return l.out.size() < kOutMost ? 0 : -FI_EAGAIN;
	if (l.state == line_state::idle)
		line_call(p, l);
	return l.state == line_state::failed ? -FI_ECONNRESET : -FI_EAGAIN;
}

template <class Record>
void begin_record(record_out &r, const Record &head, const void *bytes, size_t len)
{
	memcpy(r.head, &head, sizeof head);
	r.head_len = sizeof head;
	r.bytes = static_cast<const char *>(bytes);
	r.len = len;
	r.pad = 0;
	r.gone = 0;
	r.work = nullptr;
	r.of_transfer = false;
	r.key = 0;
}

port_sent socket_send(port &base, uint64_t line, const void *bytes, size_t len, void *, port_work *work)
{
	socket_port &p = socket_of(base);
	socket_line &l = line_of(line);
	if (const int rc = ready(p, l)) [[unlikely]]
		return {rc};
	record_out r;
	begin_record(r, head_of(record_kind::packet, len), bytes, len);
	r.pad = static_cast<uint32_t>(round_up(len, 8) - len);
	r.work = work;
	return line_send(p, l, r);
}

int socket_write(port &base, uint64_t line, const void *src, size_t len, void *, uint64_t addr, uint64_t key,
		 port_work *work)
{
	socket_port &p = socket_of(base);
	socket_line &l = line_of(line);
	if (len > kRecordBulkMost || !len)
		return -FI_EINVAL;
	if (const int rc = ready(p, l))
		return rc;
	record_out r;
	begin_record(r, write_record{head_of(record_kind::write, len), key, addr, len}, src, len);
	r.work = work;
	r.of_transfer = true;
	const port_sent s = line_send(p, l, r);
	if (!s.status && s.packet == port_send::done)
		p.found.push_back({port_event_kind::done, 0, work});
	return s.status;
}

int socket_read(port &base, uint64_t line, void *into, size_t len, void *, uint64_t addr, uint64_t key, port_work *work)
{
	socket_port &p = socket_of(base);
	socket_line &l = line_of(line);
	if (len > kRecordBulkMost || !len)
		return -FI_EINVAL;
	if (const int rc = ready(p, l))
		return rc;
	if (l.reads.size() + (l.bulk.work != nullptr) >= kReadsMost)
		return -FI_EAGAIN;
	record_out r;
	begin_record(r, read_record{head_of(record_kind::read, len), key, addr, l.next_read}, nullptr, 0);
	if (const int rc = line_send(p, l, r).status)
		return rc;
	l.reads.push_back({l.next_read++, static_cast<char *>(into), len, work});
	return 0;
}

// --- memory ----------------------------------------------------------------------------------------------------------

// Peers name the memory by its key, and bytes by their offset.
int socket_expose(port &base_port, void *base, size_t len, port_rights rights, port_memory *out)
{
	socket_port &p = socket_of(base_port);
	*out = {};
	if (!rights)
		return 0;
	uint64_t key;
	do {
		key = random_word();
	} while (key < 2 || p.memory.contains(key)); // a stray 0 or 1 must never be a valid key
	p.memory[key] = {static_cast<char *>(base), len, rights};
	out->key = key;
	return 0;
}

void socket_conceal(port &base, port_memory &m)
{
	socket_port &p = socket_of(base);
	const uint64_t key = std::exchange(m, {}).key;
	if (!key || !p.memory.erase(key))
		return;
	for (size_t i = p.lines.size(); i-- > 0;) {
		socket_line &l = *p.lines[i];
		const bool used = l.bulk.key == key ||
				  std::ranges::any_of(l.out, [key](const record_out &r) { return r.key == key; });
		if (used)
			line_lost(p, l, -FI_ECONNRESET, "memory was closed while the peer wrote to it or read it");
	}
}

// --- polling ---------------------------------------------------------------------------------------------------------

int take_found(socket_port &p, port_event *events, int most)
{
	int n = 0;
	for (; n < most && !p.found.empty(); p.found.pop_front())
		events[n++] = p.found.front();
	return n;
}

int serve_watched(socket_port &p, socket_watched &w, port_event *events, int most, bool and_lines)
{
	if (w.kind == watched_kind::listener)
		callers_accept(p);
	if (!w.fd || w.kind == watched_kind::listener || w.kind == watched_kind::bell)
		return 0; // it ended in this turn, or is not for us
	if (w.kind == watched_kind::caller) {
		caller_read(p, static_cast<socket_caller *>(&w));
		return 0;
	}
	auto &l = static_cast<socket_line &>(w);
	if (l.state == line_state::calling) {
		line_connected(p, l);
		return 0;
	}
	return most > 0 && (and_lines || !l.listed_up) ? line_receive(p, l, events, most) : 0;
}

// Serves what epoll reports. It reports in the same order each time, so the start rotates. polls / 2: with many lines
// this comes first only in every second poll, and each of them shall be the first here.
int serve_ready(socket_port &p, port_event *events, int most, bool and_lines)
{
	epoll_event ready[kReadyAtOnce];
	const int found = epoll_wait(p.epoll.get(), ready, kReadyAtOnce, 0);
	int n = 0;
	for (int i = 0; i < found; i++) {
		const epoll_event &e = ready[(p.polls / 2 + static_cast<uint32_t>(i)) % static_cast<uint32_t>(found)];
		n += serve_watched(p, *static_cast<socket_watched *>(e.data.ptr), events + n, most - n, and_lines);
	}
	if (!p.unknown.empty() || !p.callers.empty() || p.deaf_until)
		expire_strangers(p);
	return n;
}

// Sends what the kernel did not accept before. Lines with nothing left to send or report leave the list.
void flush_pending(socket_port &p)
{
	for (socket_line *l : p.pending)
		if (!l->out.empty())
			line_flush(p, *l);
	std::erase_if(p.pending, [](socket_line *l) {
		l->listed_pending = !l->out.empty() || l->has_more;
		return !l->listed_pending;
	});
}

// Reports records that were received but not reported.
int report_pending(socket_port &p, port_event *events, int most)
{
	int n = 0;
	for (size_t i = 0; i < p.pending.size() && n < most; i++)
		if (socket_line &l = *p.pending[(p.polls / 2 + i) % p.pending.size()]; l.has_more)
			n += records_take(p, l, events + n, most - n);
	return n;
}

// Reads few lines without asking epoll which have something.
int read_all(socket_port &p, port_event *events, int most)
{
	int n = 0;
	for (size_t i = 0, all = p.up.size(); i < all && n < most && !p.up.empty(); i++) // some may end
		n += line_receive(p, *p.up[(p.polls + i) % p.up.size()], events + n, most - n);
	return n;
}

void bury(socket_port &p)
{
	p.dead_lines.clear();
	p.dead_callers.clear();
}

// A peer that never stops sending must not keep out other lines or callers: they take turns at being first.
int socket_poll(port &base, port_event *events, int most)
{
	socket_port &p = socket_of(base);
	if (!p.dead_lines.empty() || !p.dead_callers.empty()) [[unlikely]]
		bury(p);
	int n = p.found.empty() ? 0 : take_found(p, events, most);
	if (!p.pending.empty())
		flush_pending(p);
	else if (n && ++p.found_alone % kFoundAlone)
		return n; // one long put after the other: most need no check, which costs as much as a short put
	p.polls++;
	if (p.up.size() <= kReadUnasked) {
		if (p.unsettled || p.polls % kPollsBetween == 0 || p.woken.exchange(false, std::memory_order_relaxed))
			n += serve_ready(p, events + n, most - n, false);
		n += read_all(p, events + n, most - n);
		if (!p.pending.empty()) // of unknown lines
			n += report_pending(p, events + n, most - n);
	} else if (p.polls % 2) {
		n += serve_ready(p, events + n, most - n, true);
		n += report_pending(p, events + n, most - n);
	} else {
		n += report_pending(p, events + n, most - n);
		n += serve_ready(p, events + n, most - n, true);
	}
	if (n < most && !p.found.empty())
		n += take_found(p, events + n, most - n);
	return n;
}

void socket_give_back(port &p, void *buffer)
{
	chunk_release(socket_of(p), static_cast<in_chunk *>(buffer));
}

bool socket_gone(port &, uint64_t line, const char *, size_t)
{
	return line_of(line).state == line_state::failed;
}

port_life socket_life(const port &, uint64_t line, uint64_t silent_ns, uint64_t patience_ns)
{
	return line_life(line_of(line), silent_ns, patience_ns);
}

std::string socket_trouble(const port &, uint64_t line)
{
	return line_of(line).trouble;
}

// --- waiting ---------------------------------------------------------------------------------------------------------

bool socket_arm(port &base)
{
	socket_port &p = socket_of(base);
	for (socket_line *l : p.pending) {
		if (l->has_more)
			return false;
		if (!l->out.empty())
			line_watch(p, *l, EPOLLIN | EPOLLOUT);
	}
	return p.found.empty();
}

void socket_wait(port &base, int ms)
{
	socket_port &p = socket_of(base);
	epoll_event e;
	// the lock is not held here: a line that epoll reports may be gone by now
	const int found = epoll_wait(p.epoll.get(), &e, 1, ms);
	p.woken.store(true, std::memory_order_relaxed); // strangers age while nothing arrives
	if (found == 1 && e.data.ptr == &p.bell) {
		uint64_t rings;
		[[maybe_unused]] const ssize_t n = read(p.bell.fd.get(), &rings, sizeof rings);
	}
}

void socket_ring(port &p)
{
	const uint64_t one = 1;
	[[maybe_unused]] const ssize_t n = write(socket_of(p).bell.fd.get(), &one, sizeof one);
}

constexpr port_ops kSocketPort = {
	.close = socket_close,
	.address = socket_address,
	.show = socket_show,
	.insert = socket_insert,
	.remove = socket_remove,
	.keep = socket_keep,
	.peer = socket_peer,
	.trust = socket_trust,
	.drop = socket_drop,
	.send = socket_send,
	.poll = socket_poll,
	.give_back = socket_give_back,
	.write = socket_write,
	.read = socket_read,
	.put_ready = nullptr,
	.put = nullptr,
	.expose = socket_expose,
	.expose_device = nullptr, // the kernel's copies only know host memory
	.conceal = socket_conceal,
	.gone = socket_gone,
	.life = socket_life,
	.trouble = socket_trouble,
	.arm = socket_arm,
	.wait = socket_wait,
	.ring = socket_ring,
};

// --- opening ---------------------------------------------------------------------------------------------------------

bool listen_on(socket_port &p, const ip_interface &interface)
{
	p.own = interface.addr;
	p.own_len = interface.len;
	auto *const own = reinterpret_cast<sockaddr *>(&p.own);
	p.listener.fd = unique_fd(socket(own->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	p.epoll = unique_fd(epoll_create1(EPOLL_CLOEXEC));
	p.bell.fd = unique_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	p.reserve = unique_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
	socklen_t len = interface.len;
	if (!p.listener.fd || !p.epoll || !p.bell.fd || !p.reserve ||
	    bind(p.listener.fd.get(), own, interface.len) != 0 || listen(p.listener.fd.get(), SOMAXCONN) != 0 ||
	    getsockname(p.listener.fd.get(), own, &len) != 0)
		return false;
	char packed[kLinkAddressMost];
	p.address.assign(packed, address_pack(reinterpret_cast<const char *>(own), len, packed));
	return watch_descriptor(p, p.listener) && watch_descriptor(p, p.bell);
}

} // namespace

// At most a quarter of the descriptors is for strangers; a quarter of that for callers without a hello.
static void bound_strangers(socket_port &p)
{
	rlimit files{};
	const size_t all = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
	p.callers_most = std::clamp<size_t>(all / 16, 2, kCallersMost);
	p.unknown_most = std::clamp<size_t>(all / 4 - all / 16, 4, kUnknownMost);
}

port *port_socket_at(const ip_interface &interface, const port_options &options, std::string &why)
{
	if (options.tls && !tls_usable(why))
		return nullptr;
	auto p = std::make_unique<socket_port>();
	p->tls = options.tls;
	p->secret = options.secret;
	p->patience_ns = options.patience_ns;
	bound_strangers(*p);
	p->ops = &kSocketPort;
	p->kind = kSocketKind;
	p->name = (options.tls ? "encrypted socket on " : "socket on ") + interface.name;
	p->limits = {options.packet, kBulkFrom, false, true, true, false};
	if (!listen_on(*p, interface)) {
		why = p->name + ": " + strerror(errno);
		return nullptr;
	}
	return p.release();
}

} // namespace pgas
