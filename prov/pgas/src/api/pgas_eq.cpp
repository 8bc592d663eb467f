// SPDX-License-Identifier: BSD-3-Clause
//
// Event queues: asynchronous address vector insertions, and events that the application writes itself. Always thread
// safe.
#include "engine/pgas_fabric.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"

#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

eq *eq_of(fid_eq *f)
{
	return reinterpret_cast<eq *>(f);
}

void eq_push(eq *q, eq_event &&e) // mutex held
{
	q->events.push_back(std::move(e));
	q->waiters.raise_held();
}

void eq_popped(eq *q)
{
	if (q->events.empty())
		q->waiters.lower();
}

ssize_t take(eq *q, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	if (q->events.empty())
		return -FI_EAGAIN;
	eq_event &e = q->events.front();
	if (e.is_error)
		return -FI_EAVAIL;
	if (len < e.data.size())
		return -FI_ETOOSMALL;
	*event = e.event;
	memcpy(buf, e.data.data(), e.data.size());
	const auto n = static_cast<ssize_t>(e.data.size());
	if (!(flags & FI_PEEK)) {
		q->events.pop_front();
		eq_popped(q);
	}
	return n;
}

ssize_t eq_read(fid_eq *f, uint32_t *event, void *buf, size_t len, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::eq_read>(flags))
		return err;
	eq *q = eq_of(f);
	pthread_mutex_lock(&q->waiters.mutex);
	const ssize_t n = take(q, event, buf, len, flags);
	pthread_mutex_unlock(&q->waiters.mutex);
	return n;
}

ssize_t eq_readerr(fid_eq *f, fi_eq_err_entry *buf, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::eq_readerr>(flags))
		return err;
	eq *q = eq_of(f);
	pthread_mutex_lock(&q->waiters.mutex);
	ssize_t n = -FI_EAGAIN;
	if (!q->events.empty() && q->events.front().is_error) {
		void *const room = buf->err_data;
		const size_t room_len = buf->err_data_size;
		*buf = q->events.front().error;
		buf->err_data = room;
		buf->err_data_size = room_len ? 0 : buf->err_data_size;
		if (!(flags & FI_PEEK)) {
			q->events.pop_front();
			eq_popped(q);
		}
		n = sizeof *buf;
	}
	pthread_mutex_unlock(&q->waiters.mutex);
	return n;
}

ssize_t eq_write(fid_eq *f, uint32_t event, const void *buf, size_t len, uint64_t flags) noexcept
{
	return guard([&]() -> int {
		eq *q = eq_of(f);
		if (const int err = flags_check<flags_of::eq_write>(flags))
			return err;
		if (!(q->flags & FI_WRITE))
			return -FI_EINVAL;
		pthread_mutex_lock(&q->waiters.mutex);
		int n = -FI_EAGAIN;
		if (q->events.size() < q->room) {
			const char *p = static_cast<const char *>(buf);
			eq_push(q, {event, std::vector<char>(p, p + len), false, {}});
			n = static_cast<int>(len);
		}
		pthread_mutex_unlock(&q->waiters.mutex);
		return n;
	});
}

ssize_t eq_sread(fid_eq *f, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags) noexcept
{
	eq *q = eq_of(f);
	if (const int err = flags_check<flags_of::eq_read>(flags))
		return err;
	if (q->waiters.kind == FI_WAIT_NONE)
		return -FI_EINVAL;
	timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	if (timeout > 0) {
		until.tv_sec += timeout / 1000;
		until.tv_nsec += static_cast<long>(timeout % 1000) * 1'000'000;
		if (until.tv_nsec >= 1'000'000'000) {
			until.tv_sec++;
			until.tv_nsec -= 1'000'000'000;
		}
	}
	pthread_mutex_lock(&q->waiters.mutex);
	ssize_t n;
	while ((n = take(q, event, buf, len, flags)) == -FI_EAGAIN) {
		const int err = timeout < 0 ? pthread_cond_wait(&q->waiters.cond, &q->waiters.mutex)
					    : pthread_cond_timedwait(&q->waiters.cond, &q->waiters.mutex, &until);
		if (err == ETIMEDOUT)
			break;
	}
	pthread_mutex_unlock(&q->waiters.mutex);
	return n;
}

const char *eq_strerror(fid_eq *, int prov_errno, const void *, char *buf, size_t len) noexcept
{
	const char *text = pgas_strerror(prov_errno);
	if (buf && len)
		snprintf(buf, len, "%s", text);
	return text;
}

int eq_close(fid *f) noexcept
{
	eq *q = reinterpret_cast<eq *>(f);
	if (q->users.load())
		return -FI_EBUSY;
	q->fab->users--;
	delete q;
	return 0;
}

int eq_control(fid *f, int command, void *arg) noexcept
{
	return reinterpret_cast<eq *>(f)->waiters.control(command, arg);
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = eq_close;
	ops.control = eq_control;
	refuse_calls(ops.bind, ops.ops_open, ops.tostr, ops.ops_set);
});

constinit fi_ops_eq g_eq_ops = make_ops<fi_ops_eq>([](fi_ops_eq &ops) {
	ops.read = eq_read;
	ops.readerr = eq_readerr;
	ops.write = eq_write;
	ops.sread = eq_sread;
	ops.strerror = eq_strerror;
});

} // namespace

int eq_report(eq *q, uint32_t event, fid_t fid, void *context, uint64_t data)
{
	const fi_eq_entry entry{fid, context, data};
	const char *p = reinterpret_cast<const char *>(&entry);
	pthread_mutex_lock(&q->waiters.mutex);
	eq_push(q, {event, std::vector<char>(p, p + sizeof entry), false, {}});
	pthread_mutex_unlock(&q->waiters.mutex);
	return 0;
}

int eq_report_error(eq *q, fid_t fid, void *context, uint64_t data, int err)
{
	fi_eq_err_entry entry{};
	entry.fid = fid;
	entry.context = context;
	entry.data = data;
	entry.err = entry.prov_errno = err;
	pthread_mutex_lock(&q->waiters.mutex);
	eq_push(q, {0, {}, true, entry});
	pthread_mutex_unlock(&q->waiters.mutex);
	return 0;
}

int eq_open(fid_fabric *f, fi_eq_attr *attr, fid_eq **out, void *context) noexcept
{
	return guard([&] {
		const fi_wait_obj wait = attr->wait_obj;
		if (wait != FI_WAIT_NONE && wait != FI_WAIT_UNSPEC && wait != FI_WAIT_FD &&
		    wait != FI_WAIT_MUTEX_COND && wait != FI_WAIT_YIELD) {
			PGAS_WARN(FI_LOG_EQ, "event queue: wait object %d is not supported\n", static_cast<int>(wait));
			return -FI_ENOSYS;
		}
		if (const int err = flags_check<flags_of::eq_open>(attr->flags))
			return err;
		auto q = std::make_unique<eq>();
		q->fab = reinterpret_cast<fabric *>(f);
		q->flags = attr->flags;
		q->room = attr->size ? attr->size : 256;
		if (const int err = q->waiters.open(wait))
			return err;
		q->fid.fid = {FI_CLASS_EQ, context, &g_fid_ops};
		q->fid.ops = &g_eq_ops;
		q->fab->users++;
		*out = &q.release()->fid;
		return 0;
	});
}

} // namespace pgas
