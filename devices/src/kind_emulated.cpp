// SPDX-License-Identifier: BSD-3-Clause
//
// The emulated device: programs and tests can rely on it where there is no accelerator. It is as strict as one. The CPU
// faults on the addresses of its memory; only the "driver" here, which has a second mapping, can copy. Copies are
// recorded and run at finish(), the latest moment at which a real device may run them, so that a program that omits
// finish() sees old bytes. All processes of a host share the device; PGAS_EMULATED_DEVICE=apart gives each process a
// device of its own, and =mapped makes it a device whose memory the CPU can reach too.
//
// A region is a memfd; own[0] is its descriptor, own[1] the address of the driver's mapping.
#include "device_error.hpp"
#include "device_file.hpp"
#include "device_kinds.hpp"
#include "device_word.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include <pgas/pgas_machine.hpp>

namespace pgas::devices {
namespace {

constexpr size_t kMostQueued = 4096;

class emulated_kind final : public kind {
public:
	const char *name() const override { return "emulated"; }
	int open(int, char *, size_t) override
	{
		const char *as = getenv("PGAS_EMULATED_DEVICE");
		mapped_ = as && strcmp(as, "mapped") == 0;
		apart_ = as && strcmp(as, "apart") == 0;
		return 0;
	}
	int open_device(const device_choice &which, char *why, size_t room) override
	{
		return open(which.number, why, room);
	}
	void close() override { queue_.clear(); }
	uint64_t number() const override { return apart_ ? static_cast<uint64_t>(getpid()) : 1; }

	int allocate(size_t bytes, size_t, region &out) override;
	void release(region &r) override { unmap(r); }
	int give(const region &r, handle &out) override;
	int take(const handle &source, region &out) override;
	void drop(region &r) override { unmap(r); }
	int copy(const piece *pieces, size_t count) override;
	int finish() override;
	int idle() override;
	int fill(void *dest, int byte, size_t bytes) override;
	int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) override;
	bool owns(const void *ptr) const override;

private:
	int map(int fd, size_t bytes, region &out);
	void unmap(region &r);
	char *reach(const void *ptr, size_t bytes) const;
	int finish_locked();

	mutable std::mutex mutex_;
	std::vector<region> regions_;
	std::vector<piece> queue_;
	bool mapped_ = false, apart_ = false;
	bool asked_ = false; // by idle(), since the last copy was done
};

int emulated_kind::map(int fd, size_t bytes, region &out)
{
	void *driver = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *device = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (driver == MAP_FAILED || device == MAP_FAILED) {
		const int err = errno;
		if (driver != MAP_FAILED)
			munmap(driver, bytes);
		return failed(-err, "mmap", strerror(err));
	}
	out.addr = reinterpret_cast<uintptr_t>(device);
	out.bytes = bytes;
	out.cpu = mapped_ ? driver : nullptr;
	out.own[0] = static_cast<uint64_t>(fd);
	out.own[1] = reinterpret_cast<uintptr_t>(driver);
	const std::lock_guard<std::mutex> lock(mutex_);
	regions_.push_back(out);
	return 0;
}

void emulated_kind::unmap(region &r)
{
	const std::lock_guard<std::mutex> lock(mutex_);
	finish_locked();
	std::erase_if(regions_, [&](const region &one) { return one.addr == r.addr; });
	munmap(reinterpret_cast<void *>(r.addr), r.bytes);
	munmap(reinterpret_cast<void *>(r.own[1]), r.bytes);
	close_file(static_cast<int>(r.own[0]));
	r = {};
}

int emulated_kind::allocate(size_t bytes, size_t, region &out)
{
	bytes = round_up(bytes, page_bytes());
	const int fd = make_file("emulated-device", bytes);
	if (fd < 0)
		return fd;
	const int rc = map(fd, bytes, out);
	if (rc != 0)
		::close(fd);
	return rc;
}

int emulated_kind::give(const region &r, handle &out)
{
	out = {};
	out.bytes = r.bytes;
	out.device = number();
	give_file(static_cast<int>(r.own[0]), out);
	return 0;
}

int emulated_kind::take(const handle &source, region &out)
{
	const int fd = open_file_of_peer(source.pid, source.fd, source.door, source.bytes);
	if (fd < 0)
		return fd;
	const int rc = map(fd, source.bytes, out);
	if (rc != 0)
		::close(fd);
	return rc;
}

// The driver's address of memory of this kind, or any other memory itself; null if it reaches beyond the end of its
// region.
char *emulated_kind::reach(const void *ptr, size_t bytes) const
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	for (const region &r : regions_)
		if (contains(r, addr))
			return contains(r, addr, bytes) ? reinterpret_cast<char *>(r.own[1] + (addr - r.addr))
							: nullptr;
	return static_cast<char *>(const_cast<void *>(ptr));
}

int emulated_kind::copy(const piece *pieces, size_t count)
{
	const std::lock_guard<std::mutex> lock(mutex_);
	for (size_t i = 0; i < count; i++)
		if (!reach(pieces[i].dest, pieces[i].bytes) || !reach(pieces[i].source, pieces[i].bytes))
			return failed(-EFAULT, "copy", "a piece reaches beyond the end of its region");
	queue_.insert(queue_.end(), pieces, pieces + count);
	return queue_.size() > kMostQueued ? finish_locked() : 0;
}

int emulated_kind::finish_locked()
{
	int rc = 0;
	for (const piece &p : queue_) {
		char *dst = reach(p.dest, p.bytes);
		const char *src = reach(p.source, p.bytes);
		if (dst && src)
			copy_now(dst, src, p.bytes);
		else
			rc = failed(-EFAULT, "copy", "its region has ended");
	}
	queue_.clear();
	asked_ = false;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return rc;
}

int emulated_kind::finish()
{
	const std::lock_guard<std::mutex> lock(mutex_);
	return finish_locked();
}

// Copies are done at the second call after they were submitted.
int emulated_kind::idle()
{
	const std::lock_guard<std::mutex> lock(mutex_);
	if (!queue_.empty() && !asked_) {
		asked_ = true;
		return 0;
	}
	const int rc = finish_locked();
	return rc == 0 ? 1 : rc;
}

int emulated_kind::fill(void *dest, int byte, size_t bytes)
{
	const std::lock_guard<std::mutex> lock(mutex_);
	finish_locked();
	char *dst = reach(dest, bytes);
	if (!dst)
		return failed(-EFAULT, "fill", "it reaches beyond the end of its region");
	memset(dst, byte, bytes);
	return 0;
}

int emulated_kind::amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old)
{
	const std::lock_guard<std::mutex> lock(mutex_);
	finish_locked();
	char *pos = reach(target, bytes);
	if (!pos || pos == target || reinterpret_cast<uintptr_t>(pos) % bytes)
		return failed(-EFAULT, "atomic", "the target is not an aligned word of a region");
	*old = amo_word(pos, bytes, op, value, compare);
	return 0;
}

bool emulated_kind::owns(const void *ptr) const
{
	const std::lock_guard<std::mutex> lock(mutex_);
	return reach(ptr, 1) != ptr;
}

} // namespace

kind *new_emulated()
{
	return new emulated_kind;
}

} // namespace pgas::devices
