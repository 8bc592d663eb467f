// SPDX-License-Identifier: BSD-3-Clause
#include "device_queue.hpp"

#include "device_locks.hpp"
#include "device_word.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <pgas/pgas_machine.hpp>

namespace pgas::devices {
namespace {

// Up to this size a copy by the CPU and one by the device are faster than the driver's own handling of pageable memory.
constexpr size_t kMostThroughRing = 64 * 1024;
constexpr size_t kRingBytes = 1024 * 1024;
constexpr size_t kRingUnit = 64;
constexpr size_t kMostOuts = 1024; // each piece with host memory is compared with all of them
// Limits for held-back copies: their number, and their length, so short that overlapping them would gain nothing.
constexpr size_t kMostWaiting = 128, kMostToWait = 1024;

static_assert(kRingBytes >= 4 * kMostThroughRing);

} // namespace

// --- the device ------------------------------------------------------------------------------------------------------

int queued_kind::open_queue()
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	void *pinned = nullptr;
	const int rc = get_pinned(kRingBytes, &pinned);
	if (rc != 0)
		return rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	ring_ = static_cast<char *>(pinned);
	ring_used_ = ring_free_ = 0;
	broken_ = 0;
	open_ = true;
	return 0;
}

void queued_kind::close()
{
	const visit entered(*this);
	const std::lock_guard<std::mutex> lock(mutex_);
	if (!open_)
		return;
	if (entered.rc == 0) {
		begin_flushed();
		wait();
	}
	open_ = false;
	for (const known &one : regions_)
		end_one(one);
	regions_.clear();
	outs_.clear();
	ready_.clear();
	end_pinned(ring_);
	ring_ = nullptr;
	end_device();
}

// The checks that every call that uses the queue starts with.
int queued_kind::begin_locked()
{
	if (!open_)
		return failed(-ENODEV, name(), "the device is not open");
	if (broken_ != 0)
		return failed(broken_, "an earlier copy was lost", broken_text_);
	return 0;
}

void queued_kind::forget_ready()
{
	ready_.clear();
	ready_ours_ = true;
	while (outs_taken_ + outs_.size() > outs_submitted_)
		outs_.pop_back();
}

// Handles a failure of copies whose calls have returned: like a failed wait, it ends the queue.
void queued_kind::lose_ready(int rc)
{
	forget_ready();
	settle(rc, outs_taken_, ring_free_);
}

// The same for calls that must run after held-back copies.
int queued_kind::begin_flushed()
{
	int rc = begin_locked();
	if (rc != 0 || ready_.empty())
		return rc;
	rc = flush();
	if (rc != 0)
		lose_ready(rc);
	return rc;
}

// --- the ring --------------------------------------------------------------------------------------------------------

// Finds room in one piece. Waits if the ring is full of copies that are not finished.
int queued_kind::ring_room(size_t bytes, char *&out)
{
	bytes = (bytes + kRingUnit - 1) / kRingUnit * kRingUnit;
	const uint64_t to_end = kRingBytes - ring_used_ % kRingBytes;
	const uint64_t skip = bytes > to_end ? to_end : 0;
	if (ring_used_ + skip + bytes - ring_free_ > kRingBytes) {
		int rc = flush();
		if (rc == 0)
			rc = settle_now();
		if (rc != 0)
			return rc;
	}
	out = ring_ + (ring_used_ + skip) % kRingBytes;
	ring_used_ += skip + bytes;
	return 0;
}

// Is any part of it still to be copied out of the ring?
bool queued_kind::touches_out(const void *ptr, size_t bytes) const
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	return std::any_of(outs_.begin(), outs_.end(), [&](const out &one) {
		const auto dest = reinterpret_cast<uintptr_t>(one.dest);
		return addr < dest + one.bytes && dest < addr + bytes;
	});
}

// After a wait: copies out the entries up to number `outs`, and frees the ring up to `used`.
int queued_kind::settle(int rc, uint64_t outs, uint64_t used)
{
	if (rc != 0 && broken_ == 0) {
		broken_ = rc;
		memcpy(broken_text_, t_error, sizeof broken_text_ - 1);
	}
	for (; outs_taken_ < outs; outs_taken_++) {
		if (rc == 0)
			copy_now(outs_.front().dest, outs_.front().source, outs_.front().bytes);
		outs_.pop_front();
	}
	ring_free_ = std::max(ring_free_, used);
	return rc;
}

int queued_kind::settle_now()
{
	return settle(wait(), outs_taken_ + outs_.size(), ring_used_);
}

// Waits, without holding the mutex, for everything submitted so far.
int queued_kind::wait_unlocked(std::unique_lock<std::mutex> &lock)
{
	const uint64_t outs = outs_taken_ + outs_.size(), used = ring_used_;
	lock.unlock();
	const int waited = wait();
	lock.lock();
	const int rc = settle(waited, outs, used);
	return rc != 0 ? rc : begin_locked(); // another thread's wait may have failed, and lost our copies
}

// --- copies ----------------------------------------------------------------------------------------------------------

int queued_kind::flush()
{
	const int rc = ready_.empty() ? 0 : submit(ready_.data(), ready_.size(), ready_ours_);
	ready_.clear();
	ready_ours_ = true;
	if (rc == 0)
		outs_submitted_ = outs_taken_ + outs_.size();
	return rc;
}

// For a short piece with pageable memory, which is its destination if into_ring.
int queued_kind::take_through_ring(const piece &p, bool into_ring)
{
	char *room = nullptr;
	const int rc = ring_room(p.bytes, room);
	if (rc != 0)
		return rc;
	ready_ours_ = ready_ours_ && is_ours(into_ring ? p.source : p.dest, p.bytes);
	if (into_ring) {
		ready_.push_back({room, p.source, p.bytes});
		outs_.push_back({p.dest, room, p.bytes});
	} else {
		memcpy(room, p.source, p.bytes);
		ready_.push_back({p.dest, room, p.bytes});
	}
	return 0;
}

int queued_kind::take_piece(const piece &p)
{
	place dest = place::pageable, source = place::pageable;
	int rc = find(p.dest, dest);
	if (rc == 0)
		rc = find(p.source, source);
	if (rc != 0)
		return rc;
	const bool small = p.bytes <= kMostThroughRing;
	const bool into_ring = dest == place::pageable && source == place::device && small;
	const bool by_cpu = dest != place::device && source != place::device;
	// data that waits in the ring must not arrive after the CPU's or the device's access to the same memory
	const bool early = (source != place::device && touches_out(p.source, p.bytes)) ||
			   (dest != place::device && !into_ring && touches_out(p.dest, p.bytes));
	if (early || by_cpu || outs_.size() >= kMostOuts) {
		rc = flush();
		if (rc == 0)
			rc = settle_now();
		if (rc != 0)
			return rc;
	}
	if (by_cpu) {
		memmove(p.dest, p.source, p.bytes);
		return 0;
	}
	if (dest != place::pageable && source != place::pageable) {
		ready_ours_ = ready_ours_ && is_ours(p.dest, p.bytes) && is_ours(p.source, p.bytes);
		ready_.push_back(p);
		return 0;
	}
	if (!small) {
		rc = submit(&p, 1, false);
		// on some machines the driver returns early, and nothing here would know that the copy is in progress
		return rc == 0 && dest == place::pageable ? settle_now() : rc;
	}
	return take_through_ring(p, into_ring);
}

int queued_kind::copy(const piece *pieces, size_t count)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	int rc = begin_flushed();
	if (rc != 0)
		return rc;
	outs_submitted_ = outs_taken_ + outs_.size();
	for (size_t i = 0; i < count && rc == 0; i++)
		if (pieces[i].bytes)
			rc = take_piece(pieces[i]);
	if (rc == 0)
		rc = flush();
	if (rc != 0) // these can no longer be copied
		forget_ready();
	return rc;
}

int queued_kind::copy_with_others(const piece &p)
{
	if (p.bytes > kMostToWait)
		return copy(&p, 1);
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	int rc = begin_locked();
	if (rc != 0 || !p.bytes)
		return rc;
	const size_t waiting = ready_.size();
	rc = take_piece(p);
	if (rc == 0 && ready_.size() >= kMostWaiting)
		rc = flush();
	if (rc != 0 && ready_.size() < waiting)
		lose_ready(rc); // copies of earlier calls are lost too
	return rc;
}

int queued_kind::finish()
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	std::unique_lock<std::mutex> lock(mutex_);
	const int rc = begin_flushed();
	return rc != 0 ? rc : wait_unlocked(lock);
}

int queued_kind::idle()
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	bool is = false;
	int rc = begin_flushed();
	if (rc != 0)
		return rc;
	rc = ask(is);
	if (rc == 0 && !is)
		return 0;
	rc = settle(rc, outs_taken_ + outs_.size(), ring_used_);
	return rc == 0 ? 1 : rc;
}

int queued_kind::fill(void *dest, int byte, size_t bytes)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	std::unique_lock<std::mutex> lock(mutex_);
	int rc = begin_flushed();
	if (rc == 0 && bytes)
		rc = submit_fill(dest, byte, bytes);
	return rc != 0 ? rc : wait_unlocked(lock);
}

int queued_kind::submit_amo(amo_op, void *, size_t, uint64_t, uint64_t, uint64_t *)
{
	return failed(-ENOSYS, "atomic", "the kind has no kernel for it");
}

// Fetches, changes and puts back the word; the mutex is held throughout, and there is no other lock order.
int queued_kind::amo_by_lock(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old)
{
	const auto addr = reinterpret_cast<uintptr_t>(target);
	const auto it =
		std::find_if(regions_.begin(), regions_.end(), [&](const known &one) { return contains(one.r, addr); });
	if (it == regions_.end())
		return failed(-EFAULT, "atomic", "the target is not in a region");
	char *word = nullptr;
	int rc = ring_room(sizeof *old, word);
	if (rc != 0)
		return rc;
	const word_lock held(it->r, addr);
	const piece fetch = {word, target, bytes}, put = {target, word, bytes};
	rc = held.rc != 0 ? held.rc : submit(&fetch, 1, true);
	if (rc == 0)
		rc = settle_now();
	if (rc != 0)
		return rc;
	const uint64_t before = amo_word(word, bytes, op, value, compare);
	if (op != amo_op::load) {
		rc = submit(&put, 1, true);
		if (rc == 0)
			rc = settle_now();
	}
	if (rc == 0)
		*old = before;
	return rc;
}

int queued_kind::amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	std::unique_lock<std::mutex> lock(mutex_);
	int rc = begin_flushed();
	if (rc != 0)
		return rc;
	if ((bytes != 4 && bytes != 8) || reinterpret_cast<uintptr_t>(target) % bytes)
		return failed(-EFAULT, "atomic", "the target is not an aligned word of 4 or 8 bytes");
	// at an address that is not the device's the kernel would destroy the whole context
	place where = place::pageable;
	rc = find(target, where);
	if (rc != 0)
		return rc;
	if (where != place::device)
		return failed(-EFAULT, "atomic", "the target is not memory of the device");
	if (has_locks())
		return amo_by_lock(op, target, bytes, value, compare, old);
	char *result = nullptr;
	rc = ring_room(sizeof *old, result);
	if (rc != 0)
		return rc;
	rc = submit_amo(op, target, bytes, value, compare, reinterpret_cast<uint64_t *>(result));
	if (rc != 0)
		return rc;
	outs_.push_back({old, result, sizeof *old});
	outs_submitted_ = outs_taken_ + outs_.size();
	return wait_unlocked(lock);
}

// --- folds -----------------------------------------------------------------------------------------------------------

int queued_kind::launch_fold(const fold &)
{
	return failed(-ENOSYS, "fold", "the kind has no kernel for it");
}

// As with atomics: a kernel must not get an address that is not the device's, so first and last are checked.
int queued_kind::check_rows(const void *const *rows, size_t count, size_t size, size_t bytes) const
{
	for (size_t i = 0; i < count; i++) {
		const auto addr = reinterpret_cast<uintptr_t>(rows[i]);
		place first = place::pageable, last = place::pageable;
		int rc = find(rows[i], first);
		if (rc == 0)
			rc = find(reinterpret_cast<const void *>(addr + bytes - 1), last);
		if (rc != 0)
			return rc;
		if (first != place::device || last != place::device || addr % size)
			return failed(-EFAULT, "fold", "a row is not aligned memory of the device");
	}
	return 0;
}

int queued_kind::submit_fold(const fold &f)
{
	if (!can_fold(f.op, f.type) || (f.form != fold_form::all && f.op != fold_op::sum))
		return failed(-ENOSYS, "fold", "the kind has no kernel for it");
	if (!f.row_count || f.row_count > kMostRows || f.out_count > kMostRows ||
	    (f.form != fold_form::all && f.out_count != f.row_count))
		return failed(-EINVAL, "fold", "the numbers of rows and outs are wrong");
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	int rc = begin_flushed();
	if (rc != 0 || !f.elements)
		return rc;
	const size_t size = size_of(f.type);
	rc = check_rows(f.rows, f.row_count, size, f.elements * size);
	if (rc == 0)
		rc = check_rows(f.outs, f.out_count, size, f.elements * size);
	return rc != 0 ? rc : launch_fold(f);
}

} // namespace pgas::devices
