// SPDX-License-Identifier: BSD-3-Clause
//
// The watcher: one sleeping thread per process that detects the death of peers (pidfd) and of senders that died while
// they held a ring slot. It closes windows at once, so that stores to a dead peer leave the inline path, and asks the
// domains to check (attention); the application's own progress does all reporting.
//
// It takes no domain lock. Everything that it touches is guarded by the watch_barrier or is a relaxed atomic store.
#include "shm.hpp"
#include "shm_process.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

namespace pgas {
namespace {

constexpr int kScanMs = 250; // how soon a slot held by a dead sender is detected

struct watched {
	unique_fd pidfd;   // none: the process is checked in every scan instead
	bool over = false; // it is dead, and all users have been told
	std::vector<remote_domain *> users;
	uint64_t start_time;
};

// One run of the thread, from the first enabled endpoint to the last domain. The thread that ends it removes it from
// the watcher and waits, so that nothing of it is left when fi_close returns; meanwhile another run may begin.
struct watch_life {
	pthread_t thread{};
	unique_fd epoll, wake;
	bool over = false;
};

struct watcher {
	std::unique_ptr<watch_life> life;                // null: no thread runs
	std::unordered_map<uint32_t, watched> processes; // by pid
	std::vector<domain *> domains;
};

watcher *g_watcher = nullptr;

// The thread does not exist in a child of fork(): the child starts afresh. It does not watch what the parent opened.
void forget_after_fork()
{
	g_watcher->life.reset();
	g_watcher = new watcher;
}

watcher &the_watcher()
{
	static const bool made = [] {
		g_watcher = new watcher; // never destroyed: its thread may outlive static destruction
		return pthread_atfork(nullptr, nullptr, forget_after_fork) == 0;
	}();
	(void)made;
	return *g_watcher;
}

void declare_dead(remote_domain *r)
{
	r->dead.store(true, std::memory_order_release);
	windows_close_all(r, true);
	domain_ask_to_poll(r->dom);
}

void check_process(uint32_t pid, watched &w)
{
	if (w.over || process_alive(pid, w.start_time))
		return;
	w.over = true;
	w.pidfd.reset(); // and thus leaves the epoll set
	for (remote_domain *r : w.users)
		if (!r->dead.load())
			declare_dead(r);
}

// Checks for an eager buffer that a dead sender has held for a whole scan: nobody will send or free it.
void check_eager(shm_ep *ep)
{
	auto &seen = ep->watch_eager;
	seen.resize(ep->eager.count);
	for (uint32_t i = 0; i < seen.size(); i++) {
		const uint64_t claim = pgas_load_acquire(&ep->eager.heads[i].claim);
		if (claim == seen[i] && eager_head::count(claim) != pgas_load_acquire(&ep->eager.returns[i]) &&
		    sender_gone(ep, eager_head::sender(claim))) {
			domain_ask_to_poll(ep->ep->dom);
			return;
		}
		seen[i] = claim;
	}
}

// A slot that stays busy at the head of a ring for a whole scan, and whose sender is gone, blocks all later ones. One
// that stays ready waits for a process that reads its counters inline and does not poll. An impossible state, or a hint
// that leads a free slot, is garbage; the owner of the ring repairs that, too.
void check_ring(shm_ep *ep)
{
	const pgas_ring *ring = ep->ring;
	const uint64_t pos = pgas_load_relaxed(&ep->head);
	const uint64_t state = pgas_load_acquire(&ep->slots[pos & ep->mask].state);
	const bool leads = static_cast<int64_t>(pgas_load_relaxed(&ring->tail_hint) - pos) > 0;
	const slot_state kind = slot_state_of(state, pos);
	check_eager(ep);
	if (kind == slot_state::free && !leads && pgas_load_relaxed(&ring->head) == pos) {
		ep->watch_state = 0;
		return;
	}
	if (ep->watch_state != state) {
		ep->watch_state = state;
		return;
	}
	if (kind != slot_state::busy || sender_gone(ep, slot_owner(state)))
		domain_ask_to_poll(ep->ep->dom);
}

void *run_watcher_thread(void *arg)
{
	const auto &life = *static_cast<watch_life *>(arg);
	watcher &w = the_watcher();
	for (;;) {
		epoll_event events[16];
		const int n = epoll_wait(life.epoll.get(), events, 16, kScanMs);
		watch_barrier lock;
		if (life.over)
			return nullptr;
		for (int i = 0; i < n; i++) {
			const uint32_t pid = events[i].data.u32;
			const auto it = w.processes.find(pid);
			if (it != w.processes.end())
				check_process(pid, it->second);
		}
		for (auto &[pid, p] : w.processes)
			if (!p.pidfd)
				check_process(pid, p);
		for (domain *dom : w.domains)
			for (ep_core *ep : dom->eps)
				if (shm_ep *own_ep = shm_of(ep))
					check_ring(own_ep);
	}
}

} // namespace

bool sender_gone(const shm_ep *ep, uint32_t attach)
{
	const attach_entry &a = ep->attaches()[attach & (kAttachMax - 1)];
	return !process_alive(pgas_load_acquire(&a.state), a.start_time);
}

bool watch_start()
{
	watch_barrier lock;
	watcher &w = the_watcher();
	if (w.life)
		return true;
	auto life = std::make_unique<watch_life>();
	life->epoll = unique_fd(epoll_create1(EPOLL_CLOEXEC));
	life->wake = unique_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	epoll_event e{};
	e.events = EPOLLIN;
	e.data.u32 = 0; // no process has this number
	epoll_ctl(life->epoll.get(), EPOLL_CTL_ADD, life->wake.get(), &e);
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	const int err = start_thread(&life->thread, &attr, run_watcher_thread, life.get());
	pthread_attr_destroy(&attr);
	if (err) {
		PGAS_WARN(FI_LOG_CORE, "cannot start the watcher thread (%s): dead peers will not be noticed\n",
			  strerror(err));
		return false;
	}
	w.life = std::move(life);
	return true;
}

void watch_domain(domain *dom)
{
	watch_barrier lock;
	the_watcher().domains.push_back(dom);
}

void unwatch_domain(domain *dom)
{
	std::unique_ptr<watch_life> last;
	{
		watch_barrier lock;
		watcher &w = the_watcher();
		std::erase(w.domains, dom);
		if (!w.domains.empty() || !w.life)
			return;
		last = std::move(w.life);
		last->over = true;
		const uint64_t one = 1;
		[[maybe_unused]] const ssize_t n = write(last->wake.get(), &one, sizeof one);
	}
	pthread_join(last->thread, nullptr);
}

void watch_remote(remote_domain *r)
{
	watch_barrier lock;
	watcher &w = the_watcher();
	auto [it, fresh] = w.processes.try_emplace(r->pid);
	watched &p = it->second;
	p.users.push_back(r);
	if (!fresh && p.start_time == r->start_time)
		return;
	p.start_time = r->start_time;
	p.over = false;
#ifdef SYS_pidfd_open
	p.pidfd = unique_fd(static_cast<int>(syscall(SYS_pidfd_open, r->pid, 0)));
	// the pid could have been reused between the address check and this line: then the process is dead already
	if (p.pidfd && process_alive(r->pid, r->start_time) && w.life) {
		epoll_event e{};
		e.events = EPOLLIN;
		e.data.u32 = r->pid;
		epoll_ctl(w.life->epoll.get(), EPOLL_CTL_ADD, p.pidfd.get(), &e);
	} else {
		p.pidfd.reset();
	}
#endif
}

void unwatch_remote(remote_domain *r)
{
	watch_barrier lock;
	watcher &w = the_watcher();
	const auto it = w.processes.find(r->pid);
	if (it == w.processes.end())
		return;
	std::erase(it->second.users, r);
	if (it->second.users.empty())
		w.processes.erase(it); // closes the pidfd, which thus leaves the epoll set
}

} // namespace pgas
