// SPDX-License-Identifier: BSD-3-Clause
//
// Poll sets, and fi_trywait: may the caller block on the wait objects of these queues without missing an event?
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"

#include <algorithm>

namespace pgas {
namespace {

struct poll_set {
	fid_poll fid_{};
	domain *dom;
	std::vector<fid *> members;
};

cq_core *as_cq(fid *f)
{
	return reinterpret_cast<cq_core *>(reinterpret_cast<pgas_cq *>(f)->core);
}

cntr_core *as_cntr(fid *f)
{
	return reinterpret_cast<cntr_core *>(reinterpret_cast<pgas_cntr *>(f)->core);
}

std::atomic<int> &users_of(fid *member)
{
	return member->fclass == FI_CLASS_CQ ? as_cq(member)->users : as_cntr(member)->users;
}

int poll(fid_poll *f, void **contexts, int count) noexcept
{
	return guard([&] {
		auto *set = reinterpret_cast<poll_set *>(f);
		int n = 0;
		for (fid *m : set->members) {
			if (n == count)
				break;
			bool ready;
			if (m->fclass == FI_CLASS_CQ) {
				cq_core *cq = as_cq(m);
				scoped_lock lock(set->dom->mutex);
				for (ep_core *ep : cq->eps)
					ep_progress(ep);
				ready = !cq->entries.empty();
			} else {
				cntr_core *c = as_cntr(m);
				const uint64_t seen = c->polled_value;
				scoped_lock lock(set->dom->mutex);
				for (ep_core *ep : c->eps)
					ep_progress(ep);
				c->polled_value = cntr_value(c) + cntr_error(c);
				ready = c->polled_value != seen;
			}
			if (ready)
				contexts[n++] = m->context;
		}
		return n;
	});
}

int add(fid_poll *f, fid *member, uint64_t flags) noexcept
{
	return guard([&] {
		auto *set = reinterpret_cast<poll_set *>(f);
		if (const int err = flags_check<flags_of::poll_add>(flags))
			return err;
		if (member->fclass != FI_CLASS_CQ && member->fclass != FI_CLASS_CNTR)
			return -FI_EINVAL;
		set->members.push_back(member);
		users_of(member)++;
		return 0;
	});
}

int del(fid_poll *f, fid *member, uint64_t flags) noexcept
{
	return guard([&] {
		auto *set = reinterpret_cast<poll_set *>(f);
		const auto it = std::find(set->members.begin(), set->members.end(), member);
		if (const int err = flags_check<flags_of::poll_del>(flags))
			return err;
		if (it == set->members.end())
			return -FI_EINVAL;
		set->members.erase(it);
		users_of(member)--;
		return 0;
	});
}

int close(fid *f) noexcept
{
	return guard([&] {
		auto *set = reinterpret_cast<poll_set *>(f);
		for (fid *m : set->members)
			users_of(m)--;
		set->dom->users--;
		delete set;
		return 0;
	});
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = close;
	refuse_calls(ops.bind, ops.control, ops.ops_open, ops.tostr, ops.ops_set);
});

constinit fi_ops_poll g_poll_ops = make_ops<fi_ops_poll>([](fi_ops_poll &ops) {
	ops.poll = poll;
	ops.poll_add = add;
	ops.poll_del = del;
});

} // namespace

int poll_open(fid_domain *d, fi_poll_attr *attr, fid_poll **out) noexcept
{
	return guard([&] {
		if (const int err = flags_check<flags_of::poll_open>(attr ? attr->flags : 0))
			return err;
		auto set = std::make_unique<poll_set>();
		set->dom = reinterpret_cast<domain *>(d);
		set->fid_.fid = {FI_CLASS_POLL, nullptr, &g_fid_ops};
		set->fid_.ops = &g_poll_ops;
		set->dom->users++;
		*out = &set.release()->fid_;
		return 0;
	});
}

// Clears the signal first and checks the queue second, so that an event in between raises the signal again.
int fabric_trywait(fid_fabric *, fid **fids, int count) noexcept
{
	return guard([&] {
		for (int i = 0; i < count; i++) {
			fid *f = fids[i];
			if (f->fclass == FI_CLASS_CQ) {
				cq_core *cq = as_cq(f);
				scoped_lock lock(cq->dom->mutex);
				if (cq->waiters.kind == FI_WAIT_NONE)
					return -FI_EINVAL;
				cq->waiters.lower();
				for (ep_core *ep : cq->eps)
					ep_progress(ep);
				if (!cq->entries.empty() || cq->signalled.exchange(false))
					return -FI_EAGAIN;
			} else if (f->fclass == FI_CLASS_CNTR) {
				cntr_core *c = as_cntr(f);
				scoped_lock lock(c->dom->mutex);
				c->waiters.lower();
				for (ep_core *ep : c->eps)
					ep_progress(ep);
				const uint64_t now = cntr_value(c) + cntr_error(c);
				if (now != c->polled_value) {
					c->polled_value = now;
					return -FI_EAGAIN;
				}
			} else if (f->fclass == FI_CLASS_EQ) {
				eq *q = reinterpret_cast<eq *>(f);
				pthread_mutex_lock(&q->waiters.mutex);
				const bool empty = q->events.empty();
				pthread_mutex_unlock(&q->waiters.mutex);
				if (!empty)
					return -FI_EAGAIN;
			} else {
				return -FI_EINVAL;
			}
		}
		return 0;
	});
}

} // namespace pgas
