// SPDX-License-Identifier: BSD-3-Clause
//
// The service thread: it sleeps on the port's descriptor, and serves gets, atomics and puts of peers while the
// application computes. While the application polls, the thread stays away: two threads that take turns at one queue
// cost each other a wake-up per packet.
//
//   asleep on the port -> an event: makes progress -> asleep again
//   the application polled since the last check -> naps until a thread of this process goes to sleep and thus stops
//   polling
//
// After many polls of the application without result, only the thread watches the link (net_domain::watched):
// domain_ask_to_poll() tells the application what it finds.
#include "net_thread.hpp"
#include "engine/pgas_request.hpp"
#include "net_bulk.hpp"

#include <pgas/pgas_turn.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kNapLeastNs = 250'000, kNapLongNs = 1'000'000, kNapMostNs = 10'000'000;
constexpr uint32_t kIdlePollsMost = 1000; // about a millisecond
constexpr int kFullMs = 1;                // what waits to be sent mostly leaves on an incoming event, but not always
constexpr int kAskMs = 100;               // while an answer is pending: silence must be detected
constexpr int kIdleMs = 1000;             // otherwise: only stopping matters, and it rings

// Makes progress with no executor. Returns true if the thread may sleep on the port; timeout: how long at most.
bool serve_peers(net_domain &d, int *timeout)
{
	scoped_lock lock(d.dom->mutex);
	link_read_clock(*d.l); // the thread may have slept since the last call
	const bool moved = link_progress(*d.l);
	for (net_ep *ep : d.eps)
		if (ep && !ep->replies.empty())
			replies_push(*ep);
	for (net_ep *ep : d.eps)
		if (ep && bulk_waits(*ep))
			bulk_push_all(*ep, may_touch(*ep), !moved);
	// if all threads share everything, it was completed here and nothing is put aside: polls must check again
	const bool completed = moved && d.dom->shared_by_threads;
	if (completed)
		net_unwatch(d);
	if (std::exchange(d.put_aside, false))
		domain_ask_to_poll(d.dom);
	else if (std::exchange(d.executed, false) || completed)
		domain_wake_sleepers(d.dom);
	if (moved || link_awake(*d.l))
		return false;
	const bool waits = std::ranges::any_of(
		d.l->channels, [](const auto &c) { return c && (c->asked_at || c->state == channel_state::greeting); });
	*timeout = !d.l->busy.empty() || !d.l->callers.empty() ? kFullMs : waits ? kAskMs : kIdleMs;
	port &base = *d.l->port;
	return !base.ops->arm || base.ops->arm(base);
}

// Naps are short, so that peers are served soon after the application stops polling, and longer the longer it goes on
// polling: with a single core, each check costs it some microseconds. Late wake-ups mean more threads than cores: then
// naps are longer still, or hundreds of such threads would keep the cores busy.
void nap(net_domain &d, uint64_t &length)
{
	pollfd f{d.wake_fd.get(), POLLIN, 0};
	const timespec most{0, static_cast<long>(length)};
	const uint64_t before = pgas_now_ns();
	d.naps.store(true);
	if (!d.asleep.exchange(false) && ppoll(&f, 1, &most, nullptr) > 0) {
		uint64_t rings;
		[[maybe_unused]] const ssize_t n = read(d.wake_fd.get(), &rings, sizeof rings);
	}
	d.naps.store(false);
	const uint64_t slept = pgas_now_ns() - before, late = slept > length ? slept - length : 0;
	length = std::clamp(4 * late, std::min(2 * length, kNapLongNs), kNapMostNs);
}

void *run_service_thread(void *arg)
{
	auto &d = *static_cast<net_domain *>(arg);
	ask_for_short_slices(); // to answer beside a program that computes
	uint32_t polled = 0;
	uint64_t nap_ns = kNapLeastNs;
	while (!d.thread_stop.load()) {
		const uint32_t now = d.dom->polled.load(std::memory_order_relaxed);
		if (now != polled && !d.asleep.exchange(false)) {
			polled = now;
			nap(d, nap_ns);
			continue;
		}
		polled = now;
		if (nap_ns <= kNapLongNs)
			nap_ns = kNapLeastNs;
		int timeout = 0;
		if (serve_peers(d, &timeout))
			d.l->port->ops->wait(*d.l->port, timeout);
	}
	return nullptr;
}

} // namespace

static void ring(net_domain &d)
{
	const uint64_t one = 1;
	[[maybe_unused]] const ssize_t n = write(d.wake_fd.get(), &one, sizeof one);
}

void net_asleep(wire_domain &base)
{
	auto &d = static_cast<net_domain &>(base);
	if (!d.thread_runs)
		return;
	d.asleep.store(true);
	if (d.naps.load())
		ring(d);
}

// --- which thread polls ----------------------------------------------------------------------------------------------

static bool nothing_awaited(const net_domain &d)
{
	const auto quiet_channel = [](const auto &c) {
		return !c || c->state == channel_state::over || c->stranger ||
		       (c->open() && channel_idle(*c) && !c->asked_at);
	};
	const auto quiet_ep = [](const net_ep *ep) {
		return !ep || (!ep->keeps() && !ep->outstanding && !ep->asked && ep->later.empty() && !bulk_waits(*ep));
	};
	return d.l->busy.empty() && !link_awake(*d.l) && std::ranges::all_of(d.l->channels, quiet_channel) &&
	       std::ranges::all_of(d.eps, quiet_ep);
}

static void set_watched(net_domain &d, bool enabled)
{
	d.watched = enabled;
	d.idle_polls = 0;
	for (ep_core *ep : d.dom->eps)
		if (ep->enabled)
			ep_update_polls(ep);
}

void net_unwatch_slow(net_domain &d)
{
	set_watched(d, false);
}

void net_polled(net_domain &d, bool moved)
{
	if (moved) {
		d.idle_polls = 0;
		net_unwatch(d);
	} else if (d.thread_runs && !d.watched && ++d.idle_polls == kIdlePollsMost) {
		d.idle_polls = 0;
		if (nothing_awaited(d)) {
			for (const auto &c : d.l->channels)
				if (c)
					run_close(*c); // the next put calls net_unwatch() first
			set_watched(d, true);
			net_asleep(d); // the thread polls at once, so nothing is missed
		}
	}
}

int net_thread_start(net_domain &d)
{
	d.wake_fd = unique_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (!d.wake_fd)
		return -errno;
	if (const int err = start_thread(&d.thread, nullptr, run_service_thread, &d)) {
		PGAS_WARN(FI_LOG_DOMAIN, "cannot start the link's service thread: %s\n", strerror(err));
		return -err;
	}
	d.thread_runs = true;
	return 0;
}

void net_thread_stop(net_domain &d)
{
	if (!d.thread_runs)
		return;
	d.thread_stop = true;
	ring(d);
	d.l->port->ops->ring(*d.l->port);
	pthread_join(d.thread, nullptr);
	d.thread_runs = false;
}

} // namespace pgas
