// SPDX-License-Identifier: BSD-3-Clause
//
// The port over an RDMA adapter: its table, packets by SEND into a receive queue that all lines share, transfers by
// WRITE and READ, and the completion queue. Single words: port_verbs_put.cpp.
//
// The adapter guarantees: postings on one queue pair are executed in order, and a completion means that the other
// adapter has accepted the bytes, not that its CPU can see them. We add the acknowledgement of a packet after a write
// (port_limits::stream). The other adapter delivers that packet after the write's bytes, so when its CPU has seen the
// packet, it sees the bytes, too. A READ completes when its bytes are here. Only operations after a READ may overtake
// it at the target, so they wait (IBV_SEND_FENCE) while one is pending.
//
// Room: a posting takes a place in its line's send queue and one in the completion queue, which all lines share, until
// it completes, however often it is posted. Adapters do not refuse posts beyond either, or only late, so both are
// counted here.
#include "port_verbs.hpp"
#include "wire/net/port/port_address.hpp"

#include <pgas/pgas_counter.h>

#include <rdma/fi_errno.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr uint32_t kKeptForPackets = 16; // places of a line that transfers leave free
constexpr uint32_t kCompletions = 8192;
constexpr uint32_t kPollsBetween = 64; // polls between checks for other events, which are a system call
constexpr uint32_t kRepostAtOnce = 16; // receives
constexpr size_t kVerbsBulkFrom = 4096;
constexpr int kSleepMostMs = 50; // while a line is re-established, or there are strangers: the clock matters
constexpr uint64_t kReceiveMark = 1ull << 63;

// --- completions: their numbers identify their owners ----------------------------------------------------------------

// Null: the queue pair no longer exists.
verbs_line *line_of_number(const verbs_port &p, uint64_t number)
{
	verbs_line *l = line_at(p, static_cast<uint32_t>(number >> 16));
	return l && l->qp && (l->generation & 0x7fffu) == number >> 48 ? l : nullptr;
}

void receive_back(verbs_port &p, verbs_receive *r)
{
	r->wr.next = p.unposted ? &p.unposted->wr : nullptr;
	p.unposted = r;
	p.unposted_count++;
}

void repost(verbs_port &p)
{
	if (!p.unposted)
		return;
	ibv_recv_wr *refused = nullptr;
	if (ibv_post_srq_recv(p.srq, &p.unposted->wr, &refused) == 0)
		refused = nullptr;
	p.unposted = reinterpret_cast<verbs_receive *>(refused);
	p.unposted_count = 0;
	for (const ibv_recv_wr *r = refused; r; r = r->next)
		p.unposted_count++;
}

// Does an outage cause it? Anything else is an error of one of the two sides.
bool of_outage(ibv_wc_status s)
{
	return s == IBV_WC_RETRY_EXC_ERR || s == IBV_WC_RNR_RETRY_EXC_ERR || s == IBV_WC_RESP_TIMEOUT_ERR ||
	       s == IBV_WC_WR_FLUSH_ERR;
}

// The first completion has the reason; all others are only flushed.
void breaks(verbs_port &p, verbs_line &l, const ibv_wc &wc)
{
	if (std::none_of(p.broken.begin(), p.broken.end(), [&l](const line_break &b) { return b.line == &l; }))
		p.broken.push_back({&l, p.api->ibv_wc_status_str(wc.status), !of_outage(wc.status)});
}

void take_receive(verbs_port &p, const ibv_wc &wc)
{
	verbs_receive *r = &p.receives[static_cast<uint32_t>(wc.wr_id)];
	const auto it = p.by_qp.find(wc.qp_num);
	if (wc.status != IBV_WC_SUCCESS) {
		if (it != p.by_qp.end())
			breaks(p, *it->second, wc);
		receive_back(p, r);
		return;
	}
	if (it == p.by_qp.end()) { // nobody counted it: it is sent again, or its line is lost
		receive_back(p, r);
		return;
	}
	it->second->received++;
	it->second->stalled = false; // something went through
	if (wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		port_event e{port_event_kind::put_received};
		e.line = it->second->to();
		e.word = wc.imm_data; // same byte order: the link accepts only machines like ours
		p.found.push_back(e);
		receive_back(p, r);
		return;
	}
	port_event e{port_event_kind::received};
	e.bytes = reinterpret_cast<const char *>(r->sge.addr);
	e.len = wc.byte_len;
	e.buffer = r;
	e.line = it->second->to();
	p.found.push_back(e);
}

void take(verbs_port &p, const ibv_wc &wc)
{
	if (wc.wr_id & kReceiveMark) {
		take_receive(p, wc);
		return;
	}
	verbs_line *l = line_of_number(p, wc.wr_id);
	if (!l)
		return;
	if (wc.status != IBV_WC_SUCCESS) {
		breaks(p, *l, wc);
		return;
	}
	l->stalled = false; // something went through
	l->acked_at = p.clock;
	const uint32_t count = static_cast<uint16_t>(wc.wr_id - l->first) + 1u;
	for (uint32_t i = 0; i < count && l->first != l->next; i++)
		posting_over(p, *l, l->at(l->first++), 0);
}

bool take_some(verbs_port &p)
{
	constexpr int kAtOnce = 16;
	ibv_wc wc[kAtOnce];
	const int n = ibv_poll_cq(p.cq, kAtOnce, wc);
	for (int i = 0; i < n; i++)
		take(p, wc[i]);
	return n > 0;
}

// Repairs the lines that completions reported as broken. That takes their completions, which may report others.
void mend_broken(verbs_port &p)
{
	while (!p.broken.empty()) {
		const line_break b = std::move(p.broken.back());
		p.broken.pop_back();
		if (b.line->state == line_state::up || b.line->state == line_state::answering)
			line_broke(p, *b.line, b.why, b.hard);
	}
}

} // namespace

void posting_over(verbs_port &p, verbs_line &l, const posting &what, int status)
{
	if (what.kind == posting_kind::read)
		l.reads--;
	p.completions_left++;
	if (what.kind == posting_kind::put || (what.kind == posting_kind::flush && status))
		return; // its flush reports completion, or the loss of the line does
	if (what.kind == posting_kind::flush) {
		port_event e{port_event_kind::put_done};
		e.line = l.to();
		e.word = l.put.owner;
		p.found.push_back(e);
		return;
	}
	port_event e{status                            ? port_event_kind::failed
		     : what.kind == posting_kind::send ? port_event_kind::sent
						       : port_event_kind::done};
	e.status = status;
	e.work = what.work;
	p.found.push_back(e);
}

int not_posted(verbs_port &p, verbs_line &l, int err)
{
	if (err != ENOMEM) // a full queue
		p.broken.push_back({&l, std::string("cannot post: ") + strerror(err), true});
	return -FI_EAGAIN;
}

void verbs_drain(verbs_port &p)
{
	while (take_some(p)) {}
}

int verbs_post(verbs_port &p, verbs_line &l, uint32_t i)
{
	const posting &what = l.at(i);
	if (what.kind == posting_kind::put || what.kind == posting_kind::flush) // again: its words are still there
		return put_again(l, i);
	ibv_sge sge{reinterpret_cast<uint64_t>(what.local), what.len, what.lkey};
	ibv_send_wr wr{}, *refused = nullptr;
	wr.wr_id = number_of(l, i);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags = IBV_SEND_SIGNALED;
	if (what.kind == posting_kind::send) {
		wr.opcode = IBV_WR_SEND;
		wr.send_flags |= what.len <= p.inline_most ? IBV_SEND_INLINE : 0;
	} else {
		wr.opcode = what.kind == posting_kind::write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = what.remote;
		wr.wr.rdma.rkey = what.rkey;
	}
	if (l.reads && what.kind != posting_kind::read)
		wr.send_flags |= IBV_SEND_FENCE;
	const int err = ibv_post_send(l.qp, &wr, &refused);
	if (err)
		return err;
	l.reads += what.kind == posting_kind::read;
	return 0;
}

namespace {

// --- the table -------------------------------------------------------------------------------------------------------

int post_new(verbs_port &p, uint64_t line, const posting &what, uint32_t keep_free)
{
	verbs_line *l = line_to(p, line);
	if (!l)
		return -FI_ECONNRESET;
	if (l->state == line_state::idle)
		line_call_up(p, *l);
	if (l->state == line_state::failed)
		return l->status;
	if (l->state != line_state::up || l->room() <= keep_free || !p.completions_left)
		return -FI_EAGAIN;
	l->at(l->next) = what;
	if (const int err = verbs_post(p, *l, l->next))
		return not_posted(p, *l, err);
	l->next++;
	p.completions_left--;
	l->sends += counted(what.kind);
	return 0;
}

uint32_t lkey_of(const verbs_port &p, void *handle)
{
	const auto *mr = handle ? static_cast<const ibv_mr *>(handle) : p.everything;
	return mr ? mr->lkey : 0;
}

port_sent verbs_send(port &base, uint64_t line, const void *bytes, size_t len, void *handle, port_work *work)
{
	verbs_port &p = verbs_of(base);
	return {post_new(p, line,
			 {work, bytes, 0, static_cast<uint32_t>(len), lkey_of(p, handle), 0, posting_kind::send}, 0)};
}

int transfer(port &base, uint64_t line, const void *local, size_t len, void *handle, uint64_t addr, uint64_t key,
	     port_work *work, posting_kind kind)
{
	verbs_port &p = verbs_of(base);
	return post_new(
		p, line,
		{work, local, addr, static_cast<uint32_t>(len), lkey_of(p, handle), static_cast<uint32_t>(key), kind},
		kKeptForPackets);
}

int verbs_write(port &p, uint64_t line, const void *src, size_t len, void *handle, uint64_t addr, uint64_t key,
		port_work *work)
{
	return transfer(p, line, src, len, handle, addr, key, work, posting_kind::write);
}

int verbs_read(port &p, uint64_t line, void *into, size_t len, void *handle, uint64_t addr, uint64_t key,
	       port_work *work)
{
	return transfer(p, line, into, len, handle, addr, key, work, posting_kind::read);
}

int verbs_poll(port &base, port_event *events, int most)
{
	verbs_port &p = verbs_of(base);
	if (p.unposted_count >= kRepostAtOnce)
		repost(p);
	if (p.unsettled || ++p.polls >= kPollsBetween) {
		p.polls = 0;
		check_lines(p);
	}
	if (p.found.empty())
		take_some(p);
	if (!p.broken.empty())
		mend_broken(p);
	int n = 0;
	for (; n < most && !p.found.empty(); n++) {
		events[n] = p.found.front();
		p.found.pop_front();
	}
	return n;
}

void verbs_give_back(port &base, void *buffer)
{
	verbs_port &p = verbs_of(base);
	receive_back(p, static_cast<verbs_receive *>(buffer));
	if (p.unposted_count >= kRepostAtOnce)
		repost(p);
}

size_t verbs_address(const port &base, char *out)
{
	const verbs_port &p = verbs_of(base);
	memcpy(out, p.address.data(), p.address.size());
	return p.address.size();
}

std::string verbs_show(const port &, const char *addr, size_t len)
{
	return len == 6 || len == 18 ? address_show(FI_SOCKADDR, addr, len) : "";
}

int verbs_insert(port &base, const char *addr, size_t len, uint64_t *dst)
{
	verbs_port &p = verbs_of(base);
	const std::string address(addr, len);
	if (verbs_show(base, addr, len).empty() || address == p.address)
		return -FI_EINVAL;
	verbs_line &l = line_new(p, address);
	l.ours = l.kept = true;
	*dst = l.to();
	return 0;
}

void verbs_remove(port &base, uint64_t line)
{
	verbs_port &p = verbs_of(base);
	if (verbs_line *l = line_to(p, line))
		line_free(p, *l);
}

std::string verbs_trouble(const port &p, uint64_t line)
{
	const verbs_line *l = line_to(verbs_of(p), line);
	return l ? l->why : "";
}

// --- sleeping --------------------------------------------------------------------------------------------------------

bool verbs_arm(port &base)
{
	verbs_port &p = verbs_of(base);
	repost(p);
	if (!p.armed.exchange(true) && ibv_req_notify_cq(p.cq, 0) != 0)
		p.armed = false;
	check_lines(p);
	take_some(p); // completions that arrived before
	p.wait_most = p.unsettled || !p.unknown.empty() ? kSleepMostMs : -1;
	return p.found.empty() && p.broken.empty();
}

void verbs_wait(port &base, int ms)
{
	verbs_port &p = verbs_of(base);
	pollfd fds[] = {{p.channel->fd, POLLIN, 0},
			{p.events->fd, POLLIN, 0},
			{p.device->async_fd, POLLIN, 0},
			{p.ring_fd.get(), POLLIN, 0}};
	const int most = p.wait_most;
	if (most >= 0)
		ms = ms < 0 ? most : std::min(ms, most);
	if (poll(fds, std::size(fds), ms) <= 0)
		return;
	if (fds[0].revents) {
		ibv_cq *cq = nullptr;
		void *context = nullptr;
		if (p.api->ibv_get_cq_event(p.channel, &cq, &context) == 0)
			p.api->ibv_ack_cq_events(cq, 1);
		p.armed = false;
	}
	if (fds[3].revents) {
		uint64_t rings;
		[[maybe_unused]] const ssize_t n = read(p.ring_fd.get(), &rings, sizeof rings);
	}
}

void verbs_ring(port &base)
{
	const uint64_t one = 1;
	[[maybe_unused]] const ssize_t n = write(verbs_of(base).ring_fd.get(), &one, sizeof one);
}

// --- opening and closing ---------------------------------------------------------------------------------------------

void verbs_close(port *base)
{
	verbs_port *p = &verbs_of(*base);
	const verbs_api &api = *p->api;
	lines_close(*p);
	if (p->srq)
		api.ibv_destroy_srq(p->srq);
	if (p->cq)
		api.ibv_destroy_cq(p->cq);
	if (p->channel)
		api.ibv_destroy_comp_channel(p->channel);
	for (ibv_mr *mr : {p->memory_mr, p->everything})
		if (mr)
			api.ibv_dereg_mr(mr);
	if (p->pd)
		api.ibv_dealloc_pd(p->pd);
	if (p->device)
		api.ibv_close_device(p->device);
	if (p->listener)
		api.rdma_destroy_id(p->listener);
	if (p->events)
		api.rdma_destroy_event_channel(p->events);
	delete p;
}

constexpr port_ops kVerbsPort = {
	.close = verbs_close,
	.address = verbs_address,
	.show = verbs_show,
	.insert = verbs_insert,
	.remove = verbs_remove,
	.keep = verbs_keep,
	.peer = verbs_peer,
	.trust = verbs_trust,
	.drop = verbs_drop,
	.send = verbs_send,
	.poll = verbs_poll,
	.give_back = verbs_give_back,
	.write = verbs_write,
	.read = verbs_read,
	.put_ready = verbs_put_ready,
	.put = verbs_put_word,
	.expose = verbs_expose,
	.expose_device = nullptr, // would need dma-buf descriptors from the drivers (ibv_reg_dmabuf_mr)
	.conceal = verbs_conceal,
	.gone = verbs_gone,
	.life = verbs_life,
	.trouble = verbs_trouble,
	.arm = verbs_arm,
	.wait = verbs_wait,
	.ring = verbs_ring,
};

bool nonblocking(int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

bool listen_at(verbs_port &p, const verbs_device &d)
{
	sockaddr_storage place = d.address;
	p.events = p.api->rdma_create_event_channel();
	if (!p.events || !nonblocking(p.events->fd) ||
	    p.api->rdma_create_id(p.events, &p.listener, nullptr, RDMA_PS_TCP) != 0 ||
	    p.api->rdma_bind_addr(p.listener, reinterpret_cast<sockaddr *>(&place)) != 0 ||
	    p.api->rdma_listen(p.listener, 256) != 0)
		return false;
	p.device_name = d.name;
	p.device = verbs_open_device(*p.api, d.name.c_str());
	const uint16_t number = p.api->rdma_get_src_port(p.listener);
	const bool v4 = place.ss_family == AF_INET;
	(v4 ? reinterpret_cast<sockaddr_in &>(place).sin_port : reinterpret_cast<sockaddr_in6 &>(place).sin6_port) =
		number;
	char packed[kLinkAddressMost];
	p.address.assign(packed, address_pack(reinterpret_cast<const char *>(&place),
					      v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6), packed));
	return p.device && number && nonblocking(p.device->async_fd);
}

// The maximum that a queue pair takes inline cannot be queried, only tried. A larger value makes each line's queue
// longer, and longer packets gain little.
uint32_t find_inline_most(const verbs_port &p)
{
	for (const uint32_t most : {256u, 220u, 128u, 64u}) {
		ibv_qp_init_attr a = pair_attributes(p, most);
		if (ibv_qp *qp = p.api->ibv_create_qp(p.pd, &a)) {
			p.api->ibv_destroy_qp(qp);
			return most;
		}
	}
	return 0;
}

bool open_queues(verbs_port &p)
{
	ibv_device_attr dev{};
	if (p.api->ibv_query_device(p.device, &dev) != 0)
		return false;
	const auto completions = std::min<uint32_t>(kCompletions, static_cast<uint32_t>(dev.max_cqe));
	if (completions < 2 * kReceives || static_cast<uint32_t>(dev.max_srq_wr) < kReceives) {
		errno = ENOSPC;
		return false;
	}
	p.completions_left = completions - kReceives;
	p.reads_most = static_cast<uint32_t>(std::clamp(std::min(dev.max_qp_rd_atom, dev.max_qp_init_rd_atom), 1, 16));
	ibv_srq_init_attr srq{};
	srq.attr = {kReceives, 1, 0};
	p.pd = p.api->ibv_alloc_pd(p.device);
	p.channel = p.pd ? p.api->ibv_create_comp_channel(p.device) : nullptr;
	if (!p.channel || !nonblocking(p.channel->fd))
		return false;
	p.cq = p.api->ibv_create_cq(p.device, static_cast<int>(completions), nullptr, p.channel, 0);
	p.srq = p.cq ? p.api->ibv_create_srq(p.pd, &srq) : nullptr;
	if (!p.srq)
		return false;
	p.inline_most = find_inline_most(p);
	p.ring_fd = unique_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return bool(p.ring_fd);
}

bool open_receives(verbs_port &p)
{
	const size_t each = p.limits.packet;
	const size_t all = kReceives * each + sizeof(uint64_t);
	p.memory = std::make_unique<char[]>(all);
	p.memory_mr = verbs_register(p, p.memory.get(), all, IBV_ACCESS_LOCAL_WRITE);
	if (!p.memory_mr)
		return false;
	p.receives.resize(kReceives);
	for (uint32_t i = 0; i < kReceives; i++) {
		verbs_receive &r = p.receives[i];
		r.sge = {reinterpret_cast<uint64_t>(p.memory.get() + i * each), static_cast<uint32_t>(each),
			 p.memory_mr->lkey};
		r.wr = {kReceiveMark | i, nullptr, &r.sge, 1};
		receive_back(p, &r);
	}
	repost(p);
	return !p.unposted;
}

} // namespace

port *port_verbs_open(const std::string &device, const port_options &options, std::string &why)
{
	const verbs_api *api = verbs_load(why);
	verbs_device d;
	if (!api || !verbs_choose(*api, device, d, why))
		return nullptr;
	auto p = std::make_unique<verbs_port>();
	p->api = api;
	p->ops = &kVerbsPort;
	p->kind = kVerbsKind;
	p->name = "verbs on " + d.name + ":" + std::to_string(d.port);
	p->lines.emplace_back();
	p->checked_at = pgas_now_ns();
	p->patience_ns = options.patience_ns;
	p->limits = {options.packet, kVerbsBulkFrom, true, true, false};
	// does nothing if the kernel copies pinned pages at fork(); otherwise it must precede any registration
	api->ibv_fork_init();
	errno = 0;
	bool good = listen_at(*p, d) && open_queues(*p);
	if (good) {
		verbs_memory_open(*p);
		good = open_receives(*p);
	}
	if (!good) {
		why = p->name + ": " + strerror(errno ? errno : EIO);
		verbs_close(p.release());
		return nullptr;
	}
	p->limits.pins = !p->on_demand;
	return p.release();
}

} // namespace pgas
