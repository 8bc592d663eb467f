// SPDX-License-Identifier: BSD-3-Clause
//
// Counters. A counter that only counts one-sided operations of its own process is read inline. One that counts
// messages, or peers' accesses to our memory (FI_REMOTE_WRITE, FI_REMOTE_READ), goes through the table: reading it
// makes progress, and its value is the local count plus the remote counter that initiators increment.
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"

#include <algorithm>

namespace pgas {
namespace {

cntr_core *core_of_cntr(fid_cntr *f)
{
	return reinterpret_cast<cntr_core *>(reinterpret_cast<pgas_cntr *>(f)->core);
}

// A counter of a region's remote events has no endpoint of its own; any endpoint of the domain may have to run the
// operation that it counts. With FI_THREAD_COMPLETION other threads must make that progress.
void progress(cntr_core *c)
{
	const bool any = c->eps.empty() && c->remote && c->dom->threading != FI_THREAD_COMPLETION;
	if (c->eps.empty() && !any)
		return;
	scoped_lock lock(c->dom->mutex);
	domain_polled(c->dom);
	if (any)
		domain_progress(c->dom);
	for (ep_core *ep : c->eps)
		ep_progress(ep);
}

PGAS_COLD uint64_t read_after_progress(fid_cntr *f)
{
	cntr_core *c = core_of_cntr(f);
	guard([&] {
		progress(c);
		return 0;
	});
	const uint64_t value = cntr_value(c);
	pgas_fence_full(); // what was counted is visible to all threads before the caller continues
	return value;
}

uint64_t read(fid_cntr *f) noexcept
{
	uint64_t value;
	return pgas_hot_cntr_read(reinterpret_cast<pgas_cntr *>(f), &value) ? value : read_after_progress(f);
}

uint64_t readerr(fid_cntr *f) noexcept
{
	cntr_core *c = core_of_cntr(f);
	guard([&] {
		progress(c);
		return 0;
	});
	return cntr_error(c);
}

int add(fid_cntr *f, uint64_t n) noexcept
{
	cntr_core *c = core_of_cntr(f);
	pgas_counter_add_shared(&c->front->count, n);
	cntr_signal(c);
	return 0;
}

int adderr(fid_cntr *f, uint64_t n) noexcept
{
	cntr_core *c = core_of_cntr(f);
	pgas_add_release(&c->front->count.error, n);
	cntr_signal(c);
	return 0;
}

// The remote counter belongs to the initiators, so a value is set by storing its difference from it.
int set(fid_cntr *f, uint64_t n) noexcept
{
	cntr_core *c = core_of_cntr(f);
	const uint64_t remote = c->remote ? pgas_load_acquire(&c->dom->counters[c->remote].value) : 0;
	pgas_store_release(&c->front->count.value, n - remote);
	cntr_signal(c);
	return 0;
}

int seterr(fid_cntr *f, uint64_t n) noexcept
{
	cntr_core *c = core_of_cntr(f);
	pgas_store_release(&c->front->count.error, n);
	cntr_signal(c);
	return 0;
}

int wait(fid_cntr *f, uint64_t threshold, int timeout) noexcept
{
	cntr_core *c = core_of_cntr(f);
	if (c->waiters.kind == FI_WAIT_NONE && c->eps.empty() && !c->remote && timeout < 0 &&
	    !pgas_counter_reached(cntr_value(c), threshold) && c->users.load() == 0)
		PGAS_INFO(FI_LOG_CNTR, "waiting on a counter that nothing is bound to\n");
	return guard([&] {
		const uint64_t errors = cntr_error(c);
		uint64_t deadline = 0; // the clock is read only when the call has to wait
		pgas_backoff pause{};
		for (;;) {
			progress(c);
			if (pgas_counter_reached(cntr_value(c), threshold)) {
				pgas_fence_full();
				return 0;
			}
			if (cntr_error(c) != errors)
				return -FI_EAVAIL;
			const uint64_t now = pgas_now_ns();
			if (!deadline)
				deadline = pgas_deadline_ns(timeout);
			if (now >= deadline)
				return -FI_ETIMEDOUT;
			if (pgas_backoff_awake(&pause)) {
				pgas_backoff_pause(&pause);
				continue;
			}
			const uint32_t ticket = sleep_announce(c->dom);
			progress(c);
			const bool stay = !pgas_counter_reached(cntr_value(c), threshold) && cntr_error(c) == errors;
			const uint64_t left = deadline - now;
			sleep_until_woken(c->dom, ticket, stay ? std::min(left, kSleepMostNs) : 0);
		}
	});
}

int cntr_close(fid *f) noexcept
{
	return guard([&] {
		cntr_core *c = core_of_cntr(reinterpret_cast<fid_cntr *>(f));
		if (c->users.load())
			return -FI_EBUSY;
		domain *dom = c->dom;
		{
			scoped_lock lock(dom->mutex);
			watch_barrier lock_watcher;
			std::erase(dom->cntrs, c);
			if (c->remote)
				dom->counter_used[c->remote] = false;
		}
		dom->users--;
		delete c->front;
		delete c;
		return 0;
	});
}

int cntr_control(fid *f, int command, void *arg) noexcept
{
	if (command == FI_GETOPSFLAG) {
		*static_cast<uint64_t *>(arg) = 0;
		return 0;
	}
	return core_of_cntr(reinterpret_cast<fid_cntr *>(f))->waiters.control(command, arg);
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = cntr_close;
	ops.control = cntr_control;
	refuse_calls(ops.bind, ops.ops_open, ops.tostr, ops.ops_set);
});

constinit fi_ops_cntr g_cntr_ops = make_ops<fi_ops_cntr>([](fi_ops_cntr &ops) {
	ops.read = read;
	ops.readerr = readerr;
	ops.add = add;
	ops.set = set;
	ops.wait = wait;
	ops.adderr = adderr;
	ops.seterr = seterr;
});

} // namespace

int cntr_open(fid_domain *d, fi_cntr_attr *attr, fid_cntr **out, void *context) noexcept
{
	return guard([&] {
		auto *dom = reinterpret_cast<domain *>(d);
		const fi_wait_obj wait_obj = attr ? attr->wait_obj : FI_WAIT_NONE;
		if ((attr && attr->events != FI_CNTR_EVENTS_COMP) || wait_obj == FI_WAIT_SET ||
		    wait_obj == FI_WAIT_POLLFD) {
			PGAS_WARN(FI_LOG_CNTR, "counter: events or wait object not supported\n");
			return -FI_ENOSYS;
		}
		if (const int err = flags_check<flags_of::cntr_open>(attr ? attr->flags : 0))
			return err;
		auto c = std::make_unique<cntr_core>();
		auto front = std::make_unique<pgas_cntr>();
		c->dom = dom;
		c->front = front.get();
		if (const int err = c->waiters.open(wait_obj))
			return err;
		if (c->waiters.outside())
			if (const int err = domain_start_thread(dom))
				return err;
		auto *fid = reinterpret_cast<fid_cntr *>(front.get());
		fid->fid = {FI_CLASS_CNTR, context, &g_fid_ops};
		fid->ops = &g_cntr_ops;
		front->core = reinterpret_cast<pgas_cntr_core *>(c.get());
		cntr_update_hot(c.get());
		scoped_lock lock(dom->mutex);
		watch_barrier lock_watcher;
		dom->cntrs.push_back(c.get());
		dom->users++;
		front.release();
		c.release();
		*out = fid;
		return 0;
	});
}

} // namespace pgas
