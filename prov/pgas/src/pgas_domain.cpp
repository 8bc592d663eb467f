// SPDX-License-Identifier: BSD-3-Clause
//
// The domain: owns the process's shared segment of keys, counters and doorbell, and opens everything below it.
#include "pgas.hpp"
#include "pgas_api.hpp"
#include "pgas_host.hpp"
#include "pgas_info.hpp"
#include "pgas_nosys.hpp"

#include <sys/mman.h>

#include <cstring>

namespace pgas {
namespace {

domain *domain_of(fid *f)
{
	return reinterpret_cast<domain *>(f);
}

int domain_close(fid *f) noexcept
{
	return guard([&] {
		domain *dom = domain_of(f);
		if (dom->users.load())
			return -FI_EBUSY;
		domain_stop_thread(dom);
		unwatch_domain(dom);
		dom->remotes.clear();
		if (dom->bound_eq)
			dom->bound_eq->users--;
		dom->fab->users--;
		delete dom;
		return 0;
	});
}

int domain_bind(fid *f, fid *b, uint64_t flags) noexcept
{
	domain *dom = domain_of(f);
	if (b->fclass != FI_CLASS_EQ || (flags & ~kApiRegMr) || dom->bound_eq)
		return -FI_EINVAL;
	dom->bound_eq = reinterpret_cast<eq *>(b);
	dom->bound_eq->users++;
	return 0;
}

int mem_alloc(fid_domain *f, size_t len, void **ptr) noexcept
{
	return guard([&] {
		domain *dom = domain_of(&f->fid);
		if (!len)
			return -FI_EINVAL;
		const size_t bytes = round_up(len, page_bytes());
		unique_fd fd(memfd_create("pgas-memory", MFD_CLOEXEC));
		if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
			return -errno;
		void *p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
		if (p == MAP_FAILED)
			return -errno;
		// the registration finds the descriptor by the mapped file; this keeps it open until mem_free
		scoped_lock lock(dom->mutex);
		const uint64_t id = file_id(fd.get(), nullptr, nullptr);
		shared_file &file = dom->files[id];
		file.fd = std::move(fd);
		file.users = 1;
		dom->allocations[reinterpret_cast<uintptr_t>(p)] = id;
		*ptr = p;
		return 0;
	});
}

int mem_free(fid_domain *f, void *ptr, size_t len) noexcept
{
	return guard([&] {
		domain *dom = domain_of(&f->fid);
		scoped_lock lock(dom->mutex);
		const auto it = dom->allocations.find(reinterpret_cast<uintptr_t>(ptr));
		if (it == dom->allocations.end())
			return -FI_EINVAL;
		domain_file_release(dom, it->second);
		dom->allocations.erase(it);
		return munmap(ptr, round_up(len, page_bytes())) ? -errno : 0;
	});
}

int reg_parts(fid_domain *f, void *base, size_t span, uint64_t access, uint64_t key, const fi_pgas_part *parts,
	      size_t count, fid_mr **out) noexcept
{
	return guard([&] { return mr_register_parts(domain_of(&f->fid), base, span, access, key, parts, count, out); });
}

int window(fid_ep *fid, fi_addr_t addr, void **base) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		scoped_lock lock(ep->dom->mutex);
		peer *p;
		if (const int err = peer_get(ep, addr, &p))
			return err;
		publish_window(ep, p);
		p->rdom->given_out = true; // addresses in it are the application's now
		const pgas_ep *front = front_of(fid);
		*base = front->check[addr].bound8 ? reinterpret_cast<void *>(front->check[addr].base) : nullptr;
		return 0;
	});
}

int symmetric(fid_ep *fid, const void *base) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		pgas_ep *front = front_of(fid);
		const auto bias = reinterpret_cast<uint64_t>(base);
		if (bias % 16)
			return -FI_EINVAL;
		scoped_lock lock(ep->dom->mutex);
		const key0_layout &layout = ep->dom->layout;
		if (layout.given() && bias && bias != layout.base)
			return -FI_EINVAL;
		watch_barrier lock_watcher;
		for (const auto &[rank, rdom] : ep->open_windows) {
			// offsets and addresses have different windows: open anew
			if (layout.given() && bias != front->bias) {
				front->window[rank] = 0;
				pgas_store_relaxed(&front->check[rank].bound8, uint64_t{0});
			} else if (front->window[rank]) {
				front->window[rank] += front->bias - bias;
			}
		}
		front->bias = bias;
		return 0;
	});
}

int symmetric_layout(fid_domain *f, const fi_pgas_piece *pieces, size_t count) noexcept
{
	return guard([&] { return key0_layout_set(domain_of(&f->fid), pieces, count); });
}

int drain(fid_ep *fid) noexcept
{
	return guard([&] {
		ep_core *ep = core_of(fid);
		pgas_backoff wait{};
		for (;;) {
			{
				scoped_lock lock(ep->dom->mutex);
				ep_progress(ep);
				if (ep->pending.empty())
					return 0;
				// who should answer may be waiting for us, on another endpoint
				if (ep->dom->threading != FI_THREAD_COMPLETION)
					domain_progress(ep->dom);
			}
			pgas_backoff_pause(&wait);
		}
	});
}

fi_pgas_ops g_ext_ops = {
	.size = sizeof(fi_pgas_ops),
	.mr_reg_parts = reg_parts,
	.mem_alloc = mem_alloc,
	.mem_free = mem_free,
	.window = window,
	.symmetric = symmetric,
	.drain = drain,
	.message_take = message_take,
	.message_release = message_release,
	.message_send = message_send,
	.symmetric_layout = symmetric_layout,
};

int domain_ops_open(fid *, const char *name, uint64_t, void **ops, void *) noexcept
{
	if (strcmp(name, FI_PGAS_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &g_ext_ops;
	return 0;
}

int endpoint2(fid_domain *dom, fi_info *info, fid_ep **out, uint64_t flags, void *context) noexcept
{
	return flags ? -FI_ENOSYS : ep_open(dom, info, out, context);
}

fi_ops g_fid_ops = {
	.size = sizeof(fi_ops),
	.close = domain_close,
	.bind = domain_bind,
	PGAS_NOSYS(fi_ops, control),
	.ops_open = domain_ops_open,
	PGAS_NOSYS(fi_ops, tostr),
	PGAS_NOSYS(fi_ops, ops_set),
};

fi_ops_domain g_domain_ops = {
	.size = sizeof(fi_ops_domain),
	.av_open = av_open,
	.cq_open = cq_open,
	.endpoint = ep_open,
	PGAS_NOSYS(fi_ops_domain, scalable_ep),
	.cntr_open = cntr_open,
	.poll_open = poll_open,
	.stx_ctx = stx_open,
	PGAS_NOSYS(fi_ops_domain, srx_ctx),
	.query_atomic = amo_query,
	PGAS_NOSYS(fi_ops_domain, query_collective),
	.endpoint2 = endpoint2,
};

} // namespace

int domain_open(fid_fabric *f, fi_info *info, fid_domain **out, void *context) noexcept
{
	return guard([&] {
		if (const int err = host_identity_find())
			return err;
		auto dom = std::make_unique<domain>();
		dom->fab = reinterpret_cast<fabric *>(f);
		const fi_domain_attr *a = info->domain_attr;
		dom->threading = a && a->threading ? a->threading : FI_THREAD_SAFE;
		dom->progress = a && a->data_progress ? a->data_progress : FI_PROGRESS_MANUAL;
		const int mode = a ? a->mr_mode : 0;
		dom->mr_mode = mode == kApiMrBasic ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY
						   : mode & ~(kApiMrBasic | kApiMrScalable);
		dom->caps = info->caps;
		// FI_THREAD_COMPLETION: queues and counters belong to one thread each, but connecting, translating and
		// progress touch what the domain shares, so the cold path locks while the hot one does not count with
		// atomics
		if (dom->threading != FI_THREAD_DOMAIN)
			dom->mutex.enable();
		dom->shared_by_threads = dom->threading != FI_THREAD_DOMAIN && dom->threading != FI_THREAD_COMPLETION;
		if (const int err = segment_create("domain", segment_kind::domain, kDomainBytes, dom->shared))
			return err;
		dom->shared.at<dom_shared>(0)->host = host_identity();
		dom->keys.entries = dom->shared.at<key_entry>(kKeysOff);
		dom->keys.parts = dom->shared.at<part_entry>(kPartsOff);
		dom->counter_used.assign(kRemoteCounters, false);
		dom->counter_used[kNoCounter] = true;
		door_register();
		cross_memory_allowed(); // also lets our peers in where the kernel asks for it
		dom->fid.fid = {FI_CLASS_DOMAIN, context, &g_fid_ops};
		dom->fid.ops = &g_domain_ops;
		dom->fid.mr = &g_mr_ops;
		if (dom->progress == FI_PROGRESS_AUTO)
			if (const int err = domain_start_thread(dom.get()))
				return err;
		watch_domain(dom.get());
		dom->fab->users++;
		*out = &dom.release()->fid;
		return 0;
	});
}

} // namespace pgas
