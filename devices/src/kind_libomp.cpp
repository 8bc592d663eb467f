// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of the default device of OpenMP's target runtime, so that the program's target regions can use it directly.
// The runtime is the program's: its functions are looked up in the loaded libraries; nothing is linked.
//
// What omp_target_alloc() returns decides the rest, once, in open():
//   memory of a CUDA device   the CUDA driver shares and copies it, on the runtime's own context
//   memory of the CPU         (the runtime has no accelerator, or emulates one on the CPU, like clang's host plugins)
//                             whole pages inside the block are replaced by those of a file in memory, which other
//                             processes can map. Before the block is freed, it gets pages of its own again.
#include "device_error.hpp"
#include "device_file.hpp"
#include "device_kinds.hpp"
#include "device_word.hpp"
#include "kind_cuda.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <mutex>
#include <vector>

#include <pgas/pgas_machine.hpp>

namespace pgas::devices {
namespace {

struct omp_api {
	void *(*target_alloc)(size_t, int) = nullptr;
	void (*target_free)(void *, int) = nullptr;
	int (*get_default_device)() = nullptr;
};

template <class Function>
bool look_up(const char *name, Function *&dst)
{
	dst = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
	return dst != nullptr;
}

// Is it plain memory of this process: private, readable, writable, and not mapped from a file or device?
bool is_plain_memory(uintptr_t addr, size_t bytes)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps)
		return false;
	uintptr_t seen = addr; // everything below is plain
	char line[512];
	while (seen < addr + bytes && fgets(line, sizeof line, maps)) {
		uintptr_t first = 0, end = 0;
		char how[8] = "";
		unsigned long inode = 1;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s %*s %*s %lu", &first, &end, how, &inode) != 4)
			continue; // the rest of a long name
		if (end <= seen)
			continue;
		if (first > seen || strcmp(how, "rw-p") != 0 || inode != 0)
			break;
		seen = end;
	}
	fclose(maps);
	return seen >= addr + bytes;
}

// The memory of the CPU: pages of a file in blocks that somebody else has allocated. own[0] is the descriptor.
class cpu_memory final : public kind {
public:
	const char *name() const override { return "libomp"; }
	int open(int, char *, size_t) override { return 0; }
	void close() override;
	int allocate(size_t, size_t, region &) override { return failed(-EOPNOTSUPP, name(), "it needs a block"); }
	// Puts pages into the block, up to the whole pages that it has, until release().
	int adopt(void *block, size_t bytes, region &out);
	void release(region &r) override { end(r); }
	int give(const region &r, handle &out) override;
	int take(const handle &source, region &out) override;
	void drop(region &r) override { end(r); }
	int copy(const piece *pieces, size_t count) override;
	int finish() override;
	int fill(void *dest, int byte, size_t bytes) override;
	int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) override;
	bool owns(const void *ptr) const override { return has(ptr, 1); }

private:
	struct known {
		region r;
		bool opened = false;
	};
	static void end_one(const known &one);
	void end(region &r);
	bool has(const void *ptr, size_t bytes) const;

	mutable std::mutex mutex_;
	std::vector<known> regions_;
};

int cpu_memory::adopt(void *block, size_t bytes, region &out)
{
	const uintptr_t addr = round_up(reinterpret_cast<uintptr_t>(block), page_bytes());
	if (!is_plain_memory(addr, bytes))
		return failed(-EOPNOTSUPP, "omp_target_alloc", "its memory is not plain memory of the CPU");
	const int fd = make_file("openmp-device", bytes);
	if (fd < 0)
		return fd;
	auto *const place = reinterpret_cast<void *>(addr);
	if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
		const int err = errno;
		::close(fd);
		return failed(-err, "mmap", strerror(err));
	}
	out.addr = addr;
	out.bytes = bytes;
	out.cpu = place;
	out.own[0] = static_cast<uint64_t>(fd);
	const std::lock_guard<std::mutex> lock(mutex_);
	regions_.push_back({out, false});
	return 0;
}

// The runtime's allocator must find memory that it may write to, and that no other process can access.
void cpu_memory::end_one(const known &one)
{
	auto *const place = reinterpret_cast<void *>(one.r.addr);
	if (one.opened) {
		munmap(place, one.r.bytes);
		return;
	}
	mmap(place, one.r.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
	     0);
	close_file(static_cast<int>(one.r.own[0]));
}

// Does nothing for a region that close() has already ended.
void cpu_memory::end(region &r)
{
	const std::lock_guard<std::mutex> lock(mutex_);
	const auto it =
		std::find_if(regions_.begin(), regions_.end(), [&](const known &one) { return one.r.addr == r.addr; });
	if (it != regions_.end()) {
		end_one(*it);
		regions_.erase(it);
	}
	r = {};
}

void cpu_memory::close()
{
	const std::lock_guard<std::mutex> lock(mutex_);
	for (const known &one : regions_)
		end_one(one);
	regions_.clear();
}

int cpu_memory::give(const region &r, handle &out)
{
	out = {};
	out.bytes = r.bytes;
	out.device = 1; // the host itself
	give_file(static_cast<int>(r.own[0]), out);
	return 0;
}

int cpu_memory::take(const handle &source, region &out)
{
	const int fd = open_file_of_peer(source.pid, source.fd, source.door, source.bytes);
	if (fd < 0)
		return fd;
	void *addr = mmap(nullptr, source.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const int err = errno;
	::close(fd);
	if (addr == MAP_FAILED)
		return failed(-err, "mmap", strerror(err));
	out.addr = reinterpret_cast<uintptr_t>(addr);
	out.bytes = source.bytes;
	out.cpu = addr;
	const std::lock_guard<std::mutex> lock(mutex_);
	regions_.push_back({out, true});
	return 0;
}

// Are these bytes entirely within one region?
bool cpu_memory::has(const void *ptr, size_t bytes) const
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	const std::lock_guard<std::mutex> lock(mutex_);
	return std::any_of(regions_.begin(), regions_.end(),
			   [&](const known &one) { return contains(one.r, addr, bytes); });
}

int cpu_memory::copy(const piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++)
		copy_now(pieces[i].dest, pieces[i].source, pieces[i].bytes);
	return 0;
}

int cpu_memory::finish()
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

int cpu_memory::fill(void *dest, int byte, size_t bytes)
{
	memset(dest, byte, bytes);
	return 0;
}

int cpu_memory::amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old)
{
	if ((bytes != 4 && bytes != 8) || reinterpret_cast<uintptr_t>(target) % bytes || !has(target, bytes))
		return failed(-EFAULT, "atomic", "the target is not an aligned word of a region");
	*old = amo_word(target, bytes, op, value, compare);
	return 0;
}

// What stands below an object that is not open.
class closed_device final : public kind {
public:
	const char *name() const override { return "libomp"; }
	int open(int, char *, size_t) override { return refuse(); }
	void close() override {}
	int allocate(size_t, size_t, region &) override { return refuse(); }
	void release(region &r) override { r = {}; }
	int give(const region &, handle &) override { return refuse(); }
	int take(const handle &, region &) override { return refuse(); }
	void drop(region &r) override { r = {}; }
	int copy(const piece *, size_t) override { return refuse(); }
	int finish() override { return refuse(); }
	int fill(void *, int, size_t) override { return refuse(); }
	int amo(amo_op, void *, size_t, uint64_t, uint64_t, uint64_t *) override { return refuse(); }
	bool owns(const void *) const override { return false; }

private:
	int refuse() const { return failed(-ENODEV, name(), "the device is not open"); }
};

class libomp_kind final : public kind {
public:
	const char *name() const override { return "libomp"; }
	int open(int local_rank, char *why, size_t room) override;
	void close() override;
	int allocate(size_t bytes, size_t page_bytes, region &out) override;
	void release(region &r) override;
	int give(const region &r, handle &out) override { return below_->give(r, out); }
	int take(const handle &source, region &out) override { return below_->take(source, out); }
	void drop(region &r) override { below_->drop(r); }
	int copy(const piece *pieces, size_t count) override { return below_->copy(pieces, count); }
	int copy_with_others(const piece &p) override { return below_->copy_with_others(p); }
	int finish() override { return below_->finish(); }
	int fill(void *dest, int byte, size_t bytes) override { return below_->fill(dest, byte, bytes); }
	int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) override
	{
		return below_->amo(op, target, bytes, value, compare, old);
	}
	bool can_fold(fold_op op, fold_type type) const override { return below_->can_fold(op, type); }
	int submit_fold(const fold &f) override { return below_->submit_fold(f); }
	bool owns(const void *ptr) const override { return below_->owns(ptr); }

private:
	int open_below(char *probe, char *why, size_t room);
	int get_block(size_t bytes, void *&out);
	void free_block(void *block) { api_.target_free(block, device_); }

	struct block { // of the runtime
		region r;
		void *addr;
	};

	omp_api api_;
	int device_ = 0;
	cuda_kind cuda_; // not the object that programs can get: the context is the runtime's
	cpu_memory cpu_;
	closed_device closed_;
	kind *below_ = &closed_; // which of them has the memory
	std::mutex mutex_;
	std::vector<block> blocks_;
};

int libomp_kind::open(int, char *why, size_t room)
{
	if (!look_up("omp_target_alloc", api_.target_alloc) || !look_up("omp_target_free", api_.target_free) ||
	    !look_up("omp_get_default_device", api_.get_default_device)) {
		snprintf(why, room,
			 "the program has no OpenMP target runtime (omp_target_alloc is missing): compile "
			 "and link it with -fopenmp and, by clang, -fopenmp-targets=TARGET");
		return failed(-ENODEV, name(), "the program has no OpenMP target runtime");
	}
	device_ = api_.get_default_device();
	void *probe = nullptr;
	int rc = get_block(2 * page_bytes(), probe);
	if (rc == 0) {
		rc = open_below(static_cast<char *>(probe), why, room);
		free_block(probe);
	}
	if (rc != 0)
		snprintf(why, room, "%s", t_error);
	return rc;
}

int libomp_kind::open_below(char *probe, char *why, size_t room)
{
	const int rc = cuda_.open_for(probe, why, room);
	if (rc == 0)
		below_ = &cuda_;
	if (rc != -ENXIO)
		return rc;
	const uintptr_t addr = round_up(reinterpret_cast<uintptr_t>(probe), page_bytes()); // it is not CUDA memory
	if (!is_plain_memory(addr, page_bytes()))
		return failed(-ENODEV, "omp_target_alloc", "its memory is neither the CPU's nor that of a CUDA device");
	below_ = &cpu_;
	return 0;
}

void libomp_kind::close()
{
	std::vector<block> left;
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		left.swap(blocks_);
	}
	for (block &one : left) {
		below_->release(one.r);
		free_block(one.addr);
	}
	below_->close();
	below_ = &closed_;
}

int libomp_kind::get_block(size_t bytes, void *&out)
{
	out = api_.target_alloc(bytes, device_);
	return out ? 0 : failed(-ENOMEM, "omp_target_alloc", "the device has not so much memory");
}

int libomp_kind::allocate(size_t bytes, size_t page, region &out)
{
	if (below_ == &closed_)
		return below_->allocate(bytes, page, out);
	if (bytes > SIZE_MAX / 2)
		return failed(-ENOMEM, "omp_target_alloc", "the device has not so much memory");
	const bool by_cuda = below_ == &cuda_;
	const size_t unit = by_cuda ? kDevicePageBytes : page_bytes();
	if (page > unit)
		return failed(-EOPNOTSUPP, "page size", "omp_target_alloc gives no larger pages than the system's");
	bytes = round_up(bytes ? bytes : 1, unit);
	void *got = nullptr;
	int rc = get_block(by_cuda ? bytes : bytes + page_bytes(), got);
	if (rc != 0)
		return rc;
	region r;
	rc = by_cuda ? cuda_.adopt(got, bytes, r) : cpu_.adopt(got, bytes, r);
	if (rc != 0) {
		free_block(got);
		return rc;
	}
	const std::lock_guard<std::mutex> lock(mutex_);
	blocks_.push_back({r, got});
	out = r;
	return 0;
}

// Does nothing for a region that close() has already ended.
void libomp_kind::release(region &r)
{
	block found = {};
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		const auto it = std::find_if(blocks_.begin(), blocks_.end(),
					     [&](const block &one) { return one.r.addr == r.addr; });
		if (it != blocks_.end()) {
			found = *it;
			blocks_.erase(it);
		}
	}
	if (found.addr) {
		below_->release(found.r);
		free_block(found.addr);
	}
	r = {};
}

} // namespace

kind *new_libomp()
{
	return new libomp_kind;
}

} // namespace pgas::devices
