// SPDX-License-Identifier: BSD-3-Clause
//
// The connections of fake_verbs.hpp: the functions of librdmacm and the kernel below it. Messages between two hosts
// arrive in order, and late. Their private data is padded with zeros, as on the wire.
#include "fake_verbs.hpp"

#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fake_rdma {
namespace {

constexpr size_t kCallWords = 56, kAnswerWords = 196, kRefusalWords = 148; // bytes
constexpr int kNobodyListens = 8, kByConsumer = 28, kTimeout = 4, kNoSuchId = 6, kStale = 10;

fake_id &of(rdma_cm_id *id)
{
	return *static_cast<fake_id *>(id);
}

int refuse_call(int err)
{
	errno = err;
	return -1;
}

// --- messages --------------------------------------------------------------------------------------------------------

message message_of(const fake_id &id, message_kind kind, int status = 0)
{
	return {kind,
		id.machine,
		id.dest ? id.dest : id.machine,
		id.serial,
		id.peer,
		status,
		id.qpn,
		id.resources,
		id.depth,
		id.number,
		{}};
}

void send(network &n, message m)
{
	if (n.change)
		n.change(n, m);
	if (!m.sender->silent)
		n.wire[{m.sender, m.dest}].push_back(std::move(m));
}

// The receiver of a message: by its number, or the connection whose peer is the sender.
fake_id *receiver(network &n, const message &m)
{
	if (m.id)
		return n.id_at(m.id);
	for (const auto &[serial, id] : n.ids)
		if (id->peer == m.caller && id->machine == m.dest)
			return id;
	return nullptr;
}

fake_id *listener_at(network &n, const host &machine, uint16_t number)
{
	for (const auto &[serial, id] : n.ids)
		if (id->state == id_state::listening && id->machine == &machine && id->number == number)
			return id;
	return nullptr;
}

void back(network &n, const message &m, message_kind kind, int status)
{
	send(n, {kind, m.dest, m.sender, m.id, m.caller, status, 0, 0, 0, 0, {}});
}

fake_id *new_id(host &h, rdma_event_channel *channel, void *context)
{
	auto *id = new fake_id{};
	id->channel = channel;
	id->context = context;
	id->machine = &h;
	id->serial = h.net->next_id++;
	h.net->ids[id->serial] = id;
	h.ids++;
	return id;
}

void set_address(sockaddr_storage &out, const host &h, uint16_t number)
{
	out = {};
	if (h.v6) {
		auto &a = reinterpret_cast<sockaddr_in6 &>(out);
		a.sin6_family = AF_INET6;
		a.sin6_addr.s6_addr[0] = 0xfd;
		a.sin6_addr.s6_addr[15] = static_cast<uint8_t>(h.ip);
		a.sin6_port = number;
	} else {
		auto &a = reinterpret_cast<sockaddr_in &>(out);
		a.sin_family = AF_INET;
		a.sin_addr.s_addr = htonl(0x0a000000 + h.ip);
		a.sin_port = number;
	}
}

void take_req(network &n, const message &m)
{
	fake_id *l = m.dest->dead ? nullptr : listener_at(n, *m.dest, m.number);
	n.calls++;
	if (l && m.dest->stale_calls) {
		m.dest->stale_calls--;
		back(n, m, message_kind::rej, kStale);
		return;
	}
	if (!l) {
		back(n, m, message_kind::rej, kNobodyListens);
		return;
	}
	fake_id *id = new_id(*m.dest, l->channel, l->context);
	id->state = id_state::req_received;
	id->verbs = &m.dest->cm_context.context;
	id->dest = m.sender;
	id->peer = m.caller;
	id->peer_qpn = m.qpn;
	id->resources = m.depth; // one side's request is the other's resource
	id->depth = m.resources;
	set_address(id->route.addr.dst_storage, *m.sender, 0);
	cm_event(*l, *id, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &m, kCallWords);
}

bool under_way(id_state s)
{
	return s == id_state::req_sent || s == id_state::req_received || s == id_state::rep_sent ||
	       s == id_state::rep_received;
}

// Events found by the host's own kernel.
void take_own(const message &m, fake_id &id)
{
	switch (m.kind) {
	case message_kind::unreachable:
		if (!under_way(id.state))
			break;
		id.state = id_state::over;
		cm_event(id, id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case message_kind::address:
		id.verbs = m.dest->other_adapter ? nullptr : &m.dest->cm_context.context;
		id.state = id_state::resolved;
		cm_event(id, id, m.status ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, m.status);
		break;
	default:
		cm_event(id, id, m.status ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED, m.status);
		break;
	}
}

void take_rest(network &n, const message &m, fake_id &id)
{
	switch (m.kind) {
	case message_kind::rep:
		if (id.state != id_state::req_sent)
			break;
		id.state = id_state::rep_received;
		id.peer = m.caller;
		id.peer_qpn = m.qpn;
		id.resources = m.depth;
		id.depth = m.resources;
		cm_event(id, id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0, &m, kAnswerWords);
		break;
	case message_kind::rtu:
		if (id.state != id_state::rep_sent)
			break;
		id.state = id_state::up;
		cm_event(id, id, RDMA_CM_EVENT_ESTABLISHED);
		break;
	case message_kind::rej:
		if (!under_way(id.state) && id.state != id_state::up)
			break;
		id.state = id_state::over;
		n.refusals++;
		cm_event(id, id, RDMA_CM_EVENT_REJECTED, m.status, &m, kRefusalWords);
		break;
	case message_kind::dreq:
		if (id.state != id_state::up && id.state != id_state::rep_sent)
			break;
		id.state = id_state::over;
		cm_event(id, id, RDMA_CM_EVENT_DISCONNECTED);
		break;
	default:
		take_own(m, id);
		break;
	}
}

void take(network &n, const message &m)
{
	if (m.sender != m.dest && (m.dest->silent || m.dest->cut || m.sender->cut)) {
		fake_id *actor = n.id_at(m.caller);
		if (m.kind == message_kind::req && actor) // after many tries
			take_rest(n, {message_kind::unreachable, m.dest, m.sender, 0, m.caller, 0, 0, 0, 0, 0, {}},
				  *actor);
		return;
	}
	if (m.kind == message_kind::req) {
		take_req(n, m);
		return;
	}
	if (fake_id *id = receiver(n, m)) {
		if (!m.dest->dead)
			take_rest(n, m, *id);
	} else if (m.kind == message_kind::rep) {
		back(n, m, message_kind::rej, kNoSuchId);
	}
}

// --- the table -------------------------------------------------------------------------------------------------------

rdma_event_channel *create_channel()
{
	host &h = *g_net->opening;
	h.events.fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	return &h.events;
}

host &host_at(rdma_event_channel *channel)
{
	for (const auto &h : g_net->hosts)
		if (&h->events == channel)
			return *h;
	abort();
}

void destroy_channel(rdma_event_channel *channel)
{
	FAKE_CHECK(!host_at(channel).ids, "connections were left open");
	close(channel->fd);
}

int create_id(rdma_event_channel *channel, rdma_cm_id **out, void *context, rdma_port_space)
{
	*out = new_id(host_at(channel), channel, context);
	return 0;
}

void drop(fake_id &id)
{
	cm_abandon(id);
	id.machine->net->ids.erase(id.serial);
	id.machine->ids--;
	delete &id;
}

void forget_events(fake_id &id)
{
	host &h = *id.machine;
	std::vector<rdma_cm_id *> called;
	std::erase_if(h.told, [&](const std::unique_ptr<fake_event> &e) {
		if (e->id != &id && e->listen_id != &id)
			return false;
		if (e->listen_id == &id)
			called.push_back(e->id);
		ring(h.events.fd, -1);
		return true;
	});
	for (rdma_cm_id *c : called) // calls not reported to it yet
		drop(of(c));
}

int destroy_id(rdma_cm_id *which)
{
	fake_id &id = of(which);
	FAKE_CHECK(!id.unacked, "an event of this connection was not given back: this would block");
	forget_events(id);
	drop(id);
	return 0;
}

int bind_addr(rdma_cm_id *which, sockaddr *)
{
	fake_id &id = of(which);
	id.number = htons(id.machine->listens_at ? id.machine->listens_at : g_net->next_port++);
	id.verbs = &id.machine->cm_context.context;
	return 0;
}

int listen(rdma_cm_id *id, int)
{
	of(id).state = id_state::listening;
	return 0;
}

// The host at an address whose process listens at that port; otherwise any host there, dead or alive.
host *host_to(const sockaddr *dst, uint16_t number)
{
	const bool v6 = dst->sa_family == AF_INET6;
	const unsigned ip = v6 ? reinterpret_cast<const sockaddr_in6 *>(dst)->sin6_addr.s6_addr[15]
			       : ntohl(reinterpret_cast<const sockaddr_in *>(dst)->sin_addr.s_addr) & 0xffffff;
	host *any = nullptr;
	for (const auto &h : g_net->hosts) {
		if (h->ip != ip)
			continue;
		if (!h->dead && listener_at(*g_net, *h, number))
			return h.get();
		any = any && !any->silent ? any : h.get();
	}
	return any;
}

int resolve_addr(rdma_cm_id *which, sockaddr *src, sockaddr *dst, int)
{
	fake_id &id = of(which);
	if (id.machine->dead)
		return refuse_call(ENODEV);
	FAKE_CHECK(src->sa_family == dst->sa_family, "addresses of different kinds");
	id.number = reinterpret_cast<sockaddr_in *>(dst)->sin_port;
	id.dest = host_to(dst, id.number);
	message m = message_of(id, message_kind::address, id.dest ? 0 : -ENETUNREACH);
	m.dest = id.machine;
	m.id = id.serial;
	send(*id.machine->net, m);
	return 0;
}

int resolve_route(rdma_cm_id *which, int)
{
	fake_id &id = of(which);
	FAKE_CHECK(id.state == id_state::resolved, "an address first");
	message m = message_of(id, message_kind::route);
	m.dest = id.machine;
	m.id = id.serial;
	send(*id.machine->net, m);
	return 0;
}

message with_words(const fake_id &id, message_kind kind, const rdma_conn_param &c)
{
	message m = message_of(id, kind);
	m.words.assign(static_cast<const char *>(c.private_data), c.private_data_len);
	m.resources = c.responder_resources;
	m.depth = c.initiator_depth;
	return m;
}

int connect(rdma_cm_id *which, rdma_conn_param *c)
{
	fake_id &id = of(which);
	if (c->private_data_len > kCallWords || id.machine->dead || id.state != id_state::resolved)
		return refuse_call(EINVAL);
	id.state = id_state::req_sent;
	id.qpn = c->qp_num;
	id.resources = c->responder_resources;
	id.depth = c->initiator_depth;
	send(*id.machine->net, with_words(id, message_kind::req, *c));
	return 0;
}

int accept(rdma_cm_id *which, rdma_conn_param *c)
{
	fake_id &id = of(which);
	if (c->private_data_len > kAnswerWords || id.machine->dead || id.state != id_state::req_received)
		return refuse_call(EINVAL);
	FAKE_CHECK(c->responder_resources <= id.resources && c->initiator_depth <= id.depth,
		   "more reads than were offered");
	id.state = id_state::rep_sent;
	id.qpn = c->qp_num;
	send(*id.machine->net, with_words(id, message_kind::rep, *c));
	return 0;
}

int establish(rdma_cm_id *which)
{
	fake_id &id = of(which);
	if (id.state != id_state::rep_received)
		return refuse_call(EINVAL);
	id.state = id_state::up;
	send(*id.machine->net, message_of(id, message_kind::rtu));
	return 0;
}

int reject(rdma_cm_id *which, const void *words, uint8_t len)
{
	fake_id &id = of(which);
	if (id.state != id_state::req_received)
		return refuse_call(EINVAL);
	id.state = id_state::over;
	message m = message_of(id, message_kind::rej, kByConsumer);
	m.words.assign(static_cast<const char *>(words), len);
	send(*id.machine->net, m);
	return 0;
}

int disconnect(rdma_cm_id *which)
{
	fake_id &id = of(which);
	if (id.state != id_state::up)
		return refuse_call(EINVAL);
	id.state = id_state::over;
	send(*id.machine->net, message_of(id, message_kind::dreq));
	return 0;
}

// The attributes that the kernel gives for the next state. Before a call it does not know the depths: no rights yet.
int init_qp_attr(rdma_cm_id *which, ibv_qp_attr *a, int *mask)
{
	const fake_id &id = of(which);
	switch (a->qp_state) {
	case IBV_QPS_INIT:
		a->port_num = 1;
		a->qp_access_flags = 0;
		if (id.state != id_state::resolved)
			a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | (id.resources ? IBV_ACCESS_REMOTE_READ : 0);
		*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		return 0;
	case IBV_QPS_RTR:
		a->dest_qp_num = id.peer_qpn;
		a->max_dest_rd_atomic = static_cast<uint8_t>(id.resources);
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		break;
	case IBV_QPS_RTS:
		a->max_rd_atomic = static_cast<uint8_t>(id.depth);
		*mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			IBV_QP_MAX_QP_RD_ATOMIC;
		break;
	default:
		return refuse_call(EINVAL);
	}
	return id.state == id_state::req_received || id.state == id_state::rep_received ? 0 : refuse_call(EINVAL);
}

int get_event(rdma_event_channel *channel, rdma_cm_event **out)
{
	host &h = host_at(channel);
	network &n = *h.net;
	n.steps(n.below(n.steps_most + 1));
	if (h.told.empty()) {
		expect_nonblocking(channel->fd);
		return refuse_call(EAGAIN);
	}
	fake_event *e = h.told.front().release();
	h.told.pop_front();
	ring(channel->fd, -1);
	of(e->listen_id ? e->listen_id : e->id).unacked++;
	*out = e;
	return 0;
}

int ack_event(rdma_cm_event *event)
{
	auto *e = static_cast<fake_event *>(event);
	of(e->listen_id ? e->listen_id : e->id).unacked--;
	delete e;
	return 0;
}

} // namespace

void cm_event(fake_id &whose, fake_id &id, rdma_cm_event_type type, int status, const message *m, size_t padded)
{
	auto e = std::make_unique<fake_event>();
	e->id = &id;
	e->listen_id = &whose == &id ? nullptr : &whose;
	e->event = type;
	e->status = status;
	if (m) {
		e->words = m->words;
		e->words.resize(padded);
		e->param.conn.private_data = e->words.data();
		e->param.conn.private_data_len = static_cast<uint8_t>(padded);
		e->param.conn.responder_resources = static_cast<uint8_t>(id.resources);
		e->param.conn.initiator_depth = static_cast<uint8_t>(id.depth);
		e->param.conn.qp_num = m->qpn;
	}
	ring(whose.machine->events.fd, 1);
	whose.machine->told.push_back(std::move(e));
}

void cm_abandon(fake_id &id)
{
	if (id.machine->dead || !(under_way(id.state) || id.state == id_state::up))
		return;
	const bool up = id.state == id_state::up;
	const int why = id.state == id_state::req_received || id.state == id_state::rep_received ? kByConsumer
												 : kTimeout;
	id.state = id_state::over;
	send(*id.machine->net, message_of(id, up ? message_kind::dreq : message_kind::rej, why));
}

void cm_time_out(network &n, const host &silent)
{
	for (const auto &[serial, id] : n.ids) {
		if (id->dest != &silent || !under_way(id->state))
			continue;
		message m = message_of(*id, message_kind::unreachable);
		m.dest = id->machine;
		m.id = serial;
		send(n, m);
	}
}

bool cm_step(network &n)
{
	if (n.wire.empty())
		return false;
	auto it = n.wire.begin();
	std::advance(it, n.below(static_cast<unsigned>(n.wire.size())));
	const message m = it->second.front();
	it->second.pop_front();
	if (it->second.empty())
		n.wire.erase(it);
	take(n, m);
	return true;
}

void cm_fill(pgas::verbs_api &a)
{
	a.rdma_create_event_channel = create_channel;
	a.rdma_destroy_event_channel = destroy_channel;
	a.rdma_create_id = create_id;
	a.rdma_destroy_id = destroy_id;
	a.rdma_bind_addr = bind_addr;
	a.rdma_listen = listen;
	a.rdma_get_src_port = [](rdma_cm_id *id) { return of(id).number; };
	a.rdma_resolve_addr = resolve_addr;
	a.rdma_resolve_route = resolve_route;
	a.rdma_init_qp_attr = init_qp_attr;
	a.rdma_establish = establish;
	a.rdma_connect = connect;
	a.rdma_accept = accept;
	a.rdma_reject = reject;
	a.rdma_disconnect = disconnect;
	a.rdma_get_cm_event = get_event;
	a.rdma_ack_cm_event = ack_event;
}

} // namespace fake_rdma
