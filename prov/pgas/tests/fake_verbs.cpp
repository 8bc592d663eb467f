// SPDX-License-Identifier: BSD-3-Clause
//
// The adapters of fake_verbs.hpp: memory, events, and their failures.
#include "fake_verbs.hpp"

#include "wire/net/port/verbs/port_verbs.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fake_rdma {

network *g_net = nullptr;

void ring(int fd, int step)
{
	uint64_t one = 1;
	const ssize_t n = step > 0 ? write(fd, &one, sizeof one) : read(fd, &one, sizeof one);
	FAKE_CHECK(n == sizeof one, "an event descriptor does not count");
}

namespace {

int new_descriptor()
{
	const int fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	FAKE_CHECK(fd >= 0, "no descriptor");
	return fd;
}

fake_cq &of(ibv_cq *q)
{
	return *static_cast<fake_cq *>(q);
}
fake_srq &of(ibv_srq *q)
{
	return *static_cast<fake_srq *>(q);
}

// --- memory ----------------------------------------------------------------------------------------------------------

ibv_mr *reg_mr(ibv_pd *pd, void *addr, size_t length, int access)
{
	host &h = host_of(pd->context);
	if (h.registrations_left == 0) {
		errno = ENOMEM;
		return nullptr;
	}
	FAKE_CHECK(!(access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) ||
			   (access & IBV_ACCESS_LOCAL_WRITE),
		   "remote rights to write need the local one");
	if (h.registrations_left > 0)
		h.registrations_left--;
	auto *m = new fake_mr{};
	m->context = pd->context;
	m->pd = pd;
	m->addr = addr;
	m->length = length;
	m->lkey = m->rkey = h.net->next_key++;
	m->machine = &h;
	m->access = access;
	h.net->memories[m->lkey] = m;
	h.memories++;
	return m;
}

int dereg_mr(ibv_mr *mr)
{
	auto *m = static_cast<fake_mr *>(mr);
	m->machine->memories--;
	m->machine->net->memories.erase(m->lkey);
	delete m;
	return 0;
}

// --- the device ------------------------------------------------------------------------------------------------------

int get_async_event(ibv_context *c, ibv_async_event *e)
{
	host &h = host_of(c);
	if (h.async.empty()) {
		expect_nonblocking(c->async_fd);
		errno = EAGAIN;
		return -1;
	}
	*e = h.async.front();
	h.async.pop_front();
	ring(c->async_fd, -1);
	return 0;
}

int query_device_ex(ibv_context *c, const ibv_query_device_ex_input *, ibv_device_attr_ex *a, size_t)
{
	if (!host_of(c).net->on_demand)
		return 0;
	a->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	a->odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV |
						     IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
	return 0;
}

int query_device(ibv_context *c, ibv_device_attr *a)
{
	*a = {};
	a->max_cqe = host_of(c).max_cqe;
	a->max_srq_wr = 1024;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = 4;
	return 0;
}

ibv_cq *create_cq(ibv_context *c, int cqe, void *context, ibv_comp_channel *channel, int)
{
	host &h = host_of(c);
	auto *q = new fake_cq{};
	q->context = c;
	q->channel = channel;
	q->cq_context = context;
	q->cqe = cqe;
	q->machine = &h;
	h.cq = q;
	h.cqs++;
	return q;
}

int destroy_cq(ibv_cq *cq)
{
	fake_cq &q = of(cq);
	FAKE_CHECK(!q.unacked, "an event of this queue was not given back: this would block");
	q.machine->cqs--;
	q.machine->cq = nullptr;
	delete &q;
	return 0;
}

ibv_srq *create_srq(ibv_pd *pd, ibv_srq_init_attr *a)
{
	host &h = host_of(pd->context);
	auto *q = new fake_srq{};
	q->context = pd->context;
	q->most = a->attr.max_wr;
	q->machine = &h;
	h.srq = q;
	h.srqs++;
	return q;
}

int destroy_srq(ibv_srq *srq)
{
	fake_srq &q = of(srq);
	for (const auto &[number, pair] : q.machine->net->qps)
		FAKE_CHECK(pair->srq != srq, "queue pairs still use this receive queue");
	q.machine->srqs--;
	q.machine->srq = nullptr;
	delete &q;
	return 0;
}

ibv_comp_channel *create_channel(ibv_context *c)
{
	auto *channel = new fake_channel{};
	channel->context = c;
	channel->fd = new_descriptor();
	channel->machine = &host_of(c);
	channel->machine->channels++;
	return channel;
}

int destroy_channel(ibv_comp_channel *c)
{
	auto *channel = static_cast<fake_channel *>(c);
	channel->machine->channels--;
	close(channel->fd);
	delete channel;
	return 0;
}

ibv_pd *alloc_pd(ibv_context *c)
{
	host_of(c).pds++;
	return new ibv_pd{c, 0};
}

int dealloc_pd(ibv_pd *pd)
{
	host_of(pd->context).pds--;
	delete pd;
	return 0;
}

int close_device(ibv_context *c)
{
	host &h = host_of(c);
	FAKE_CHECK(!h.pds && !h.cqs && !h.srqs && !h.channels && h.net->qps_of(h).empty(), "something was left open");
	close(c->async_fd);
	h.opened = false;
	return 0;
}

const char *device_name(ibv_device *d)
{
	return d->name;
}
const char *event_type_str(ibv_event_type)
{
	return "the device says so";
}
const char *wc_status_str(ibv_wc_status s)
{
	return s == IBV_WC_RETRY_EXC_ERR ? "retries exceeded" : s == IBV_WC_WR_FLUSH_ERR ? "flushed" : "bad completion";
}

void init_device(host &h, fake_device &d, verbs_context &c, const std::string &name)
{
	snprintf(d.name, sizeof d.name, "%s", name.c_str());
	d.machine = &h;
	c.sz = sizeof c;
	c.query_device_ex = query_device_ex;
	c.context.device = &d;
	c.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	pgas::verbs_api unused;
	qp_fill(unused, &c.context.ops);
}

pgas::verbs_api filled()
{
	pgas::verbs_api a;
	a.ibv_query_device = query_device;
	a.ibv_close_device = close_device;
	a.ibv_get_device_name = device_name;
	a.ibv_alloc_pd = alloc_pd;
	a.ibv_dealloc_pd = dealloc_pd;
	a.ibv_reg_mr = reg_mr;
	a.ibv_dereg_mr = dereg_mr;
	a.ibv_create_comp_channel = create_channel;
	a.ibv_destroy_comp_channel = destroy_channel;
	a.ibv_create_cq = create_cq;
	a.ibv_destroy_cq = destroy_cq;
	a.ibv_ack_cq_events = [](ibv_cq *cq, unsigned n) { of(cq).unacked -= n; };
	a.ibv_create_srq = create_srq;
	a.ibv_destroy_srq = destroy_srq;
	qp_fill(a, nullptr);
	a.ibv_get_async_event = get_async_event;
	a.ibv_ack_async_event = [](ibv_async_event *) {};
	a.ibv_event_type_str = event_type_str;
	a.ibv_wc_status_str = wc_status_str;
	a.ibv_fork_init = [] { return 0; };
	cm_fill(a);
	return a;
}

} // namespace

// --- the network -----------------------------------------------------------------------------------------------------

network::network()
{
	g_net = this;
}
network::~network()
{
	for (const auto &h : hosts)
		FAKE_CHECK(!h->opened && !h->ids, "a port was left open");
	for (const auto &[key, m] : memories) // of killed processes
		delete m;
	g_net = nullptr;
}

host &network::add(unsigned ip, uint16_t listens_at)
{
	hosts.push_back(std::make_unique<host>());
	host &h = *hosts.back();
	h.net = this;
	h.ip = ip;
	h.v6 = ip >= 200;
	h.listens_at = listens_at;
	h.purges = below(2);
	const std::string name = "fake" + std::to_string(ip);
	init_device(h, h.device, h.context, name);
	init_device(h, h.cm_device, h.cm_context, name);
	return h;
}

pgas::port *network::open(host &h, size_t packet, std::string *why)
{
	std::string unused;
	opening = &h;
	return pgas::port_verbs_open(h.device.name, {.packet = packet}, why ? *why : unused);
}

void network::kill(host &h)
{
	for (const auto &[serial, id] : ids)
		if (id->machine == &h)
			cm_abandon(*id);
	h.dead = true;
}

void network::silence(host &h)
{
	h.silent = h.dead = true;
	cm_time_out(*this, h);
}

void network::remove_device(host &h)
{
	for (const auto &[serial, id] : ids)
		if (id->machine == &h)
			cm_event(*id, *id, RDMA_CM_EVENT_DEVICE_REMOVAL);
	h.dead = true;
}

void network::tell(host &h, ibv_event_type type, ibv_qp *qp)
{
	ibv_async_event e{};
	e.event_type = type;
	e.element.qp = qp;
	h.async.push_back(e);
	ring(h.context.context.async_fd, 1);
}

} // namespace fake_rdma

// --- replaces verbs_api.cpp and port_verbs_device.cpp ----------------------------------------------------------------

namespace pgas {

using namespace fake_rdma;

const verbs_api *verbs_load(std::string &)
{
	static const verbs_api api = filled();
	return &api;
}

bool verbs_choose(const verbs_api &, const std::string &, verbs_device &out, std::string &)
{
	const host &h = *g_net->opening;
	out.name = h.device.name;
	out.port = 1;
	if (h.v6) {
		auto &a = reinterpret_cast<sockaddr_in6 &>(out.address);
		a.sin6_family = AF_INET6;
		a.sin6_addr.s6_addr[0] = 0xfd;
		a.sin6_addr.s6_addr[15] = static_cast<uint8_t>(h.ip);
	} else {
		auto &a = reinterpret_cast<sockaddr_in &>(out.address);
		a.sin_family = AF_INET;
		a.sin_addr.s_addr = htonl(0x0a000000 + h.ip);
	}
	return true;
}

ibv_context *verbs_open_device(const verbs_api &, const char *name)
{
	host &h = *g_net->opening;
	FAKE_CHECK(h.device.name == std::string(name), "another device");
	h.context.context.async_fd = new_descriptor();
	h.opened = true;
	return &h.context.context;
}

} // namespace pgas
