// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of the port over an RDMA adapter: how a queue pair comes up, breaks, is re-established, and ends.
// port_verbs_call.cpp decides which side calls.
#include "port_verbs.hpp"
#include "wire/net/port/port_address.hpp"

#include <pgas/pgas_counter.h>

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kCheckNs = 200'000'000; // between checks of the lines; longer: no thread polled

// Every poll() checks the unsettled lines; strangers must not cost that.
bool settled(const verbs_line &l)
{
	return l.unknown || l.state == line_state::idle || l.state == line_state::up || l.state == line_state::failed;
}

void line_known(verbs_port &p, verbs_line &l)
{
	if (!std::exchange(l.unknown, false))
		return;
	p.unsettled += !settled(l);
	std::erase(p.unknown, &l);
}

// --- queue pairs -----------------------------------------------------------------------------------------------------

// librdmacm knows what the next state needs, except our patience. It would also grant rights: too early.
bool move_to(verbs_port &p, verbs_line &l, ibv_qp_state state)
{
	ibv_qp_attr a{};
	int mask = 0;
	a.qp_state = state;
	if (p.api->rdma_init_qp_attr(l.id, &a, &mask) != 0)
		return false;
	// each is used only if the mask includes it
	a.qp_access_flags = 0;
	a.timeout = kAckTimeout;
	a.retry_cnt = kRetries;
	a.rnr_retry = kRetriesNoBuffer;
	const int err = p.api->ibv_modify_qp(l.qp, &a, mask);
	errno = err;
	return err == 0;
}

// For a queue pair that is ready to send, whatever peer is at its other end.
bool give_rights(verbs_port &p, verbs_line &l)
{
	ibv_qp_attr a{};
	a.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	const int err = p.api->ibv_modify_qp(l.qp, &a, IBV_QP_ACCESS_FLAGS);
	errno = err;
	return err == 0;
}

// --- re-establishing lines -------------------------------------------------------------------------------------------

bool patience_is_over(const verbs_port &p, const verbs_line &l)
{
	return p.clock - l.broke_at > p.patience_ns + kGraceNs;
}

void give_up(verbs_port &p, verbs_line &l)
{
	char text[80];
	snprintf(text, sizeof text, "it could not be reached again for %.1f s (FI_PGAS_PEER_TIMEOUT)",
		 static_cast<double>(p.clock - l.broke_at) / 1e9);
	line_fail(p, l, l.last_try.empty() ? text : text + ("; the last try: " + l.last_try));
}

// The side that made the line calls at once, the other side lets it; from the second try on both wait for their turn.
void mend(verbs_port &p, verbs_line &l)
{
	const uint64_t turn = l.tried_at ? l.tried_at + kPaceNs : 0;
	l.retry_at = std::max(p.clock + (l.ours ? 0 : kYieldNs), turn);
	line_enter(p, l, line_state::resting);
	if (l.trusted && p.clock >= l.retry_at)
		line_call_up(p, l);
}

// Only trusted lines are re-established. Before that, the link is patient with its calls, and the port with strangers.
void check_line(verbs_port &p, verbs_line &l)
{
	if (!l.trusted)
		return;
	if (l.state != line_state::resting) {
		if (!settled(l) && p.clock > l.tried_at + kTryNs)
			line_call_failed(p, l, "no answer", -ETIMEDOUT);
	} else if (p.clock >= l.retry_at) {
		if (patience_is_over(p, l))
			give_up(p, l);
		else
			line_call_up(p, l);
	}
}

void expire_strangers(verbs_port &p)
{
	while (!p.unknown.empty() && p.clock > p.unknown.front()->born_at + kUnknownNs)
		line_fail(p, *p.unknown.front(), "it did not prove itself");
}

void move_clock(verbs_port &p)
{
	const uint64_t now = pgas_now_ns();
	p.clock += std::min(now - p.checked_at, kCheckNs);
	p.checked_at = now;
}

// --- the adapter -----------------------------------------------------------------------------------------------------

void handle_device_events(verbs_port &p)
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
		// if it was the peer's fault, the peer knows when to give up
		if (it != p.by_qp.end())
			p.broken.push_back({it->second, p.api->ibv_event_type_str(type), false});
		else if (type == IBV_EVENT_DEVICE_FATAL || type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_SRQ_ERR)
			lines_fail(p, p.api->ibv_event_type_str(type));
		else if (type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE)
			PGAS_WARN(FI_LOG_EP_CTRL, "link: %s: %s\n", p.name.c_str(), p.api->ibv_event_type_str(type));
	}
}

} // namespace

// --- queue pairs -----------------------------------------------------------------------------------------------------

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
	return move_to(p, l, IBV_QPS_RTR) && move_to(p, l, IBV_QPS_RTS) && (!l.trusted || give_rights(p, l));
}

// Destroys the queue pair; its pending postings stay for the next one.
void line_hang_up(verbs_port &p, verbs_line &l)
{
	if (l.qp) {
		ibv_qp_attr a{};
		a.qp_state = IBV_QPS_ERR;
		p.api->ibv_modify_qp(l.qp, &a, IBV_QP_STATE);
		verbs_drain(p); // nothing goes through any more: what did is counted
	}
	if (l.id) {
		p.api->rdma_disconnect(l.id);
		p.api->rdma_destroy_id(l.id);
	}
	if (l.qp) {
		const uint32_t number = l.qp->qp_num;
		p.api->ibv_destroy_qp(l.qp);
		verbs_drain(p); // no completion follows: the completion queue has room for the next one
		p.by_qp.erase(number);
	}
	l.id = nullptr;
	l.qp = nullptr;
	l.put.ready = false;
	l.reads = 0;
	for (uint32_t i = l.first; i != l.next; i++)
		l.reads += l.at(i).kind == posting_kind::read;
	std::erase_if(p.broken, [&l](const line_break &b) { return b.line == &l; });
}

// Posts pending operations again, except those that the peer has: the packets that it counted, and the writes before
// them.
void line_resume(verbs_port &p, verbs_line &l, uint32_t arrived)
{
	std::vector<posting> all;
	uint32_t sends = 0;
	for (; l.first != l.next; l.first++) {
		all.push_back(l.at(l.first));
		sends += counted(all.back().kind);
	}
	const uint32_t missing = l.sends - arrived;
	line_enter(p, l, line_state::up);
	l.acked_at = p.clock;
	if (missing > sends) {
		for (const posting &one : all)
			posting_over(p, l, one, -FI_ECONNRESET);
		line_fail(p, l, "it counts packets that were never sent", -ECONNREFUSED);
		return;
	}
	l.reads = 0;
	uint32_t had = sends - missing; // packets in the list that it received
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

// --- lines -----------------------------------------------------------------------------------------------------------

void line_enter(verbs_port &p, verbs_line &l, line_state s)
{
	p.unsettled -= !settled(l);
	l.state = s;
	p.unsettled += !settled(l);
}

verbs_line &line_new(verbs_port &p, const std::string &address)
{
	auto made = std::make_unique<verbs_line>();
	verbs_line &l = *made;
	l.address = address;
	l.serial = ++p.lines_made;
	l.born_at = p.clock;
	l.postings.resize(kLineDepth);
	if (p.holes.empty()) {
		l.number = static_cast<uint32_t>(p.lines.size());
		p.lines.emplace_back();
	} else {
		l.number = p.holes.back();
		p.holes.pop_back();
	}
	p.lines[l.number] = std::move(made);
	return l;
}

void line_free(verbs_port &p, verbs_line &l)
{
	line_hang_up(p, l);
	line_known(p, l);
	line_enter(p, l, line_state::failed);
	p.completions_left += l.next - l.first;
	p.holes.push_back(l.number);
	p.lines[l.number].reset();
}

// What the peer sent before may still be here, including its proof: a line that broke meanwhile waits for that.
static void line_trust(verbs_port &p, verbs_line &l, const uint64_t *key)
{
	if (l.state == line_state::failed)
		return;
	l.key = {key[0], key[1]};
	l.trusted = true;
	line_known(p, l);
	if (l.qp && !give_rights(p, l))
		p.broken.push_back({&l, std::string("no rights for it: ") + strerror(errno), true});
}

bool line_stop(verbs_port &p, verbs_line &l, const std::string &why)
{
	line_hang_up(p, l); // which may find that something went through
	const bool twice = std::exchange(l.stalled, true);
	if (!twice) {
		l.broke_at = p.clock;
		l.tried_at = 0;
		l.why = why;
		l.last_try.clear();
	}
	return twice;
}

void line_broke(verbs_port &p, verbs_line &l, const std::string &why, bool hard)
{
	const bool twice = line_stop(p, l, why);
	if ((twice && hard) || !(l.trusted || (l.unknown && l.kept))) {
		line_fail(p, l, why);
	} else if (patience_is_over(p, l)) {
		give_up(p, l);
	} else {
		PGAS_INFO(FI_LOG_EP_CTRL, "link: the connection to %s broke (%s) and is made again\n",
			  address_claimed(l.address).c_str(), why.c_str());
		mend(p, l);
	}
}

void line_call_failed(verbs_port &p, verbs_line &l, const std::string &why, int status)
{
	if (!l.trusted) {
		line_fail(p, l, why, status);
		return;
	}
	line_hang_up(p, l);
	l.last_try = why;
	if (patience_is_over(p, l))
		give_up(p, l);
	else
		mend(p, l);
}

void line_fail(verbs_port &p, verbs_line &l, const std::string &why, int status)
{
	if (l.state == line_state::failed)
		return;
	line_hang_up(p, l);
	if (l.unknown)
		log_dropped(p, address_claimed(l.address), why.c_str());
	line_known(p, l);
	l.why = !l.stalled || l.why == why ? why : l.why + "; " + why;
	l.status = l.trusted ? -ECONNRESET : status; // before that, the link may call again if it helps
	line_enter(p, l, line_state::failed);
	for (; l.first != l.next; l.first++)
		posting_over(p, l, l.at(l.first), l.status);
	if (!l.kept) {
		line_free(p, l);
		return;
	}
	port_event e{port_event_kind::lost, l.status};
	e.line = l.to();
	p.found.push_back(e);
}

static void line_drop(verbs_port &p, verbs_line &l, const char *what)
{
	if (!l.unknown) // which is logged anyway
		log_dropped(p, address_claimed(l.address), what);
	line_fail(p, l, std::string("it sent ") + what);
}

// An adapter that receives nothing from the other one breaks the queue pair within a second or two. So a posting that
// is pending for long is being refused all the time, by an adapter whose process receives nothing: it is stopped, but
// exists.
static port_life line_life(const verbs_port &p, const verbs_line &l, uint64_t patience_ns)
{
	switch (l.state) {
	case line_state::failed:
		return port_life::lost;
	case line_state::idle:
		return port_life::unknown;
	case line_state::up:
		return l.first != l.next || p.clock - l.acked_at < patience_ns ? port_life::reachable
									       : port_life::unknown;
	default:
		return port_life::retrying;
	}
}

// --- functions of the port's table -----------------------------------------------------------------------------------

bool verbs_keep(port &base, uint64_t line)
{
	verbs_line *l = line_to(verbs_of(base), line);
	const bool good = l && l->state != line_state::failed;
	if (good)
		l->kept = true;
	return good;
}

const std::string &verbs_peer(const port &base, uint64_t line)
{
	static const std::string none;
	const verbs_line *l = line_to(verbs_of(base), line);
	return l ? l->address : none;
}

void verbs_trust(port &base, uint64_t line, const uint64_t *key)
{
	verbs_port &p = verbs_of(base);
	if (verbs_line *l = line_to(p, line))
		line_trust(p, *l, key);
}

void verbs_drop(port &base, uint64_t line, const char *what)
{
	verbs_port &p = verbs_of(base);
	if (verbs_line *l = line_to(p, line))
		line_drop(p, *l, what);
}

bool verbs_gone(port &base, uint64_t line, const char *, size_t)
{
	const verbs_line *l = line_to(verbs_of(base), line);
	return !l || l->state == line_state::failed;
}

port_life verbs_life(const port &base, uint64_t line, uint64_t, uint64_t patience_ns)
{
	const verbs_port &p = verbs_of(base);
	const verbs_line *l = line_to(p, line);
	return l ? line_life(p, *l, patience_ns) : port_life::lost;
}

// --- all lines -------------------------------------------------------------------------------------------------------

void lines_fail(verbs_port &p, const char *why)
{
	for (size_t i = 1; i < p.lines.size(); i++)
		if (p.lines[i])
			line_fail(p, *p.lines[i], why, -ENODEV);
}

void check_lines(verbs_port &p)
{
	move_clock(p);
	handle_cm_events(p);
	handle_device_events(p);
	if (!p.unknown.empty())
		expire_strangers(p);
	for (size_t i = 1; p.unsettled && i < p.lines.size(); i++)
		if (p.lines[i])
			check_line(p, *p.lines[i]);
}

void lines_close(verbs_port &p)
{
	for (size_t i = 1; i < p.lines.size(); i++)
		if (p.lines[i])
			line_free(p, *p.lines[i]);
}

} // namespace pgas
