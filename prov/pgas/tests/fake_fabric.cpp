// SPDX-License-Identifier: BSD-3-Clause
//
// A network provider of libfabric for tests, with FI_HMEM: processes of one host, by datagrams of Unix sockets, and
// device memory through the drivers of devices/. It uses the name of a provider that FI_PGAS_NET accepts (opx) and
// offers what the port over libfabric needs, and no more: messages and RMA of one buffer, in order to one address.
//
// Data moves only in fi_cq_read. A write completes when the target has stored all of it, a read when all of it has
// arrived.
//
//   FAKE_FABRIC_HMEM=0      it does not offer FI_HMEM
//   FAKE_FABRIC_REFUSE=1    it offers it, and every registration of device memory fails
//   FAKE_FABRIC_SAY=1       prints how many bytes of device memory it moved, when a domain is closed
//
// fake_fabric_count() returns the counts of this process to tests.
#include "fake_fabric.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/providers/fi_prov.h>

#include <devices/devices_kind.hpp>

fake_fabric_counts fake_fabric::g_counts;

using namespace fake_fabric;

namespace {

constexpr size_t kMessageMost = kChunk;
constexpr uint64_t kCaps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |
			   FI_LOCAL_COMM | FI_REMOTE_COMM;

bool says(const char *name, const char *value)
{
	const char *given = getenv(name);
	return given && strcmp(given, value) == 0;
}

// --- memory ----------------------------------------------------------------------------------------------------------

const char *kind_name(fi_hmem_iface iface)
{
	return iface == FI_HMEM_CUDA ? "cuda" : iface == FI_HMEM_ROCR ? "hip" : iface == FI_HMEM_ZE ? "ze" : nullptr;
}

// Each registration opens its driver; the last one to go closes it.
std::mutex g_mutex;
std::map<std::string, int> g_users;

devices::kind *driver_open(const char *name, int number)
{
	const std::lock_guard lock(g_mutex);
	devices::kind *k = devices::find_kind(name);
	char why[256] = "";
	if (!k || (!g_users[name] && k->open(number, why, sizeof why) != 0)) {
		fprintf(stderr, "fake fabric: %s: %s\n", name, why);
		return nullptr;
	}
	g_users[name]++;
	return k;
}

void driver_close(devices::kind *k)
{
	const std::lock_guard lock(g_mutex);
	if (k && --g_users[k->name()] == 0)
		k->close();
}

template <class T, class F>
T *as(F *f) // our objects begin with libfabric's
{
	return reinterpret_cast<T *>(f);
}

template <class T>
int close_plain(fid *f)
{
	delete as<T>(f);
	return 0;
}

template <class T>
fi_ops *ops_of(int (*close)(fid *) = close_plain<T>)
{
	static fi_ops ops{};
	ops.size = sizeof ops;
	ops.close = close;
	return &ops;
}

// The end of every open call.
template <class T, class Calls, class Fid>
int hand_out(T *made, size_t kind, void *context, fi_ops *ops, Calls *calls, Fid **out)
{
	made->fid.fid = {kind, context, ops};
	made->fid.ops = calls;
	*out = &made->fid;
	return 0;
}

// --- endpoint --------------------------------------------------------------------------------------------------------

ssize_t ep_recv(fid_ep *f, void *buf, size_t len, void *, fi_addr_t, void *context)
{
	as<fake_ep>(f)->posted.push_back({buf, context, len});
	return 0;
}

ssize_t ep_send(fid_ep *f, const void *buf, size_t len, void *, fi_addr_t dest, void *context)
{
	fake_ep &ep = *as<fake_ep>(f);
	const int rc = put_datagram(ep, ep.av->known[dest], {what::message, 0, ep.self, 0, 0, 0, len, 0, 1}, buf, len);
	if (rc == -FI_EAGAIN)
		return rc;
	ep.cq->done.push_back({context, FI_MSG | FI_SEND, len, -rc});
	return 0;
}

ssize_t start(fid_ep *f, const fi_msg_rma *m, what kind)
{
	fake_ep &ep = *as<fake_ep>(f);
	const auto *mr = m->desc && m->desc[0] ? static_cast<const fake_mr *>(m->desc[0]) : nullptr;
	const fi_rma_iov &rma = m->rma_iov[0];
	if (m->iov_count != 1 || m->rma_iov_count != 1 || rma.len != m->msg_iov[0].iov_len)
		return -FI_EINVAL;
	ep.transfers.push_back({kind, m->context, static_cast<char *>(m->msg_iov[0].iov_base), rma.len,
				mr ? mr->kind : nullptr, ep.av->known[m->addr], rma.addr, rma.key, ep.next++});
	return 0;
}

ssize_t ep_readmsg(fid_ep *f, const fi_msg_rma *m, uint64_t)
{
	return start(f, m, what::ask);
}

ssize_t ep_writemsg(fid_ep *f, const fi_msg_rma *m, uint64_t flags)
{
	return flags & FI_DELIVERY_COMPLETE ? start(f, m, what::write) : -FI_EINVAL;
}

int ep_getname(fid *f, void *dst, size_t *len)
{
	const size_t room = std::exchange(*len, sizeof(address));
	memcpy(dst, &as<fake_ep>(f)->self, std::min(room, sizeof(address)));
	return room < sizeof(address) ? -FI_ETOOSMALL : 0;
}

int ep_bind(fid *f, fid *what, uint64_t)
{
	fake_ep *ep = as<fake_ep>(f);
	if (what->fclass == FI_CLASS_CQ) {
		ep->cq = as<fake_cq>(what);
		ep->cq->ep = ep;
	} else {
		ep->av = as<fake_av>(what);
	}
	return 0;
}

int ep_control(fid *f, int command, void *)
{
	static uint32_t number;
	fake_ep *ep = as<fake_ep>(f);
	if (command != FI_ENABLE || !ep->cq || !ep->av)
		return -FI_ENOSYS;
	const std::lock_guard lock(g_mutex);
	ep->self = {static_cast<uint32_t>(getpid()), ++number};
	socklen_t len;
	const sockaddr_un name = name_of(ep->self, &len);
	ep->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return bind(ep->socket, reinterpret_cast<const sockaddr *>(&name), len) == 0 ? 0 : -errno;
}

int ep_close(fid *f)
{
	fake_ep *ep = as<fake_ep>(f);
	if (ep->cq)
		ep->cq->ep = nullptr;
	if (ep->socket >= 0)
		close(ep->socket);
	delete ep;
	return 0;
}

int ep_open(fid_domain *f, fi_info *, fid_ep **out, void *context)
{
	fi_ops *ops = ops_of<fake_ep>(ep_close);
	ops->bind = ep_bind;
	ops->control = ep_control;
	static fi_ops_cm cm{};
	static fi_ops_msg msg{};
	static fi_ops_rma rma{};
	cm.getname = ep_getname;
	msg.recv = ep_recv;
	msg.send = ep_send;
	rma.readmsg = ep_readmsg;
	rma.writemsg = ep_writemsg;
	auto *ep = new fake_ep;
	ep->fid.fid = {FI_CLASS_EP, context, ops};
	ep->fid.cm = &cm;
	ep->fid.msg = &msg;
	ep->fid.rma = &rma;
	ep->dom = as<fake_domain>(f);
	*out = &ep->fid;
	return 0;
}

// --- queue, addresses, registrations ---------------------------------------------------------------------------------

ssize_t cq_read(fid_cq *f, void *buf, size_t count)
{
	fake_cq &cq = *as<fake_cq>(f);
	if (cq.ep)
		progress(*cq.ep);
	auto *out = static_cast<fi_cq_msg_entry *>(buf);
	size_t n = 0;
	for (; n < count && !cq.done.empty() && !cq.done.front().err; n++) {
		out[n] = {cq.done.front().context, cq.done.front().flags, cq.done.front().len};
		cq.done.pop_front();
	}
	return n ? static_cast<ssize_t>(n) : cq.done.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

ssize_t cq_readerr(fid_cq *f, fi_cq_err_entry *buf, uint64_t)
{
	fake_cq &cq = *as<fake_cq>(f);
	if (cq.done.empty() || !cq.done.front().err)
		return -FI_EAGAIN;
	buf->op_context = cq.done.front().context;
	buf->flags = cq.done.front().flags;
	buf->err = cq.done.front().err;
	cq.done.pop_front();
	return 1;
}

int cq_open(fid_domain *, fi_cq_attr *attr, fid_cq **out, void *context)
{
	static fi_ops_cq calls{};
	if (attr->wait_obj != FI_WAIT_NONE || attr->format != FI_CQ_FORMAT_MSG)
		return -FI_ENOSYS;
	calls.read = cq_read;
	calls.readerr = cq_readerr;
	return hand_out(new fake_cq, FI_CLASS_CQ, context, ops_of<fake_cq>(), &calls, out);
}

int av_insert(fid_av *f, const void *addr, size_t count, fi_addr_t *out, uint64_t, void *)
{
	auto &known = as<fake_av>(f)->known;
	for (size_t i = 0; i < count; i++) {
		address a;
		memcpy(&a, static_cast<const char *>(addr) + i * sizeof a, sizeof a);
		known.push_back(a);
		out[i] = known.size() - 1;
	}
	return static_cast<int>(count);
}

int av_remove(fid_av *, fi_addr_t *, size_t, uint64_t)
{
	return 0;
}

int av_open(fid_domain *, fi_av_attr *, fid_av **out, void *context)
{
	static fi_ops_av calls{};
	calls.insert = av_insert;
	calls.remove = av_remove;
	return hand_out(new fake_av, FI_CLASS_AV, context, ops_of<fake_av>(), &calls, out);
}

int mr_close(fid *f)
{
	fake_mr *m = as<fake_mr>(f);
	m->dom->regions.erase(m->fid.key);
	g_counts.registered -= m->kind != nullptr;
	driver_close(m->kind);
	delete m;
	return 0;
}

int mr_regattr(fid *f, const fi_mr_attr *a, uint64_t, fid_mr **out)
{
	auto *d = as<fake_domain>(f);
	devices::kind *k = nullptr;
	if (d->regions.contains(a->requested_key))
		return -FI_ENOKEY;
	if (a->iface != FI_HMEM_SYSTEM) {
		g_counts.asked++;
		if (says("FAKE_FABRIC_REFUSE", "1"))
			return -FI_ENOSYS;
		k = driver_open(kind_name(a->iface), a->iface == FI_HMEM_CUDA ? a->device.cuda : 0);
		if (!k)
			return -FI_ENOSYS;
		if (!k->owns(a->mr_iov->iov_base)) {
			driver_close(k);
			return -FI_EINVAL;
		}
		g_counts.registered++;
	}
	auto *m = new fake_mr{{}, d, static_cast<char *>(a->mr_iov->iov_base), a->mr_iov->iov_len, a->access, k};
	m->fid.fid = {FI_CLASS_MR, a->context, ops_of<fake_mr>(mr_close)};
	m->fid.mem_desc = m;
	m->fid.key = a->requested_key;
	d->regions[m->fid.key] = m;
	*out = &m->fid;
	return 0;
}

int domain_close(fid *f)
{
	if (says("FAKE_FABRIC_SAY", "1"))
		fprintf(stderr, "fake fabric: %llu bytes of devices\n",
			static_cast<unsigned long long>(g_counts.device_bytes));
	return close_plain<fake_domain>(f);
}

int domain_open(fid_fabric *, fi_info *, fid_domain **out, void *context)
{
	static fi_ops_domain calls{};
	static fi_ops_mr mr{};
	calls.av_open = av_open;
	calls.cq_open = cq_open;
	calls.endpoint = ep_open;
	mr.regattr = mr_regattr;
	auto *d = new fake_domain;
	d->fid.mr = &mr;
	return hand_out(d, FI_CLASS_DOMAIN, context, ops_of<fake_domain>(domain_close), &calls, out);
}

struct fabric_object {
	fid_fabric fid{};
};

int fabric_open(fi_fabric_attr *, fid_fabric **out, void *context)
{
	static fi_ops_fabric calls{};
	calls.domain = domain_open;
	return hand_out(new fabric_object, FI_CLASS_FABRIC, context, ops_of<fabric_object>(), &calls, out);
}

// Only for hints that name the provider and that it can meet: other tests in this process do not see it.
int getinfo(uint32_t, const char *, const char *, uint64_t, const fi_info *hints, fi_info **out)
{
	if (!hints || !hints->fabric_attr || !hints->fabric_attr->prov_name || !hints->domain_attr)
		return -FI_ENODATA;
	const bool hmem = hints->caps & FI_HMEM;
	g_counts.hmem_hints += hmem;
	if (hints->caps & ~(kCaps | FI_HMEM) || (hmem && says("FAKE_FABRIC_HMEM", "0")) ||
	    (hmem && !(hints->domain_attr->mr_mode & FI_MR_HMEM)))
		return -FI_ENODATA;
	fi_info *i = fi_allocinfo();
	i->caps = i->tx_attr->caps = i->rx_attr->caps = kCaps | (hmem ? FI_HMEM : 0);
	i->addr_format = FI_FORMAT_UNSPEC;
	i->tx_attr->msg_order = i->rx_attr->msg_order = FI_ORDER_SAS;
	i->ep_attr->type = FI_EP_RDM;
	i->ep_attr->max_msg_size = kMessageMost;
	i->domain_attr->name = strdup("fake");
	i->domain_attr->threading = FI_THREAD_SAFE;
	i->domain_attr->resource_mgmt = FI_RM_ENABLED;
	i->domain_attr->mr_mode = hmem ? FI_MR_HMEM : 0;
	i->domain_attr->mr_key_size = 8;
	i->fabric_attr->name = strdup("fake");
	*out = i;
	return 0;
}

} // namespace

extern "C" __attribute__((visibility("default"))) fake_fabric_counts fake_fabric_count()
{
	return g_counts;
}

extern "C" __attribute__((visibility("default"))) fi_provider *fi_prov_ini()
{
	static fi_provider p{};
	p.version = FI_VERSION(999, 0); // preferred to a real provider of that name
	p.fi_version = FI_VERSION(1, 15);
	p.name = "opx";
	p.getinfo = getinfo;
	p.fabric = fabric_open;
	p.cleanup = [] {};
	return &p;
}
