// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of the port over an RDMA adapter: how a queue pair comes to be, breaks, is made again, and goes.
#include "port_verbs.hpp"
#include "net_proof.hpp"
#include "port_ofi.hpp"

#include <pgas/pgas_counter.h>

#include <rdma/fi_errno.h>

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr int kResolveMs = 2000;
constexpr uint64_t kCrossedNs = 1'000'000'000;  // how long the winner of two calls may take
constexpr uint64_t kFullNs = 100'000'000;       // until somebody who lets no more in is called again, or twice that
constexpr uint64_t kStrangerNs = 2'000'000'000; // that a stranger may keep its place, when others want it
// An adapter repeats what is not acknowledged after 4.096 us x 2^14 = 67 ms, six times: a dead process or host is
// noticed after half a second. Seven would mean for ever to some.
constexpr uint8_t kAckTimeout = 14, kRetries = 6;
constexpr uint8_t kRetriesNoBuffer = 7; // for ever: the link's own patience decides
// Of the status of a refusal:
constexpr int kNobodyListens = 8;
constexpr int kRefusedStale = 10;  // its kernel remembers another connection of that queue pair's number
constexpr int kRefusedByPeer = 28; // the peer's word says why

bool settled(line_state s)
{
	return s == line_state::idle || s == line_state::up || s == line_state::failed;
}

void enter(verbs_port &p, verbs_line &l, line_state s)
{
	p.unsettled += !settled(s);
	p.unsettled -= !settled(l.state);
	l.state = s;
}

std::string shown(const verbs_line &l)
{
	return address_show(FI_SOCKADDR, l.address.data(), l.address.size());
}

sockaddr_storage unpacked(const std::string &address)
{
	char raw[128];
	sockaddr_storage out{};
	static_assert(sizeof raw >= sizeof(sockaddr_storage));
	if (address_unpack(FI_SOCKADDR, address.data(), address.size(), raw, sizeof raw))
		memcpy(&out, raw, sizeof out);
	return out;
}

// Nothing is done with the line for so long, unless it is called.
void wait_for(verbs_port &p, verbs_line &l, uint64_t ns)
{
	l.retry_at = pgas_now_ns() + ns;
	enter(p, l, line_state::crossed);
}

// --- queue pairs -----------------------------------------------------------------------------------------------------

// Lets the queue pair go; what it had posted stays, for the next one.
void hang_up(verbs_port &p, verbs_line &l)
{
	if (l.qp) {
		ibv_qp_attr a{};
		a.qp_state = IBV_QPS_ERR;
		p.api->ibv_modify_qp(l.qp, &a, IBV_QP_STATE);
		verbs_drain(p); // from now on nothing goes through any more: what did is counted
	}
	if (l.id) {
		p.api->rdma_disconnect(l.id);
		p.api->rdma_destroy_id(l.id);
	}
	if (l.qp) {
		const uint32_t number = l.qp->qp_num;
		p.api->ibv_destroy_qp(l.qp);
		verbs_drain(p); // nothing of it comes behind that: the completion queue has room for the next one
		p.by_qp.erase(number);
	}
	l.id = nullptr;
	l.qp = nullptr;
	l.put.ready = false;
	l.reads = 0;
	for (uint32_t i = l.first; i != l.next; i++)
		l.reads += l.at(i).kind == posting_kind::read;
	std::erase_if(p.broken, [&l](const auto &b) { return b.first == &l; });
}

// librdmacm knows what the next state needs, but for our patience.
bool move_to(verbs_port &p, verbs_line &l, ibv_qp_state state)
{
	ibv_qp_attr a{};
	int mask = 0;
	a.qp_state = state;
	if (p.api->rdma_init_qp_attr(l.id, &a, &mask) != 0)
		return false;
	// each where the mask says so; before a call librdmacm knows of no rights yet, and would give none
	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	a.timeout = kAckTimeout;
	a.retry_cnt = kRetries;
	a.rnr_retry = kRetriesNoBuffer;
	const int err = p.api->ibv_modify_qp(l.qp, &a, mask);
	errno = err;
	return err == 0;
}

bool make_queue_pair(verbs_port &p, verbs_line &l)
{
	ibv_qp_init_attr a = pair_attributes(p, p.inline_most);
	l.qp = p.api->ibv_create_qp(p.pd, &a);
	if (!l.qp)
		return false;
	l.generation = ++p.pairs_made;
	p.by_qp[l.qp->qp_num] = &l;
	return move_to(p, l, IBV_QPS_INIT);
}

bool connect_queue_pair(verbs_port &p, verbs_line &l)
{
	return move_to(p, l, IBV_QPS_RTR) && move_to(p, l, IBV_QPS_RTS);
}

// Is an identifier of librdmacm on our adapter?
bool on_our_adapter(const verbs_port &p, const rdma_cm_id *id)
{
	return id->verbs && p.device_name == p.api->ibv_get_device_name(id->verbs->device);
}

rdma_conn_param parameters_of(const verbs_port &p, const verbs_line &l, const void *words, size_t len)
{
	rdma_conn_param c{};
	c.qp_num = l.qp->qp_num;
	c.srq = 1;
	c.private_data = words;
	c.private_data_len = static_cast<uint8_t>(len);
	c.responder_resources = c.initiator_depth = static_cast<uint8_t>(p.reads_most);
	c.retry_count = kRetries;
	c.rnr_retry_count = kRetriesNoBuffer;
	return c;
}

void line_free(verbs_port &p, verbs_line &l)
{
	hang_up(p, l);
	enter(p, l, line_state::failed);
	p.completions_left += l.next - l.first;
	const auto it = p.by_address.find(l.address);
	if (it != p.by_address.end() && it->second == &l)
		p.by_address.erase(it);
	p.holes.push_back(l.number);
	p.lines[l.number].reset();
}

// --- up --------------------------------------------------------------------------------------------------------------

// What is not over is posted again, but for what the peer has: the packets that it counted, and the writes before them.
void resume(verbs_port &p, verbs_line &l, uint32_t arrived)
{
	std::vector<posting> all;
	uint32_t sends = 0;
	for (; l.first != l.next; l.first++) {
		all.push_back(l.at(l.first));
		sends += counted(all.back().kind);
	}
	const uint32_t missing = l.sends - arrived;
	enter(p, l, line_state::up);
	if (missing > sends) {
		for (const posting &one : all)
			posting_over(p, l, one, -FI_ECONNRESET);
		line_fail(p, l, "it counts packets that were never sent");
		return;
	}
	l.reads = 0;
	uint32_t had = sends - missing; // of the packets in the list
	bool put_had = false;
	for (const posting &one : all) {
		// a put that the peer counted is in its memory, and needs no flush
		const bool is_over = one.kind == posting_kind::flush ? put_had : had && one.kind != posting_kind::read;
		put_had = is_over && one.kind == posting_kind::put;
		had -= is_over && counted(one.kind);
		if (is_over)
			posting_over(p, l, one, 0);
		else
			l.at(l.next++) = one;
	}
	for (uint32_t i = l.first; i != l.next; i++) {
		if (const int err = verbs_post(p, l, i)) {
			line_fail(p, l, std::string("cannot post again: ") + strerror(err));
			return;
		}
	}
}

// --- calling ---------------------------------------------------------------------------------------------------------

void call_failed(verbs_port &p, verbs_line &l, const char *what, int err)
{
	line_fail(p, l, std::string(what) + (err ? std::string(": ") + strerror(err) : ""));
}

void address_resolved(verbs_port &p, verbs_line &l)
{
	enter(p, l, line_state::routing);
	if (p.api->rdma_resolve_route(l.id, kResolveMs) != 0)
		call_failed(p, l, "no route to it", errno);
}

void route_resolved(verbs_port &p, verbs_line &l)
{
	if (!on_our_adapter(p, l.id)) {
		call_failed(p, l, "only another adapter of this host leads to it", 0);
		return;
	}
	if (!make_queue_pair(p, l)) {
		call_failed(p, l, "no queue pair for it", errno);
		return;
	}
	line_call call{};
	call.magic = kCallMagic;
	call.protocol = kCallProtocol;
	call.address_len = static_cast<uint8_t>(p.address.size());
	memcpy(call.address, p.address.data(), p.address.size());
	call.again = l.again;
	call.id = l.name;
	call.received = l.received;
	rdma_conn_param c = parameters_of(p, l, &call, sizeof call);
	enter(p, l, line_state::calling);
	if (p.api->rdma_connect(l.id, &c) != 0)
		call_failed(p, l, "cannot connect to it", errno);
}

void answered(verbs_port &p, verbs_line &l, const rdma_conn_param &c)
{
	line_answer a;
	if (c.private_data_len < sizeof a || !c.private_data ||
	    (memcpy(&a, c.private_data, sizeof a), a.magic != kCallMagic) || a.id != l.name)
		call_failed(p, l, "it answered our call with nonsense", 0);
	else if (!connect_queue_pair(p, l) || p.api->rdma_establish(l.id) != 0)
		call_failed(p, l, "cannot connect to it", errno);
	else
		resume(p, l, a.received);
}

void refused(verbs_port &p, verbs_line &l, int status, const rdma_conn_param &c)
{
	const auto why = status == kRefusedByPeer && c.private_data_len && c.private_data
				 ? static_cast<line_refusal>(*static_cast<const uint8_t *>(c.private_data))
				 : line_refusal{};
	switch (status == kRefusedStale ? line_refusal::full : why) {
	case line_refusal::crossed:
		hang_up(p, l);
		wait_for(p, l, kCrossedNs);
		break;
	case line_refusal::unknown:
		line_fail(p, l, "it let the connection go");
		break;
	case line_refusal::full: // many begin at once, and will be known soon; not all of them at the same time
		hang_up(p, l);
		wait_for(p, l, kFullNs + random_word() % kFullNs);
		break;
	case line_refusal::protocol:
		line_fail(p, l, "it speaks another version of the port's protocol");
		break;
	default:
		line_fail(p, l,
			  status == kNobodyListens ? "nobody listens there: its process ended"
						   : "it refused the call, reason " + std::to_string(status));
		break;
	}
}

// --- answering -------------------------------------------------------------------------------------------------------

// The words of a call, from anybody. False: nonsense.
bool read_call(const verbs_port &p, const rdma_cm_id *id, const rdma_conn_param &c, line_call &call)
{
	if (c.private_data_len < sizeof call || !c.private_data)
		return false;
	memcpy(&call, c.private_data, sizeof call);
	if (call.magic != kCallMagic || call.protocol != kCallProtocol || call.address_len != p.address.size())
		return false;
	// whoever calls may say its port, but not that it is another host
	const auto &from = id->route.addr.dst_addr;
	const bool v4 = call.address_len == 6;
	const void *ip = v4 ? static_cast<const void *>(&reinterpret_cast<const sockaddr_in &>(from).sin_addr)
			    : &reinterpret_cast<const sockaddr_in6 &>(from).sin6_addr;
	return from.sa_family == (v4 ? AF_INET : AF_INET6) && memcmp(ip, call.address, v4 ? 4 : 16) == 0;
}

void refuse(verbs_port &p, rdma_cm_id *id, line_refusal why)
{
	p.api->rdma_reject(id, &why, sizeof why);
	p.api->rdma_destroy_id(id);
}

// There is room for one more that we do not know. Who said nothing for long makes room.
bool room_for_stranger(verbs_port &p)
{
	const uint64_t now = pgas_now_ns();
	uint32_t strangers = 0;
	for (size_t i = 1; i < p.lines.size(); i++)
		strangers += p.lines[i] && !p.lines[i]->users;
	for (size_t i = 1; i < p.lines.size() && strangers >= kStrangersMost; i++)
		if (p.lines[i] && !p.lines[i]->users && now - p.lines[i]->born > kStrangerNs) {
			line_free(p, *p.lines[i]);
			strangers--;
		}
	return strangers < kStrangersMost;
}

// The line that a call is for; null: it is refused, and why.
verbs_line *line_for(verbs_port &p, const line_call &call, line_refusal &why)
{
	const std::string address(call.address, call.address_len);
	const auto it = p.by_address.find(address);
	verbs_line *l = it == p.by_address.end() ? nullptr : it->second;
	const bool known = l && l->name == call.id;
	if (call.again && !known) {
		if (l && l->state == line_state::crossed)
			l->retry_at = 0; // that call is over, ours may go
		why = line_refusal::unknown;
		return nullptr;
	}
	const line_state s = l ? l->state : line_state::idle;
	const bool calls = s == line_state::resolving || s == line_state::routing || s == line_state::calling;
	if (calls && p.address < address) {
		why = line_refusal::crossed;
		return nullptr;
	}
	const bool was_up = l && (s == line_state::up || s == line_state::answering || l->sends || l->received);
	if (was_up && !(call.again && known)) {
		line_fail(p, *l, "another process has its address now");
		l = nullptr;
	} else if (l) {
		hang_up(p, *l);
		l->again = call.again;
	}
	if (!l && !room_for_stranger(p)) {
		why = line_refusal::full;
		return nullptr;
	}
	return l ? l : line_of(p, address);
}

void called(verbs_port &p, rdma_cm_id *id, const rdma_conn_param &c)
{
	line_call call;
	line_refusal why = line_refusal::protocol;
	verbs_line *l = read_call(p, id, c, call) && on_our_adapter(p, id) ? line_for(p, call, why) : nullptr;
	if (!l) {
		refuse(p, id, why);
		return;
	}
	l->id = id;
	id->context = l;
	l->name = call.id;
	l->arrived = call.received;
	enter(p, *l, line_state::answering);
	if (!make_queue_pair(p, *l) || !connect_queue_pair(p, *l)) {
		call_failed(p, *l, "no queue pair for it", errno);
		return;
	}
	const line_answer a{kCallMagic, l->received, l->name};
	rdma_conn_param mine = parameters_of(p, *l, &a, sizeof a);
	// of an arrived call, librdmacm shows what the caller wants of us and offers us
	mine.responder_resources = std::min(mine.responder_resources, c.responder_resources);
	mine.initiator_depth = std::min(mine.initiator_depth, c.initiator_depth);
	if (p.api->rdma_accept(id, &mine) != 0)
		call_failed(p, *l, "cannot answer its call", errno);
}

// --- events ----------------------------------------------------------------------------------------------------------

void all_fail(verbs_port &p, const char *why)
{
	for (size_t i = 1; i < p.lines.size(); i++)
		if (p.lines[i] && p.lines[i]->state != line_state::failed)
			line_fail(p, *p.lines[i], why);
}

void handle(verbs_port &p, const rdma_cm_event &e)
{
	if (e.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		called(p, e.id, e.param.conn);
		return;
	}
	if (e.event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		all_fail(p, "the adapter was removed");
		return;
	}
	auto *l = static_cast<verbs_line *>(e.id->context);
	if (!l || l->id != e.id)
		return;
	switch (e.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		address_resolved(p, *l);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		route_resolved(p, *l);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		answered(p, *l, e.param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (l->state == line_state::answering)
			resume(p, *l, l->arrived);
		break;
	case RDMA_CM_EVENT_REJECTED:
		refused(p, *l, e.status, e.param.conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (l->state == line_state::up || l->state == line_state::answering) {
			verbs_drain(p); // what it said before it went
			line_broke(p, *l, "it let the connection go");
		}
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		call_failed(p, *l, "it cannot be reached", e.status < 0 ? -e.status : 0);
		break;
	default:
		break;
	}
}

// Events are given back before they are handled: an identifier with events that are not cannot be destroyed.
bool next_event(verbs_port &p, rdma_cm_event &e, char *words, size_t room)
{
	rdma_cm_event *got = nullptr;
	if (p.api->rdma_get_cm_event(p.events, &got) != 0)
		return false;
	e = *got;
	rdma_conn_param &c = e.param.conn;
	if (c.private_data && c.private_data_len) {
		c.private_data_len = static_cast<uint8_t>(std::min<size_t>(c.private_data_len, room));
		memcpy(words, c.private_data, c.private_data_len);
		c.private_data = words;
	}
	p.api->rdma_ack_cm_event(got);
	return true;
}

void look_at_device(verbs_port &p)
{
	ibv_async_event e;
	while (p.api->ibv_get_async_event(p.device, &e) == 0) {
		const ibv_event_type type = e.event_type;
		const uint32_t qp = type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
						    type == IBV_EVENT_QP_ACCESS_ERR
					    ? e.element.qp->qp_num
					    : 0;
		p.api->ibv_ack_async_event(&e);
		const auto it = qp ? p.by_qp.find(qp) : p.by_qp.end();
		if (it != p.by_qp.end())
			p.broken.emplace_back(it->second, p.api->ibv_event_type_str(type));
		else if (type == IBV_EVENT_DEVICE_FATAL || type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_SRQ_ERR)
			all_fail(p, p.api->ibv_event_type_str(type));
		else if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE)
			PGAS_WARN(FI_LOG_EP_CTRL, "link: %s: %s\n", p.name.c_str(), p.api->ibv_event_type_str(type));
	}
}

} // namespace

verbs_line *line_of(verbs_port &p, const std::string &address)
{
	verbs_line *&known = p.by_address[address];
	if (known)
		return known;
	auto l = std::make_unique<verbs_line>();
	l->address = address;
	l->serial = ++p.lines_made;
	l->born = pgas_now_ns();
	l->postings.resize(kLineDepth);
	if (p.holes.empty()) {
		l->number = static_cast<uint32_t>(p.lines.size());
		p.lines.emplace_back();
	} else {
		l->number = p.holes.back();
		p.holes.pop_back();
	}
	known = l.get();
	p.lines[l->number] = std::move(l);
	return known;
}

void line_call_up(verbs_port &p, verbs_line &l)
{
	if (!l.again)
		l.name = random_word();
	enter(p, l, line_state::resolving);
	sockaddr_storage to = unpacked(l.address), from = unpacked(p.address);
	reinterpret_cast<sockaddr_in &>(from).sin_port = 0; // at the same place in both kinds
	if (p.api->rdma_create_id(p.events, &l.id, &l, RDMA_PS_TCP) != 0 ||
	    p.api->rdma_resolve_addr(l.id, reinterpret_cast<sockaddr *>(&from), reinterpret_cast<sockaddr *>(&to),
				     kResolveMs) != 0)
		call_failed(p, l, "cannot look for it", errno);
}

void line_broke(verbs_port &p, verbs_line &l, const std::string &why)
{
	hang_up(p, l); // which may find that something went through
	if (std::exchange(l.again, true)) {
		line_fail(p, l, why);
		return;
	}
	PGAS_INFO(FI_LOG_EP_CTRL, "link: the connection to %s broke (%s) and is made again\n", shown(l).c_str(),
		  why.c_str());
	l.why = why;
	if (l.users)
		line_call_up(p, l);
	else
		wait_for(p, l, kCrossedNs); // a stranger's: it calls, or not
}

void line_fail(verbs_port &p, verbs_line &l, const std::string &why)
{
	if (l.state == line_state::failed)
		return;
	hang_up(p, l);
	l.why = l.why.empty() || l.why == why ? why : l.why + "; " + why;
	enter(p, l, line_state::failed);
	p.by_address.erase(l.address);
	for (; l.first != l.next; l.first++)
		posting_over(p, l, l.at(l.first), -FI_ECONNRESET);
	if (!l.users) {
		line_free(p, l);
		return;
	}
	port_event e{port_event_kind::lost, -FI_ECONNRESET};
	e.to = l.to();
	p.found.push_back(e);
}

void line_release(verbs_port &p, verbs_line &l)
{
	if (--l.users == 0)
		line_free(p, l);
}

void lines_look(verbs_port &p)
{
	rdma_cm_event e;
	char words[256];
	while (next_event(p, e, words, sizeof words))
		handle(p, e);
	look_at_device(p);
	if (!p.unsettled)
		return;
	const uint64_t now = pgas_now_ns();
	for (size_t i = 1; i < p.lines.size(); i++) {
		verbs_line *l = p.lines[i].get();
		if (!l || l->state != line_state::crossed || now <= l->retry_at)
			continue;
		if (l->users)
			line_call_up(p, *l);
		else
			line_free(p, *l);
	}
}

void lines_close(verbs_port &p)
{
	for (size_t i = 1; i < p.lines.size(); i++)
		if (p.lines[i])
			line_free(p, *p.lines[i]);
}

} // namespace pgas
