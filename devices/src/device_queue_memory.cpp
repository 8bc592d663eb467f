// SPDX-License-Identifier: BSD-3-Clause
//
// The memory that a queue may copy to and from: its own, a program's, and that of peers.
#include "device_queue.hpp"

#include "device_fd_server.hpp"
#include "device_locks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <pgas/pgas_machine.hpp>

namespace pgas::devices {

// Zeroes new memory and adds it to the regions. Frees the memory if that fails.
int queued_kind::make(region r, maker whom, std::unique_lock<std::mutex> &lock, region &out)
{
	int rc = has_locks() ? make_locks(r) : 0;
	if (rc == 0)
		rc = submit_fill(reinterpret_cast<void *>(r.addr), 0, r.bytes);
	if (rc == 0)
		rc = wait_unlocked(lock);
	if (rc != 0) {
		end_one({r, whom});
		return rc;
	}
	regions_.push_back({r, whom});
	out = r;
	return 0;
}

int queued_kind::allocate(size_t bytes, size_t page_bytes, region &out)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	std::unique_lock<std::mutex> lock(mutex_);
	region r;
	int rc = begin_flushed();
	if (rc == 0 && page_bytes > kDevicePageBytes)
		rc = failed(-EOPNOTSUPP, "page size", "pages of the device have 2 MiB");
	if (rc == 0 && bytes > SIZE_MAX / 2)
		rc = failed(-ENOMEM, name(), "no device has so much memory");
	r.bytes = rc == 0 ? round_up(bytes ? bytes : 1, kDevicePageBytes) : 0;
	if (rc == 0)
		rc = get_memory(r.bytes, r.addr);
	return rc != 0 ? rc : make(r, maker::us, lock, out);
}

int queued_kind::adopt(void *memory, size_t bytes, region &out)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	std::unique_lock<std::mutex> lock(mutex_);
	region r;
	r.addr = reinterpret_cast<uintptr_t>(memory);
	r.bytes = bytes;
	const int rc = begin_flushed();
	return rc != 0 ? rc : make(r, maker::elsewhere, lock, out);
}

int queued_kind::join(void *memory, size_t bytes, region &out)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	const auto addr = reinterpret_cast<uintptr_t>(memory);
	region r;
	size_t whole = 0;
	place where = place::pageable;
	int rc = begin_locked();
	if (rc == 0)
		rc = find(memory, where);
	if (rc != 0)
		return rc;
	if (where != place::device)
		return failed(-EINVAL, "join", "it is not memory of the device");
	for (const known &one : regions_)
		if (one.whom != maker::elsewhere && contains(one.r, addr))
			return failed(-EINVAL, "join", "it is memory of this library");
	if (range_of(addr, r.addr, whole) != 0) {
		r.addr = addr;
		whole = bytes;
	}
	if (!bytes || bytes > whole - (addr - r.addr))
		return failed(-EINVAL, "join", "it reaches beyond the end of what the driver has allocated");
	r.bytes = whole;
	rc = has_locks() ? make_locks(r) : 0;
	if (rc != 0)
		return rc;
	regions_.push_back({r, maker::elsewhere});
	out = r;
	return 0;
}

uint64_t queued_kind::number() const
{
	const visit entered(*this);
	return entered.rc == 0 ? number_of_device() : 0;
}

int queued_kind::give(const region &r, handle &out)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	out = {};
	out.bytes = r.bytes;
	out.pid = getpid();
	const int rc = give_memory(r, out);
	if (rc != 0)
		return rc;
	out.device = number_of_device();
	if (out.fd >= 0)
		out.door = door_offer(out.fd);
	if (has_locks())
		out.door = door_offer(lock_fd(r));
	return 0;
}

// A handle comes from another process; where the driver reports the size of the memory, it must be large enough.
int queued_kind::open_checked(const handle &source, region &out)
{
	if (source.pid == getpid())
		return failed(-EINVAL, "take", "the handle is of a region of this process, which is used as it is");
	uintptr_t addr = 0, start = 0;
	size_t bytes = 0;
	const int rc = open_memory(source, addr);
	if (rc != 0)
		return rc;
	out.addr = addr;
	out.bytes = source.bytes;
	if (source.bytes &&
	    (range_of(addr, start, bytes) != 0 || (addr >= start && bytes - (addr - start) >= source.bytes)))
		return 0;
	close_memory(out);
	out = {};
	return failed(-EINVAL, "take", "the handle is not that of a region");
}

int queued_kind::take(const handle &h, region &out)
{
	const visit entered(*this);
	if (entered.rc != 0)
		return entered.rc;
	const std::lock_guard<std::mutex> lock(mutex_);
	region r;
	int rc = begin_flushed();
	if (rc == 0)
		rc = open_checked(h, r);
	if (rc != 0)
		return rc;
	rc = has_locks() ? open_locks(h.pid, lock_fd_of(h), h.door, r) : 0;
	if (rc != 0) {
		close_memory(r);
		return rc;
	}
	regions_.push_back({r, maker::peer});
	out = r;
	return 0;
}

void queued_kind::end_one(const known &one)
{
	if (has_locks())
		end_locks(one.r, one.whom == maker::peer);
	if (one.whom == maker::peer)
		return close_memory(one.r);
	withdraw(one.r);
	if (one.whom == maker::us)
		free_memory(one.r);
}

void queued_kind::end(region &r)
{
	const visit entered(*this);
	const std::lock_guard<std::mutex> lock(mutex_);
	const auto it =
		std::find_if(regions_.begin(), regions_.end(), [&](const known &k) { return k.r.addr == r.addr; });
	if (entered.rc == 0 && it != regions_.end()) {
		begin_flushed();
		settle_now();
		end_one(*it);
		regions_.erase(it);
	}
	r = {};
}

int queued_kind::find(const void *ptr, place &out) const
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	for (const known &one : regions_)
		if (contains(one.r, addr)) {
			out = place::device;
			return 0;
		}
	return place_of(ptr, out);
}

bool queued_kind::is_ours(const void *ptr, size_t bytes) const
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	return std::any_of(regions_.begin(), regions_.end(),
			   [&](const known &one) { return contains(one.r, addr, bytes); });
}

bool queued_kind::owns(const void *ptr) const
{
	const visit entered(*this);
	if (entered.rc != 0)
		return false;
	const std::lock_guard<std::mutex> lock(mutex_);
	place where = place::pageable;
	return open_ && find(ptr, where) == 0 && where == place::device;
}

} // namespace pgas::devices
