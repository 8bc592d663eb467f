// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues. An empty read is inline (pgas_hot_cq_empty); everything else makes progress on the endpoints bound
// to the queue, under the domain's lock, and copies entries out in the requested format. A full queue holds back new
// operations (-FI_EAGAIN) and leaves arrivals where they are; operations started before still get their entries.
#include "support/pgas_api.hpp"
#include "support/pgas_flags.hpp"
#include "engine/pgas_ep.hpp"
#include "support/pgas_nosys.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <type_traits>

namespace pgas {
namespace {

cq_core *core_of_cq(fid_cq *f)
{
	return reinterpret_cast<cq_core *>(reinterpret_cast<pgas_cq *>(f)->core);
}

// The formats are prefixes of one another, and of the queued entry. Sizes are constants: the copy is a few moves.
static_assert(offsetof(completion, flags) == offsetof(fi_cq_tagged_entry, flags) &&
	      offsetof(completion, len) == offsetof(fi_cq_tagged_entry, len) &&
	      offsetof(completion, buf) == offsetof(fi_cq_tagged_entry, buf) &&
	      offsetof(completion, data) == offsetof(fi_cq_tagged_entry, data) &&
	      offsetof(completion, tag) == offsetof(fi_cq_tagged_entry, tag));

char *put_entry(fi_cq_format format, char *out, const completion &c)
{
	const auto put = [&](auto bytes) {
		memcpy(out, &c, bytes);
		return out + bytes;
	};
	switch (format) {
	case FI_CQ_FORMAT_MSG:
		return put(std::integral_constant<size_t, sizeof(fi_cq_msg_entry)>{});
	case FI_CQ_FORMAT_DATA:
		return put(std::integral_constant<size_t, sizeof(fi_cq_data_entry)>{});
	case FI_CQ_FORMAT_TAGGED:
		return put(std::integral_constant<size_t, sizeof(fi_cq_tagged_entry)>{});
	default:
		return put(std::integral_constant<size_t, sizeof(fi_cq_entry)>{});
	}
}

void progress(cq_core *cq)
{
	domain_polled(cq->dom);
	for (ep_core *ep : cq->eps)
		ep_progress(ep);
}

// Lock held. Copies entries up to the first error; -FI_EAVAIL when an error is next.
ssize_t take(cq_core *cq, void *buf, size_t count, fi_addr_t *src)
{
	size_t n = 0;
	char *out = static_cast<char *>(buf);
	while (n < count && !cq->entries.empty()) {
		const completion &c = cq->entries.front();
		if (c.err)
			break;
		out = put_entry(cq->format, out, c);
		if (src)
			src[n] = c.src;
		n++;
		cq->entries.pop_front();
	}
	cq_update_queued(cq);
	if (n)
		return static_cast<ssize_t>(n);
	return cq->entries.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

PGAS_COLD ssize_t read_other(fid_cq *f, void *buf, size_t count, fi_addr_t *src) noexcept
{
	cq_core *cq = core_of_cq(f);
	return guard([&]() -> int {
		scoped_lock lock(cq->dom->mutex);
		if (cq->entries.size() < count || !count)
			progress(cq);
		if (!count)
			return cq->entries.empty() ? -FI_EAGAIN : cq->entries.front().err ? -FI_EAVAIL : 0;
		return static_cast<int>(take(cq, buf, count, src));
	});
}

ssize_t read_from(fid_cq *f, void *buf, size_t count, fi_addr_t *src) noexcept
{
	return PGAS_LIKELY(pgas_hot_cq_empty(reinterpret_cast<pgas_cq *>(f))) ? -FI_EAGAIN
									      : read_other(f, buf, count, src);
}

ssize_t read(fid_cq *f, void *buf, size_t count) noexcept
{
	return PGAS_LIKELY(pgas_hot_cq_empty(reinterpret_cast<pgas_cq *>(f))) ? -FI_EAGAIN
									      : read_other(f, buf, count, nullptr);
}

ssize_t readerr(fid_cq *f, fi_cq_err_entry *buf, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::cq_readerr>(flags))
		return err;
	cq_core *cq = core_of_cq(f);
	scoped_lock lock(cq->dom->mutex);
	if (cq->entries.empty() || !cq->entries.front().err)
		return -FI_EAGAIN;
	const completion &c = cq->entries.front();
	buf->op_context = c.context;
	buf->flags = c.flags;
	buf->len = c.len;
	buf->buf = c.buf;
	buf->data = c.data;
	buf->tag = c.tag;
	buf->olen = c.olen;
	buf->err = c.err;
	buf->prov_errno = c.prov_errno;
	// the structure grew with the API: a caller of an older API has no room for the rest
	const uint32_t api = cq->dom->fab->fid.api_version;
	if (FI_VERSION_GE(api, FI_VERSION(1, 5)))
		buf->err_data_size = 0; // no data beyond prov_errno; err_data stays the caller's
	if (FI_VERSION_GE(api, FI_VERSION(1, 20)))
		*api_error_source(buf) = c.src;
	cq->entries.pop_front();
	cq_update_queued(cq);
	return 1;
}

ssize_t sread_from(fid_cq *f, void *buf, size_t count, fi_addr_t *src, const void *cond, int timeout) noexcept
{
	cq_core *cq = core_of_cq(f);
	if (cq->waiters.kind == FI_WAIT_NONE)
		return -FI_EINVAL;
	return guard([&]() -> int {
		const uint64_t deadline = pgas_deadline_ns(timeout);
		(void)cond; // a threshold is a hint: the first entry ends the wait
		pgas_backoff wait{};
		for (;;) {
			const auto n = static_cast<int>(read_from(f, buf, count, src));
			if (n != -FI_EAGAIN)
				return n;
			if (cq->signalled.exchange(false))
				return -FI_EAGAIN;
			const uint64_t now = pgas_now_ns();
			if (now >= deadline)
				return -FI_EAGAIN;
			if (cq->waiters.kind == FI_WAIT_YIELD || pgas_backoff_awake(&wait)) {
				pgas_backoff_pause(&wait);
				continue;
			}
			// long wait: polling once more after the announcement closes the race
			const uint32_t ticket = sleep_announce(cq->dom);
			const auto again = static_cast<int>(read_from(f, buf, count, src));
			const bool stay = again == -FI_EAGAIN && !cq->signalled.load();
			const uint64_t left = deadline - now;
			sleep_until_woken(cq->dom, ticket, stay ? std::min(left, kSleepMostNs) : 0);
			if (again != -FI_EAGAIN)
				return again;
		}
	});
}

ssize_t sread(fid_cq *f, void *buf, size_t count, const void *cond, int timeout) noexcept
{
	return sread_from(f, buf, count, nullptr, cond, timeout);
}

int signal(fid_cq *f) noexcept
{
	cq_core *cq = core_of_cq(f);
	if (cq->waiters.kind == FI_WAIT_NONE)
		return -FI_EINVAL;
	cq->signalled = true;
	cq->waiters.raise();
	domain_wake(cq->dom);
	return 0;
}

const char *cq_strerror(fid_cq *, int prov_errno, const void *, char *buf, size_t len) noexcept
{
	const char *text = pgas_strerror(prov_errno);
	if (buf && len)
		snprintf(buf, len, "%s", text);
	return text;
}

int cq_close(fid *f) noexcept
{
	return guard([&] {
		cq_core *cq = core_of_cq(reinterpret_cast<fid_cq *>(f));
		if (!cq->eps.empty() || cq->users.load())
			return -FI_EBUSY;
		domain *dom = cq->dom;
		{
			scoped_lock lock(dom->mutex);
			watch_barrier lock_watcher;
			std::erase(dom->cqs, cq);
		}
		dom->users--;
		delete cq->front;
		delete cq;
		return 0;
	});
}

int cq_control(fid *f, int command, void *arg) noexcept
{
	return core_of_cq(reinterpret_cast<fid_cq *>(f))->waiters.control(command, arg);
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = cq_close;
	ops.control = cq_control;
	refuse_calls(ops.bind, ops.ops_open, ops.tostr, ops.ops_set);
});

constinit fi_ops_cq g_cq_ops = make_ops<fi_ops_cq>([](fi_ops_cq &ops) {
	ops.read = read;
	ops.readfrom = read_from;
	ops.readerr = readerr;
	ops.sread = sread;
	ops.sreadfrom = sread_from;
	ops.signal = signal;
	ops.strerror = cq_strerror;
});

} // namespace

int cq_open(fid_domain *d, fi_cq_attr *attr, fid_cq **out, void *context) noexcept
{
	return guard([&] {
		auto *dom = reinterpret_cast<domain *>(d);
		const fi_wait_obj wait = attr ? attr->wait_obj : FI_WAIT_NONE;
		if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD &&
		    wait != FI_WAIT_MUTEX_COND && wait != FI_WAIT_YIELD) {
			PGAS_WARN(FI_LOG_CQ, "completion queue: wait object %d is not supported\n",
				  static_cast<int>(wait));
			return -FI_ENOSYS;
		}
		if (attr && attr->format > FI_CQ_FORMAT_TAGGED)
			return -FI_ENOSYS;
		if (const int err = flags_check<flags_of::cq_open>(attr ? attr->flags : 0))
			return err;
		auto cq = std::make_unique<cq_core>();
		auto front = std::make_unique<pgas_cq>();
		cq->dom = dom;
		cq->front = front.get();
		cq->format = attr && attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
		if (attr)
			attr->format = cq->format;
		cq->flags = attr ? attr->flags : 0;
		cq->room = attr && attr->size ? attr->size : 1024;
		if (const int err = cq->waiters.open(wait))
			return err;
		if (cq->waiters.outside())
			if (const int err = domain_start_thread(dom)) // a thread must turn arrivals into signals
				return err;
		auto *fid = reinterpret_cast<fid_cq *>(front.get());
		fid->fid = {FI_CLASS_CQ, context, &g_fid_ops};
		fid->ops = &g_cq_ops;
		front->core = reinterpret_cast<pgas_cq_core *>(cq.get());
		scoped_lock lock(dom->mutex);
		watch_barrier lock_watcher;
		dom->cqs.push_back(cq.get());
		dom->users++;
		cq_update_poll(cq.get());
		front.release();
		cq.release();
		*out = fid;
		return 0;
	});
}

} // namespace pgas
