// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the kinds of real drivers: one queue of copies (a stream, a command list), which run in the order of their
// submission, and staging of host memory.
//
// Drivers copy pageable host memory through a buffer of their own, and wait in the call when it is the destination.
// Small pieces therefore go through our pinned ring: a source is copied into it at once, and finish() copies fetched
// data out of it, so that any number of small pieces costs one wait. Larger pieces are left to the driver.
//
// Short pieces that come one by one, and may go in any order, are collected in ready_: a submission takes the driver
// longer than copying the bytes. Every other call submits them first.
//
// The mutex guards the ring and the list of pending copies out of it; finish() waits without holding it, so that
// threads can submit meanwhile. A wait that fails ends the queue: its content is lost, and all later calls report the
// failure.
#pragma once

#include "device_driver.hpp"
#include "device_error.hpp"

#include <devices/devices_kind.hpp>

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace pgas::devices {

// The page size of devices. Memory is allocated in whole pages, since an IPC handle opens the whole page that contains
// its memory; no driver allows asking for larger ones.
constexpr size_t kDevicePageBytes = size_t{2} << 20;

// A number for handle::device, from the location on the host's buses: ordinals differ between processes that see
// different devices.
constexpr uint64_t number_of_place(uint64_t domain, uint64_t bus, uint64_t device)
{
	return uint64_t{1} << 60 | (domain & 0xfffff) << 40 | (bus & 0xfffff) << 20 | (device & 0xfffff);
}

class queued_kind : public kind {
public:
	int allocate(size_t bytes, size_t page_bytes, region &out) final;
	int join(void *memory, size_t bytes, region &out) final;
	uint64_t number() const final;
	void release(region &r) final { end(r); }
	int give(const region &r, handle &out) final;
	int take(const handle &h, region &out) final;
	void drop(region &r) final { end(r); }
	int copy(const piece *pieces, size_t count) final;
	int copy_with_others(const piece &p) final;
	int finish() final;
	int idle() final;
	int fill(void *dest, int byte, size_t bytes) final;
	int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) final;
	int submit_fold(const fold &f) final;
	bool owns(const void *ptr) const final;
	void close() final;

	// Registers memory that another library has allocated and frees after release(). Fills it with zeros.
	int adopt(void *memory, size_t bytes, region &out);

protected:
	enum class place { device, pinned, pageable };

	// The driver's side. All are called between enter() and leave(), which make the device current in this thread
	// and restore the previous one.
	virtual int enter(uintptr_t &before) const = 0;
	virtual void leave(uintptr_t before) const = 0;
	virtual int get_memory(size_t bytes, uintptr_t &addr) = 0; // whole pages; any content
	virtual void free_memory(const region &r) = 0;
	virtual int give_memory(const region &r, handle &out) = 0; // blob and fd; the rest is set by the caller
	virtual uint64_t number_of_device() const = 0;             // handle::device
	virtual int open_memory(const handle &source, uintptr_t &addr) = 0;
	virtual void close_memory(const region &r) = 0;
	virtual int range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const = 0; // nonzero: not known
	virtual void withdraw(const region &) {} // what give_memory() gave, before our memory or another library's ends
	virtual int get_pinned(size_t bytes, void **out) = 0;
	virtual void end_pinned(void *ptr) = 0;
	virtual int place_of(const void *ptr, place &out) const = 0; // for memory that is in no region
	// ours: all places are entirely within regions or the ring, so that a kernel may copy. A large piece whose host
	// memory is pageable comes alone, and not as ours; the driver may wait in the call.
	virtual int submit(const piece *pieces, size_t count, bool ours) = 0;
	virtual int submit_fill(void *dest, int byte, size_t bytes) = 0;
	virtual int submit_amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare,
			       uint64_t *result); // result: pinned
	virtual int launch_fold(const fold &f);   // arguments are checked; only for a kind that can_fold()
	// True for a kind without submit_amo(): its atomics use locks (device_locks.hpp), whose descriptor give() puts
	// into the handle.
	virtual bool has_locks() const { return false; }
	virtual int lock_fd_of(const handle &) const { return -1; }
	virtual int wait() = 0;          // for everything submitted
	virtual int ask(bool &idle) = 0; // idle: wait() would not wait
	virtual void end_device() = 0;   // called by close(); the queue is empty
	// Records which driver call failed, with the driver's text for it.
	virtual int fail(const char *name, int code) const = 0;

	template <class... Args, class... Given>
	int call(const driver_call<Args...> &what, Given... args) const
	{
		const int code = what(args...);
		return code == 0 ? 0 : fail(what.name, code);
	}

	// Called by open(), once the device is open.
	int open_queue();

	class visit { // enter() and leave(), scoped
	public:
		explicit visit(const queued_kind &owner) : of_(owner), rc(owner.enter(before_)) {}
		~visit()
		{
			if (rc == 0)
				of_.leave(before_);
		}
		visit(const visit &) = delete;
		visit &operator=(const visit &) = delete;

	private:
		const queued_kind &of_;
		uintptr_t before_ = 0;

	public:
		const int rc;
	};

private:
	enum class maker { us, peer, elsewhere };
	struct known {
		region r;
		maker whom;
	};
	struct out { // a copy that finish() makes out of the ring
		void *dest;
		const char *source;
		size_t bytes;
	};

	int open_checked(const handle &source, region &out);
	int make(region r, maker whom, std::unique_lock<std::mutex> &lock, region &out);
	void end(region &r);
	void end_one(const known &one);
	int begin_locked();
	int begin_flushed();
	void forget_ready();
	void lose_ready(int rc);
	int amo_by_lock(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old);
	int find(const void *ptr, place &out) const;
	bool is_ours(const void *ptr, size_t bytes) const;
	int check_rows(const void *const *rows, size_t count, size_t size, size_t bytes) const;
	int take_piece(const piece &p);
	int take_through_ring(const piece &p, bool into_ring);
	int ring_room(size_t bytes, char *&out);
	int flush();
	int settle_now();
	int settle(int rc, uint64_t outs, uint64_t used);
	bool touches_out(const void *ptr, size_t bytes) const;
	int wait_unlocked(std::unique_lock<std::mutex> &lock);

	mutable std::mutex mutex_;
	bool open_ = false;
	int broken_ = 0; // error of a wait that failed
	char broken_text_[120] = "";
	std::vector<known> regions_;
	std::vector<piece> ready_;    // of the copy() in progress, or short pieces that are held back
	bool ready_ours_ = true;      // true of all of them: see submit()
	std::deque<out> outs_;        // in the order of submission
	uint64_t outs_taken_ = 0;     // number of entries that have left outs_
	uint64_t outs_submitted_ = 0; // number of entries whose copies the driver has
	char *ring_ = nullptr;
	uint64_t ring_used_ = 0; // bytes ever handed out, and how many of them are free again
	uint64_t ring_free_ = 0;
};

} // namespace pgas::devices
