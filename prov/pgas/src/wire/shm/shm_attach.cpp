// SPDX-License-Identifier: BSD-3-Clause
//
// The attach table of an endpoint: its senders. A sender takes an entry of the peer's table when it connects, and its
// messages carry the number of the entry.
#include "shm.hpp"
#include "shm_process.hpp"

#include <cstring>

namespace pgas {
namespace {

// In attach_entry::state, with the pid of the process that is filling in the entry.
constexpr uint32_t kEntering = 1u << 31;
constexpr uint32_t kUsedEnough = 16, kUsedLooks = 4; // entries before used ones are tried, and number of tries
// Entries before those are tried whose sender may have died: each costs a look into /proc, and thousands of processes
// that start together would look at one another.
constexpr uint32_t kUsedMany = 4096;

// Takes an entry whose sender left or died, once all of its messages are consumed: they carry the number of the entry.
// The state word decides between several takers.
enum class takeover : uint8_t { taken, busy, soon };

takeover take_over(const shm_peer *p, attach_entry &e, uint32_t me, bool dead_too)
{
	uint32_t holder = pgas_load_acquire(&e.state);
	if (!holder) // never used
		return pgas_claim(&e.state, &holder, me | kEntering) ? takeover::taken : takeover::busy;
	uint64_t left = pgas_load_acquire(&e.left);
	if (!left && !dead_too)
		return takeover::busy;
	const bool gone = holder & kEntering ? process_start_time(holder & ~kEntering) == 0
					     : !process_alive(holder, e.start_time);
	if (!left && !gone)
		return takeover::busy;
	if (!left) { // it died without detaching: none of its slots is after the tail
		pgas_claim(&e.left, &left, ring_tail(p));
		left = pgas_load_acquire(&e.left);
	}
	if (!left || pgas_load_acquire(&p->ring->head) < left)
		return takeover::soon;
	// left is cleared only by the owner of the state word, so the values read above are still valid when the claim
	// succeeds
	if ((holder & kEntering && !gone) || !pgas_claim(&e.state, &holder, me | kEntering))
		return takeover::busy;
	pgas_store_release(&e.left, uint64_t{0}); // pairs with load_acquire in take_over()
	return takeover::taken;
}

// Read once per process, from our own segment: /proc takes four system calls, and each peer asks.
uint64_t own_start_time(const ep_core *ep, uint32_t me)
{
	const auto *own = shm_of(ep)->seg.at<segment_header>(0);
	return own->pid == me ? own->start_time : process_start_time(me);
}

} // namespace

// Enters us in the peer's attach table. First tries a few used entries that may be free again, so that the table grows
// with the current senders and not with all that ever existed; then the next fresh one, given by the hint; then any.
// The hint may be wrong: only the entry's state decides.
int shm_attach(const ep_core *ep, shm_peer *p)
{
	auto *table = p->seg.at<attach_entry>(kAttachOff);
	auto *hint = p->seg.at<uint32_t>(kAttachHintOff);
	const auto me = static_cast<uint32_t>(getpid());
	uint32_t pos = kAttachMax;
	bool soon = false;
	const auto try_entry = [&](uint32_t i, bool dead_too) {
		const takeover t = take_over(p, table[i], me, dead_too);
		if (t == takeover::taken)
			pos = i;
		soon = soon || t == takeover::soon;
	};
	const uint32_t used = pgas_load_relaxed(hint);
	for (uint64_t i = 0; pos == kAttachMax && i < kUsedLooks && used >= kUsedEnough; i++)
		try_entry(static_cast<uint32_t>((pgas_now_ns() * 0x9E3779B97F4A7C15u) >> 40) %
				  (used < kAttachMax ? used : kAttachMax),
			  used >= kUsedMany);
	const uint32_t first = pos == kAttachMax ? pgas_add_relaxed(hint, 1u) : 0;
	for (uint32_t i = 0; pos == kAttachMax && i < kAttachMax; i++)
		try_entry((first + i) % kAttachMax, true);
	if (pos == kAttachMax && soon)
		return -FI_EAGAIN;
	if (pos == kAttachMax) {
		PGAS_WARN(FI_LOG_AV, "peer %s knows %u senders already and can take no more\n",
			  p->engine_peer->name.text, kAttachMax);
		return -FI_ENOSPC;
	}
	attach_entry &e = table[pos];
	e.start_time = own_start_time(ep, me);
	memcpy(e.name, ep->name.text, kNameBytes);
	pgas_add_relaxed(&e.serial, uint64_t{1});
	pgas_store_release(&e.state, me); // pairs with load_acquire in sender_gone(); messages carry the rest
	p->attach = pos;
	return 0;
}

void shm_detach(shm_peer *p)
{
	attach_entry &e = p->seg.at<attach_entry>(kAttachOff)[p->attach];
	pgas_store_release(&e.left, ring_tail(p)); // pairs with load_acquire in take_over()
}

} // namespace pgas
