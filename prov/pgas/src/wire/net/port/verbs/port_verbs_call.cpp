// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of the port over an RDMA adapter: ours, those of strangers, and those that re-establish a broken line.
#include "port_verbs.hpp"
#include "wire/net/port/port_address.hpp"

#include <rdma/fi_errno.h>

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr int kResolveMs = 2000;
// Status of a refusal:
constexpr int kNobodyListens = 8;
constexpr int kRefusedByPeer = 28; // its private data says why

sockaddr_storage unpacked(const std::string &address)
{
	char raw[128];
	sockaddr_storage out{};
	static_assert(sizeof raw >= sizeof(sockaddr_storage));
	if (address_unpack(FI_SOCKADDR, address.data(), address.size(), raw, sizeof raw))
		memcpy(&out, raw, sizeof out);
	return out;
}

// Is an identifier of librdmacm on our adapter?
bool on_our_adapter(const verbs_port &p, const rdma_cm_id *id)
{
	return id->verbs && p.device_name == p.api->ibv_get_device_name(id->verbs->device);
}

// A caller may claim any port, but not that it is on another host.
bool from_host_of(const rdma_cm_id *id, const std::string &address)
{
	const auto &src = id->route.addr.dst_addr;
	const bool v4 = address.size() == 6;
	const void *ip = v4 ? static_cast<const void *>(&reinterpret_cast<const sockaddr_in &>(src).sin_addr)
			    : &reinterpret_cast<const sockaddr_in6 &>(src).sin6_addr;
	return src.sa_family == (v4 ? AF_INET : AF_INET6) && memcmp(ip, address.data(), v4 ? 4 : 16) == 0;
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

// --- proofs of calls that re-establish a line ------------------------------------------------------------------------

// The hashed text. Both sides may call: each counts its own calls.
struct again_text {
	char label[16];
	uint64_t id;
	uint64_t of_maker, of_other; // calls: by the side whose first call made the line, and by the other side
	uint32_t received;           // packets that the sender received
	uint32_t qp;                 // of the sender
	uint32_t by_maker;           // whether the sender made the line
	uint32_t answers;            // otherwise it calls
};
static_assert(sizeof(again_text) == 56, "no padding");

enum class sender : bool { us, peer };

// mine, its: the number of our last call, and of the peer's; 0 in a call, whose sender knows only its own.
secret again_mac(const verbs_line &l, sender actor, bool answers, uint64_t mine, uint64_t its, uint32_t received,
		 uint32_t qp)
{
	again_text t{"pgas line again", l.name, l.ours ? mine : its, l.ours ? its : mine, received, qp, 0, answers};
	t.by_maker = l.ours == (actor == sender::us);
	return mac_of(l.key, &t, sizeof t);
}

// --- calling ---------------------------------------------------------------------------------------------------------

void call_failed(verbs_port &p, verbs_line &l, const char *what, int err)
{
	line_call_failed(p, l, err ? what + (std::string(": ") + strerror(err)) : what, err ? -err : -EHOSTUNREACH);
}

void address_resolved(verbs_port &p, verbs_line &l)
{
	line_enter(p, l, line_state::routing);
	if (p.api->rdma_resolve_route(l.id, kResolveMs) != 0)
		call_failed(p, l, "no route to it", errno);
}

line_call words_of_call(const verbs_port &p, verbs_line &l)
{
	line_call call{};
	call.magic = kCallMagic;
	call.protocol = kCallProtocol;
	call.id = l.name;
	call.received = l.received;
	call.again = l.trusted;
	if (l.trusted) {
		line_proof proof{++l.calls_made, {}, 0};
		const secret mac = again_mac(l, sender::us, false, proof.counter, 0, call.received, l.qp->qp_num);
		memcpy(proof.mac, mac.data(), sizeof proof.mac);
		memcpy(call.address, &proof, sizeof proof);
	} else {
		call.address_len = static_cast<uint8_t>(p.address.size());
		memcpy(call.address, p.address.data(), p.address.size());
	}
	return call;
}

void route_resolved(verbs_port &p, verbs_line &l)
{
	if (!on_our_adapter(p, l.id)) {
		line_call_failed(p, l, "only another adapter of this host leads to it", -EADDRNOTAVAIL);
		return;
	}
	if (!make_queue_pair(p, l)) {
		call_failed(p, l, "no queue pair for it", errno);
		return;
	}
	const line_call call = words_of_call(p, l);
	rdma_conn_param c = parameters_of(p, l, &call, sizeof call);
	line_enter(p, l, line_state::calling);
	if (p.api->rdma_connect(l.id, &c) != 0)
		call_failed(p, l, "cannot connect to it", errno);
}

bool read_answer(const verbs_line &l, const rdma_conn_param &c, line_answer &a)
{
	if (c.private_data_len < sizeof a || !c.private_data)
		return false;
	memcpy(&a, c.private_data, sizeof a);
	if (a.magic != kCallMagic || a.id != l.name)
		return false;
	const secret mac = again_mac(l, sender::peer, true, l.calls_made, a.counter, a.received, c.qp_num);
	return !l.trusted || same_mac(mac.data(), a.mac);
}

void answered(verbs_port &p, verbs_line &l, const rdma_conn_param &c)
{
	line_answer a;
	if (!read_answer(l, c, a)) {
		line_call_failed(p, l, "its reply to our call is malformed", -ECONNREFUSED);
		return;
	}
	l.calls_seen = std::max(l.calls_seen, a.counter);
	if (!connect_queue_pair(p, l) || p.api->rdma_establish(l.id) != 0)
		call_failed(p, l, "cannot connect to it", errno);
	else
		line_resume(p, l, a.received);
}

void refused(verbs_port &p, verbs_line &l, int status, const rdma_conn_param &c)
{
	const auto why = status == kRefusedByPeer && c.private_data_len && c.private_data
				 ? static_cast<line_refusal>(*static_cast<const uint8_t *>(c.private_data))
				 : line_refusal{};
	if (status == kNobodyListens)
		line_fail(p, l, "nobody listens there: its process ended", -ECONNREFUSED);
	else if (why == line_refusal::unknown)
		line_fail(p, l, "it let the connection go");
	else if (why == line_refusal::protocol)
		line_fail(p, l, "it speaks another version of the port's protocol", -ECONNREFUSED);
	else if (why == line_refusal::later)
		line_call_failed(p, l, "it calls us", -ECONNRESET);
	else // mostly by its kernel
		line_call_failed(p, l, "it refused the call, reason " + std::to_string(status), -ECONNRESET);
}

// --- answering -------------------------------------------------------------------------------------------------------

// Reads the private data of a call, from any sender. Returns false if it is malformed.
bool read_call(const rdma_conn_param &c, line_call &call)
{
	if (c.private_data_len < sizeof call || !c.private_data)
		return false;
	memcpy(&call, c.private_data, sizeof call);
	return call.magic == kCallMagic && call.protocol == kCallProtocol && call.address_len <= sizeof call.address;
}

void refuse(verbs_port &p, rdma_cm_id *id, line_refusal why)
{
	p.api->rdma_reject(id, &why, sizeof why);
	p.api->rdma_destroy_id(id);
}

// Makes a new line, whatever lines to that address there are. Null: the call is refused.
verbs_line *line_of_stranger(verbs_port &p, const rdma_cm_id *id, const line_call &call, line_refusal &why)
{
	why = line_refusal::protocol;
	const std::string address(call.address, call.address_len);
	if (address.size() != p.address.size() || address == p.address || !from_host_of(id, address)) {
		log_dropped(p, address_claimed(address), "it called from another host");
		return nullptr;
	}
	if (p.unknown.size() >= kStrangersMost)
		line_fail(p, *p.unknown.front(), "others want its place");
	verbs_line &l = line_new(p, address);
	l.unknown = true;
	l.name = call.id;
	p.unknown.push_back(&l);
	return &l;
}

// Returns the line that a call wants to re-establish, if it may. Null: the call is refused for the reason in `why`, and
// nothing has changed.
verbs_line *line_again(verbs_port &p, const rdma_cm_id *id, const rdma_conn_param &c, const line_call &call,
		       line_refusal &why)
{
	line_proof proof;
	memcpy(&proof, call.address, sizeof proof);
	why = line_refusal::unknown;
	for (const auto &l : p.lines) {
		if (!l || l->name != call.id || l->state == line_state::failed || !from_host_of(id, l->address))
			continue;
		if (!l->trusted) { // the peer's proof may be here unread
			why = line_refusal::later;
			continue;
		}
		const secret mac = again_mac(*l, sender::peer, false, 0, proof.counter, call.received, c.qp_num);
		if (proof.counter <= l->calls_seen || !same_mac(mac.data(), proof.mac))
			continue;
		if (l->ours && l->state == line_state::calling) { // both called: our call stays
			why = line_refusal::later;
			return nullptr;
		}
		l->calls_seen = proof.counter;
		return l.get();
	}
	if (why == line_refusal::unknown)
		log_dropped(p, "a caller", "it wants to resume a connection that does not exist, or without its key");
	return nullptr;
}

line_answer words_of_answer(const verbs_line &l)
{
	line_answer a{kCallMagic, l.received, l.name, l.calls_made, {}};
	if (l.trusted) {
		const secret mac = again_mac(l, sender::us, true, l.calls_made, l.calls_seen, l.received, l.qp->qp_num);
		memcpy(a.mac, mac.data(), sizeof a.mac);
	}
	return a;
}

void called(verbs_port &p, rdma_cm_id *id, const rdma_conn_param &c)
{
	line_call call;
	line_refusal why = line_refusal::protocol;
	verbs_line *l = nullptr;
	if (read_call(c, call) && on_our_adapter(p, id))
		l = call.again ? line_again(p, id, c, call, why) : line_of_stranger(p, id, call, why);
	if (!l) {
		refuse(p, id, why);
		return;
	}
	if (call.again)
		line_stop(p, *l, "the peer made it again"); // everything that arrived on it is counted
	l->id = id;
	id->context = l;
	l->arrived = call.received;
	l->tried_at = p.clock;
	line_enter(p, *l, line_state::answering);
	if (!make_queue_pair(p, *l) || !connect_queue_pair(p, *l)) {
		call_failed(p, *l, "no queue pair for it", errno);
		return;
	}
	const line_answer a = words_of_answer(*l);
	rdma_conn_param mine = parameters_of(p, *l, &a, sizeof a);
	// for a received call, librdmacm shows what the caller wants of us and offers us
	mine.responder_resources = std::min(mine.responder_resources, c.responder_resources);
	mine.initiator_depth = std::min(mine.initiator_depth, c.initiator_depth);
	if (p.api->rdma_accept(id, &mine) != 0)
		call_failed(p, *l, "cannot answer its call", errno);
}

// --- events ----------------------------------------------------------------------------------------------------------

bool may_break(const verbs_line &l)
{
	return l.state == line_state::up || l.state == line_state::answering;
}

void handle_line(verbs_port &p, verbs_line &l, const rdma_cm_event &e)
{
	switch (e.event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		address_resolved(p, l);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		route_resolved(p, l);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		answered(p, l, e.param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (l.state == line_state::answering)
			line_resume(p, l, l.arrived);
		break;
	case RDMA_CM_EVENT_REJECTED:
		if (may_break(l))
			line_broke(p, l, "it took its call back", false);
		else
			refused(p, l, e.status, e.param.conn);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (may_break(l)) {
			verbs_drain(p); // completions from before it closed
			line_broke(p, l, "it let the connection go", false);
		}
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		call_failed(p, l, "it cannot be reached", e.status < 0 ? -e.status : 0);
		break;
	default:
		break;
	}
}

void handle(verbs_port &p, const rdma_cm_event &e)
{
	auto *l = static_cast<verbs_line *>(e.id->context);
	if (e.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		called(p, e.id, e.param.conn);
	else if (e.event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		lines_fail(p, "the adapter was removed");
	else if (l && l->id == e.id)
		handle_line(p, *l, e);
}

// Events are acknowledged before they are handled: an identifier with unacknowledged events cannot be destroyed.
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

} // namespace

void line_call_up(verbs_port &p, verbs_line &l)
{
	if (!l.trusted)
		l.name = random_word();
	l.tried_at = p.clock;
	line_enter(p, l, line_state::resolving);
	sockaddr_storage dest = unpacked(l.address), source = unpacked(p.address);
	reinterpret_cast<sockaddr_in &>(source).sin_port = 0; // at the same offset in both kinds
	if (p.api->rdma_create_id(p.events, &l.id, &l, RDMA_PS_TCP) != 0 ||
	    p.api->rdma_resolve_addr(l.id, reinterpret_cast<sockaddr *>(&source), reinterpret_cast<sockaddr *>(&dest),
				     kResolveMs) != 0)
		call_failed(p, l, "cannot look for it", errno);
}

void handle_cm_events(verbs_port &p)
{
	rdma_cm_event e;
	char words[256];
	while (next_event(p, e, words, sizeof words))
		handle(p, e);
}

} // namespace pgas
