// SPDX-License-Identifier: BSD-3-Clause
//
// The domain: opens its objects and the wires.
#include "hmem/pgas_hmem.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_api.hpp"
#include "engine/pgas_ep.hpp"
#include "pgas_ext.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_wire.hpp"

#include <pgas/pgas_proof.hpp>

#include <cstring>

namespace pgas {
namespace {

domain *domain_of(fid *f)
{
	return reinterpret_cast<domain *>(f);
}

void close_wires(domain *dom)
{
	for (size_t i = kWiresMost; i-- > 0;) { // the first one last: the others' threads sleep and wake through it
		if (dom->wires[i])
			dom->wires[i]->ops->domain_close(dom->wires[i]);
		dom->wires[i] = nullptr;
	}
}

int open_wires(domain *dom)
{
	size_t pos = 0;
	if (const int err = wires_check())
		return err;
	for (const wire_ops *w : wires()) {
		const int err = w->domain_open(*dom, &dom->wires[pos]);
		if (err && err != -FI_ENODATA) {
			close_wires(dom);
			return err;
		}
		pos += !err;
	}
	return 0;
}

int domain_close(fid *f) noexcept
{
	return guard([&] {
		domain *dom = domain_of(f);
		if (dom->users.load())
			return -FI_EBUSY;
		domain_stop_thread(dom);
		close_wires(dom);
		hmem_close(dom);
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
	if (const int err = flags_check<flags_of::domain_bind>(flags))
		return err;
	if (b->fclass != FI_CLASS_EQ || dom->bound_eq)
		return -FI_EINVAL;
	dom->bound_eq = reinterpret_cast<eq *>(b);
	dom->bound_eq->users++;
	return 0;
}

int domain_ops_open(fid *, const char *name, uint64_t flags, void **ops, void *) noexcept
{
	if (const int err = flags_check<flags_of::open_ops>(flags))
		return err;
	if (strcmp(name, FI_PGAS_OPS) != 0)
		return -FI_ENOSYS;
	*ops = &g_ext_ops; // pgas_ext.cpp
	return 0;
}

int endpoint2(fid_domain *dom, fi_info *info, fid_ep **out, uint64_t flags, void *context) noexcept
{
	if (const int err = flags_check<flags_of::endpoint2>(flags))
		return err;
	return ep_open(dom, info, out, context);
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = domain_close;
	ops.bind = domain_bind;
	ops.ops_open = domain_ops_open;
	refuse_calls(ops.control, ops.tostr, ops.ops_set);
});

constinit fi_ops_domain g_domain_ops = make_ops<fi_ops_domain>([](fi_ops_domain &ops) {
	ops.av_open = av_open;
	ops.cq_open = cq_open;
	ops.endpoint = ep_open;
	ops.cntr_open = cntr_open;
	ops.poll_open = poll_open;
	ops.stx_ctx = stx_open;
	ops.query_atomic = amo_query;
	ops.endpoint2 = endpoint2;
	refuse_calls(ops.scalable_ep, ops.srx_ctx, ops.query_collective);
});

} // namespace

int domain_open(fid_fabric *f, fi_info *info, fid_domain **out, void *context) noexcept
{
	return guard([&] {
		auto dom = std::make_unique<domain>();
		dom->fab = reinterpret_cast<fabric *>(f);
		const fi_domain_attr *a = info->domain_attr;
		dom->threading = a && a->threading ? a->threading : FI_THREAD_SAFE;
		dom->progress = a && a->data_progress ? a->data_progress : FI_PROGRESS_MANUAL;
		const int mode = a ? a->mr_mode : 0;
		dom->mr_mode = mode == kApiMrBasic ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY
						   : mode & ~(kApiMrBasic | kApiMrScalable);
		dom->caps = info->caps;
		if (a && a->mr_key_size && a->mr_key_size < sizeof(uint64_t))
			dom->key_most = (uint64_t{1} << 8 * a->mr_key_size) - 1;
		if (a && a->auth_key && a->auth_key_size)
			dom->secret_key = secret_from(a->auth_key, a->auth_key_size);
		// FI_THREAD_COMPLETION: queues and counters belong to one thread each, but connecting, translating and
		// progress access state that the domain shares, so the cold path locks, while the hot path counts
		// without atomics
		dom->has_threads = dom->threading != FI_THREAD_DOMAIN;
		if (dom->has_threads)
			dom->mutex.enable();
		dom->shared_by_threads = dom->threading != FI_THREAD_DOMAIN && dom->threading != FI_THREAD_COMPLETION;
		dom->counter_used.assign(kRemoteCounters, false);
		dom->counter_used[kNoCounter] = true;
		dom->fid.fid = {FI_CLASS_DOMAIN, context, &g_fid_ops};
		dom->fid.ops = &g_domain_ops;
		dom->fid.mr = &g_mr_ops;
		if (const int err = open_wires(dom.get()))
			return err;
		if (dom->progress == FI_PROGRESS_AUTO) {
			if (const int err = domain_start_thread(dom.get())) {
				close_wires(dom.get());
				return err;
			}
		}
		dom->fab->users++;
		*out = &dom.release()->fid;
		return 0;
	});
}

} // namespace pgas
