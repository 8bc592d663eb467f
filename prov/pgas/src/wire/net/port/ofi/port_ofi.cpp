// SPDX-License-Identifier: BSD-3-Clause
//
// The port over a network provider of libfabric: which one, opening it, packets by messages, bulk by RMA.
//
// Of the provider, only this is required: messages to one address arrive in order (FI_ORDER_SAS), and a write with
// FI_DELIVERY_COMPLETE is reported when its bytes are at the target. Nothing runs by itself: only polling makes
// progress. With providers that also guarantee the order of messages, writes and reads (the tcp providers: one
// connection per peer), a write needs no answer.
#include "wire/net/port/port_address.hpp"
#include "port_ofi.hpp"

#include <pgas/pgas_proof.hpp>

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>

#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

namespace pgas {
namespace {

constexpr size_t kReceives = 64; // buffers posted
constexpr size_t kBulkFrom = 16384;

template <class T>
struct fid_closer {
	void operator()(T *f) const { fi_close(&f->fid); }
};
template <class T>
using fid_ptr = std::unique_ptr<T, fid_closer<T>>;

struct receive : port_work {
	char *bytes;
	bool posted = false;
};

struct ofi_port : port {
	ofi_info info;
	fid_ptr<fid_fabric> fabric;
	fid_ptr<fid_domain> domain;
	fid_ptr<fid_av> av;
	fid_ptr<fid_cq> cq;
	std::vector<char> memory; // of the receives
	port_memory exposed;
	std::vector<receive> receives;
	std::vector<receive *> unposted; // because the provider had no room
	fid_ptr<fid_ep> ep;              // closed first
	bool sleeps = false;             // the completion queue supports sleeping

	int mr_mode() const { return info->domain_attr->mr_mode; }
};

ofi_port &ofi_of(port &p)
{
	return static_cast<ofi_port &>(p);
}
const ofi_port &ofi_of(const port &p)
{
	return static_cast<const ofi_port &>(p);
}

void post(ofi_port &p)
{
	while (!p.unposted.empty()) {
		receive *r = p.unposted.back();
		if (fi_recv(p.ep.get(), r->bytes, p.limits.packet,
			    p.exposed.handle ? fi_mr_desc(static_cast<fid_mr *>(p.exposed.handle)) : nullptr,
			    FI_ADDR_UNSPEC, r->scratch) != 0)
			return;
		p.unposted.pop_back();
	}
}

void ofi_close(port *p)
{
	ofi_port *o = &ofi_of(*p);
	o->ep.reset();
	if (o->exposed.handle)
		fi_close(&static_cast<fid_mr *>(o->exposed.handle)->fid);
	delete o;
}

size_t ofi_address(const port &base, char *out)
{
	const ofi_port &p = ofi_of(base);
	char raw[128];
	size_t len = sizeof raw;
	if (fi_getname(&p.ep->fid, raw, &len) != 0)
		return 0;
	return address_pack(raw, len, out);
}

std::string ofi_show(const port &p, const char *addr, size_t len)
{
	return address_show(ofi_of(p).info->addr_format, addr, len);
}

int ofi_insert(port &base, const char *addr, size_t len, uint64_t *dst)
{
	ofi_port &p = ofi_of(base);
	char raw[128];
	if (!address_unpack(p.info->addr_format, addr, len, raw, sizeof raw))
		return -FI_EINVAL;
	fi_addr_t place = FI_ADDR_NOTAVAIL;
	const int n = fi_av_insert(p.av.get(), raw, 1, &place, 0, nullptr);
	*dst = place + 1; // 0 means none
	return n == 1 ? 0 : n < 0 ? n : -FI_EINVAL;
}

void ofi_remove(port &p, uint64_t line)
{
	fi_addr_t place = line - 1;
	fi_av_remove(ofi_of(p).av.get(), &place, 1, 0);
}

void *desc_of(void *handle)
{
	return handle ? fi_mr_desc(static_cast<fid_mr *>(handle)) : nullptr;
}

port_sent ofi_send(port &p, uint64_t line, const void *bytes, size_t len, void *handle, port_work *work)
{
	return {static_cast<int>(fi_send(ofi_of(p).ep.get(), bytes, len, desc_of(handle), line - 1, work->scratch))};
}

port_work *work_of(void *context)
{
	static_assert(offsetof(port_work, scratch) == 0);
	return static_cast<port_work *>(context);
}

int read_error(ofi_port &p, port_event *e)
{
	fi_cq_err_entry err{};
	if (fi_cq_readerr(p.cq.get(), &err, 0) != 1 || !err.op_context)
		return 0;
	const auto *first = p.receives.data();
	auto *r = static_cast<receive *>(work_of(err.op_context));
	if (r >= first && r < first + p.receives.size()) { // a receive: longer than any packet, or the peer went away
		if (err.err != FI_ECANCELED)
			p.unposted.push_back(r);
		return 0;
	}
	*e = {port_event_kind::failed, -(err.err ? err.err : FI_EIO), work_of(err.op_context)};
	return 1;
}

int ofi_poll(port &base, port_event *events, int most)
{
	ofi_port &p = ofi_of(base);
	if (!p.unposted.empty())
		post(p);
	fi_cq_msg_entry entries[16];
	const ssize_t n = fi_cq_read(p.cq.get(), entries, std::min<size_t>(static_cast<size_t>(most), 16));
	if (n == -FI_EAVAIL)
		return read_error(p, events);
	for (ssize_t i = 0; i < n; i++) {
		port_work *w = work_of(entries[i].op_context);
		port_event &e = events[i] = {port_event_kind::sent, 0, w};
		if (entries[i].flags & FI_RECV) {
			auto *r = static_cast<receive *>(w);
			e = {port_event_kind::received, 0, nullptr, r->bytes, entries[i].len, r};
		} else if (entries[i].flags & FI_RMA) {
			e.kind = port_event_kind::done;
		}
	}
	return n > 0 ? static_cast<int>(n) : 0;
}

void ofi_give_back(port &base, void *buffer)
{
	ofi_port &p = ofi_of(base);
	p.unposted.push_back(static_cast<receive *>(buffer));
	post(p);
}

fi_msg_rma transfer(const iovec *iov, void **desc, const fi_rma_iov *rma, uint64_t line, port_work *work)
{
	fi_msg_rma m{};
	m.msg_iov = iov;
	m.desc = desc;
	m.iov_count = 1;
	m.addr = line - 1;
	m.rma_iov = rma;
	m.rma_iov_count = 1;
	m.context = work->scratch;
	return m;
}

int ofi_write(port &p, uint64_t line, const void *src, size_t len, void *handle, uint64_t addr, uint64_t key,
	      port_work *work)
{
	const iovec iov{const_cast<void *>(src), len};
	const fi_rma_iov rma{addr, len, key};
	void *desc = desc_of(handle);
	const fi_msg_rma m = transfer(&iov, &desc, &rma, line, work);
	const uint64_t until = p.limits.stream ? FI_INJECT_COMPLETE : FI_DELIVERY_COMPLETE;
	return static_cast<int>(fi_writemsg(ofi_of(p).ep.get(), &m, FI_COMPLETION | until));
}

int ofi_read(port &p, uint64_t line, void *into, size_t len, void *handle, uint64_t addr, uint64_t key, port_work *work)
{
	const iovec iov{into, len};
	const fi_rma_iov rma{addr, len, key};
	void *desc = desc_of(handle);
	const fi_msg_rma m = transfer(&iov, &desc, &rma, line, work);
	return static_cast<int>(fi_readmsg(ofi_of(p).ep.get(), &m, FI_COMPLETION));
}

uint64_t wanted_key(const ofi_port &p)
{
	const size_t bytes = p.info->domain_attr->mr_key_size;
	uint64_t key = random_word();
	if (bytes && bytes < 8)
		key &= (uint64_t{1} << (8 * bytes)) - 1;
	return key < 2 ? key + 2 : key; // a stray 0 or 1 must never be a valid key
}

int register_memory(ofi_port &p, void *base, size_t len, port_device device, port_rights rights, port_memory *out)
{
	fid_mr *mr = nullptr;
	const iovec iov{base, len};
	fi_mr_attr a{};
	a.mr_iov = &iov;
	a.iov_count = 1;
	a.access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | (rights & kPortRead ? FI_REMOTE_READ : 0) |
		   (rights & kPortWrite ? FI_REMOTE_WRITE : 0);
	a.iface = static_cast<fi_hmem_iface>(device.interface);
	a.device.cuda = device.number; // a union: the numbers of other interfaces lie there, too
	int err = -FI_ENOKEY;
	for (int tries = 0; err == -FI_ENOKEY && tries < 4; tries++) {
		a.requested_key = wanted_key(p);
		err = fi_mr_regattr(p.domain.get(), &a, 0, &mr);
	}
	if (err)
		return err;
	if (p.mr_mode() & FI_MR_ENDPOINT) {
		err = fi_mr_bind(mr, &p.ep->fid, 0);
		if (!err)
			err = fi_mr_enable(mr);
		if (err) {
			fi_close(&mr->fid);
			return err;
		}
	}
	out->handle = mr;
	out->key = fi_mr_key(mr);
	out->addr = p.mr_mode() & FI_MR_VIRT_ADDR ? reinterpret_cast<uint64_t>(base) : 0;
	return 0;
}

int ofi_expose(port &base_port, void *base, size_t len, port_rights rights, port_memory *out)
{
	ofi_port &p = ofi_of(base_port);
	*out = {};
	if (!rights && !(p.mr_mode() & FI_MR_LOCAL))
		return 0;
	return register_memory(p, base, len, {}, rights, out);
}

// Nothing reports in advance whether the provider was built for this kind of device and can reach this one.
int ofi_expose_device(port &base_port, void *base, size_t len, port_device device, port_rights rights, port_memory *out)
{
	*out = {};
	return register_memory(ofi_of(base_port), base, len, device, rights, out);
}

void ofi_conceal(port &, port_memory &m)
{
	if (m.handle)
		fi_close(&static_cast<fid_mr *>(m.handle)->fid);
	m = {};
}

// An IP address of another provider names a port that the kernel's TCP does not know, and refuses.
bool over_tcp(const port &p)
{
	return p.kind == 't' || p.kind == 'n' || p.kind == 'r';
}

bool ofi_gone(port &p, uint64_t, const char *addr, size_t len)
{
	return over_tcp(p) && address_refuses(ofi_of(p).info->addr_format, addr, len);
}

// With no entry requested, fi_cq_sread leaves them all for poll(). The queue's descriptor would do as well, but
// fi_trywait of the tcp providers never takes the signal back, so the descriptor stays ready forever.
void ofi_wait(port &base, int ms)
{
	ofi_port &p = ofi_of(base);
	constexpr timespec kNap{0, 200'000};
	fi_cq_msg_entry none;
	if (!p.sleeps || fi_cq_sread(p.cq.get(), &none, 0, nullptr, ms) == -FI_ENOSYS)
		nanosleep(&kNap, nullptr);
}

void ofi_ring(port &p)
{
	if (ofi_of(p).sleeps)
		fi_cq_signal(ofi_of(p).cq.get());
}

constexpr port_ops kOfiPort = {
	.close = ofi_close,
	.address = ofi_address,
	.show = ofi_show,
	.insert = ofi_insert,
	.remove = ofi_remove,
	.keep = nullptr, // it does not report which peer sent a packet: the link signs packets
	.peer = nullptr,
	.trust = nullptr,
	.drop = nullptr,
	.send = ofi_send,
	.poll = ofi_poll,
	.give_back = ofi_give_back,
	.write = ofi_write,
	.read = ofi_read,
	.put_ready = nullptr,
	.put = nullptr,
	.expose = ofi_expose,
	.expose_device = ofi_expose_device,
	.conceal = ofi_conceal,
	.gone = ofi_gone,
	.life = nullptr,
	.trouble = nullptr,
	.arm = nullptr,
	.wait = ofi_wait,
	.ring = ofi_ring,
};

// --- opening ---------------------------------------------------------------------------------------------------------

template <class T, class Call>
int open_into(fid_ptr<T> &where, Call &&call)
{
	T *f = nullptr;
	const int err = call(&f);
	where.reset(f);
	return err;
}

int open_objects(ofi_port &p)
{
	std::string why;
	const libfabric_network *network = libfabric_load(why); // loaded since the choice of p.info
	fi_info *i = p.info.get();
	if (const int err =
		    open_into(p.fabric, [&](fid_fabric **f) { return network->fabric(i->fabric_attr, f, nullptr); }))
		return err;
	if (const int err =
		    open_into(p.domain, [&](fid_domain **f) { return fi_domain(p.fabric.get(), i, f, nullptr); }))
		return err;
	fi_cq_attr cq{};
	cq.format = FI_CQ_FORMAT_MSG;
	cq.size = 4096;
	int err = -FI_ENOSYS;
	for (const fi_wait_obj kind : {FI_WAIT_FD, FI_WAIT_UNSPEC, FI_WAIT_NONE}) {
		cq.wait_obj = kind;
		p.sleeps = kind != FI_WAIT_NONE;
		err = open_into(p.cq, [&](fid_cq **f) { return fi_cq_open(p.domain.get(), &cq, f, nullptr); });
		if (!err)
			break;
	}
	if (err)
		return err;
	fi_av_attr av{};
	av.type = FI_AV_UNSPEC;
	if (const int err = open_into(p.av, [&](fid_av **f) { return fi_av_open(p.domain.get(), &av, f, nullptr); }))
		return err;
	if (const int err = open_into(p.ep, [&](fid_ep **f) { return fi_endpoint(p.domain.get(), i, f, nullptr); }))
		return err;
	err = fi_ep_bind(p.ep.get(), &p.cq->fid, FI_TRANSMIT | FI_RECV);
	if (!err)
		err = fi_ep_bind(p.ep.get(), &p.av->fid, 0);
	if (!err)
		err = fi_enable(p.ep.get());
	return err;
}

int post_receives(ofi_port &p)
{
	p.memory.resize(kReceives * p.limits.packet);
	if (const int err = ofi_expose(p, p.memory.data(), p.memory.size(), kPortLocal, &p.exposed))
		return err;
	p.receives.resize(kReceives);
	for (size_t i = 0; i < kReceives; i++) {
		p.receives[i].bytes = p.memory.data() + i * p.limits.packet;
		p.unposted.push_back(&p.receives[i]);
	}
	post(p);
	return p.unposted.empty() ? 0 : -FI_EAGAIN;
}

} // namespace

port *port_ofi_open(const port_wish &wish, ofi_kinds kinds, const port_options &options, std::string &why)
{
	auto p = std::make_unique<ofi_port>();
	p->info = choose_provider(wish, kinds, options.devices, &p->kind, why);
	if (!p->info)
		return nullptr;
	p->ops = &kOfiPort;
	p->name = std::string(p->info->fabric_attr->prov_name) + " on " + p->info->domain_attr->name;
	const size_t longest = p->info->ep_attr->max_msg_size;
	const bool stream = (p->info->tx_attr->msg_order & kStreamOrder) == kStreamOrder;
	p->limits = {.packet = std::min(options.packet, longest),
		     .bulk_from = kBulkFrom,
		     .pins = !over_tcp(*p),
		     .stream = stream,
		     .by_cpu = stream,
		     .unseen = stream,
		     .devices = (p->info->caps & FI_HMEM) != 0};
	int err = open_objects(*p);
	if (!err)
		err = post_receives(*p);
	if (err) {
		why = p->name + ": " + pgas_strerror(-err);
		ofi_close(p.release());
		return nullptr;
	}
	return p.release();
}

} // namespace pgas
