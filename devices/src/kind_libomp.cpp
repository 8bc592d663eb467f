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
// In a region own[0] is the block, own[1] the descriptor of the file.
#include "device_fd_server.hpp"
#include "device_error.hpp"
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

class libomp_kind final : public kind {
public:
	const char *name() const override { return "libomp"; }
	int open(int local_rank, char *why, size_t room) override;
	void close() override;
	int allocate(size_t bytes, size_t page_bytes, region &out) override;
	void release(region &r) override { end_known(r); }
	int give(const region &r, handle &out) override;
	int take(const handle &source, region &out) override;
	void drop(region &r) override { end_known(r); }
	int copy(const piece *pieces, size_t count) override;
	int copy_with_others(const piece &p) override
	{
		return where_ == memory::cuda ? cuda_.copy_with_others(p) : copy(&p, 1);
	}
	int finish() override;
	int fill(void *dest, int byte, size_t bytes) override;
	int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) override;
	bool can_fold(fold_op op, fold_type type) const override
	{
		return where_ == memory::cuda && cuda_.can_fold(op, type);
	}
	int submit_fold(const fold &f) override
	{
		return where_ == memory::cuda ? cuda_.submit_fold(f)
					      : failed(-ENOSYS, "fold", "the kind has no kernel for it");
	}
	bool owns(const void *ptr) const override;
	const char *last_error() const override { return t_error; }

private:
	enum class memory { unknown, cpu, cuda };

	int ready() const { return where_ != memory::unknown ? 0 : failed(-ENODEV, name(), "the device is not open"); }
	int get_block(size_t bytes, char *&out);
	int lay_file(char *block, size_t bytes, region &out);
	void end(const region &r, bool opened);
	void end_known(region &r);
	bool has(const void *ptr, size_t bytes) const;

	struct known {
		region r;
		bool opened = false;
	};

	omp_api api_;
	int device_ = 0;
	memory where_ = memory::unknown;
	cuda_kind cuda_; // not the object that programs can get: the context is the runtime's
	mutable std::mutex mutex_;
	std::vector<known> regions_;
};

// --- the device ------------------------------------------------------------------------------------------------------

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
	char *probe = nullptr;
	int rc = get_block(2 * page_bytes(), probe);
	if (rc == 0) {
		rc = cuda_.open_for(probe, why, room);
		if (rc == 0) {
			where_ = memory::cuda;
		} else if (rc == -ENXIO) { // not CUDA memory
			const uintptr_t addr = round_up(reinterpret_cast<uintptr_t>(probe), page_bytes());
			rc = is_plain_memory(addr, page_bytes())
				     ? 0
				     : failed(-ENODEV, "omp_target_alloc",
					      "its memory is neither the CPU's nor that of a CUDA device");
			where_ = rc == 0 ? memory::cpu : memory::unknown;
		}
		api_.target_free(probe, device_);
	}
	if (rc != 0)
		snprintf(why, room, "%s", t_error);
	return rc;
}

void libomp_kind::close()
{
	std::vector<known> left;
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		left.swap(regions_);
	}
	for (const known &one : left)
		end(one.r, one.opened);
	if (where_ == memory::cuda)
		cuda_.close();
	where_ = memory::unknown;
}

// --- memory ----------------------------------------------------------------------------------------------------------

int libomp_kind::get_block(size_t bytes, char *&out)
{
	out = static_cast<char *>(api_.target_alloc(bytes, device_));
	return out ? 0 : failed(-ENOMEM, "omp_target_alloc", "the device has not so much memory");
}

int libomp_kind::lay_file(char *block, size_t bytes, region &out)
{
	const uintptr_t addr = round_up(reinterpret_cast<uintptr_t>(block), page_bytes());
	if (!is_plain_memory(addr, bytes))
		return failed(-EOPNOTSUPP, "omp_target_alloc", "its memory is not plain memory of the CPU");
	const int fd = memfd_create("openmp-device", MFD_CLOEXEC);
	if (fd < 0)
		return failed(-errno, "memfd_create", strerror(errno));
	if (ftruncate(fd, static_cast<off_t>(bytes)) != 0 ||
	    mmap(reinterpret_cast<void *>(addr), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
		    MAP_FAILED) {
		const int err = errno;
		::close(fd);
		return failed(-err, "memfd", strerror(err));
	}
	out.addr = addr;
	out.bytes = bytes;
	out.cpu = reinterpret_cast<void *>(addr);
	return fd;
}

int libomp_kind::allocate(size_t bytes, size_t page, region &out)
{
	int rc = ready();
	if (rc != 0)
		return rc;
	if (bytes > SIZE_MAX / 2)
		return failed(-ENOMEM, "omp_target_alloc", "the device has not so much memory");
	const size_t unit = where_ == memory::cuda ? kDevicePageBytes : page_bytes();
	if (page > unit)
		return failed(-EOPNOTSUPP, "page size", "omp_target_alloc gives no larger pages than the system's");
	bytes = round_up(bytes ? bytes : 1, unit);
	region r;
	char *block = nullptr;
	rc = get_block(where_ == memory::cpu ? bytes + page_bytes() : bytes, block);
	if (rc != 0)
		return rc;
	if (where_ == memory::cuda) {
		rc = cuda_.adopt(block, bytes, r);
	} else {
		rc = lay_file(block, bytes, r);
		r.own[1] = static_cast<uint64_t>(rc);
	}
	if (rc < 0) {
		api_.target_free(block, device_);
		return rc;
	}
	r.own[0] = reinterpret_cast<uintptr_t>(block);
	const std::lock_guard<std::mutex> lock(mutex_);
	regions_.push_back({r, false});
	out = r;
	return 0;
}

// Releases it, whichever way it was made.
void libomp_kind::end(const region &r, bool opened)
{
	region copy = r;
	if (where_ == memory::cuda) {
		cuda_.release(copy);
	} else if (opened) {
		munmap(reinterpret_cast<void *>(r.addr), r.bytes);
	} else {
		// the runtime's allocator must find memory that it may write to, and that no other process can access
		mmap(reinterpret_cast<void *>(r.addr), r.bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		door_withdraw(static_cast<int>(r.own[1]));
		::close(static_cast<int>(r.own[1]));
	}
	if (!opened)
		api_.target_free(reinterpret_cast<void *>(r.own[0]), device_);
}

// For release() and drop(); does nothing for a region that close() has already ended.
void libomp_kind::end_known(region &r)
{
	known found;
	{
		const std::lock_guard<std::mutex> lock(mutex_);
		const auto it = std::find_if(regions_.begin(), regions_.end(),
					     [&](const known &one) { return one.r.addr == r.addr; });
		if (it != regions_.end()) {
			found = *it;
			regions_.erase(it);
		}
	}
	if (found.r.addr)
		end(found.r, found.opened);
	r = {};
}

int libomp_kind::give(const region &r, handle &out)
{
	const int rc = ready();
	if (rc != 0)
		return rc;
	if (where_ == memory::cuda)
		return cuda_.give(r, out);
	out = {};
	out.bytes = r.bytes;
	out.device = 1; // the host itself
	out.pid = getpid();
	out.fd = static_cast<int32_t>(r.own[1]);
	out.door = door_offer(out.fd);
	return 0;
}

int libomp_kind::take(const handle &source, region &out)
{
	int rc = ready();
	if (rc != 0)
		return rc;
	region r;
	if (where_ == memory::cuda) {
		rc = cuda_.take(source, r);
		if (rc != 0)
			return rc;
	} else {
		const int fd = fd_of_peer(source.pid, source.fd, source.door);
		if (fd < 0)
			return fd;
		const off_t end = lseek(fd, 0, SEEK_END);
		const bool whole = end > 0 && source.bytes && static_cast<uint64_t>(end) >= source.bytes;
		void *addr = whole ? mmap(nullptr, source.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
				   : MAP_FAILED;
		const int err = errno;
		::close(fd);
		if (!whole)
			return failed(-EINVAL, "take", "the handle is not that of a region");
		if (addr == MAP_FAILED)
			return failed(-err, "mmap", strerror(err));
		r.addr = reinterpret_cast<uintptr_t>(addr);
		r.bytes = source.bytes;
		r.cpu = addr;
	}
	const std::lock_guard<std::mutex> lock(mutex_);
	regions_.push_back({r, true});
	out = r;
	return 0;
}

// Are these bytes entirely within one region?
bool libomp_kind::has(const void *ptr, size_t bytes) const
{
	const auto addr = reinterpret_cast<uintptr_t>(ptr);
	const std::lock_guard<std::mutex> lock(mutex_);
	for (const known &one : regions_)
		if (addr - one.r.addr < one.r.bytes)
			return bytes <= one.r.bytes - (addr - one.r.addr);
	return false;
}

bool libomp_kind::owns(const void *ptr) const
{
	return where_ == memory::cuda ? cuda_.owns(ptr) : has(ptr, 1);
}

// --- copies and atomics ----------------------------------------------------------------------------------------------

int libomp_kind::copy(const piece *pieces, size_t count)
{
	const int rc = ready();
	if (rc != 0)
		return rc;
	if (where_ == memory::cuda)
		return cuda_.copy(pieces, count);
	for (size_t i = 0; i < count; i++)
		copy_now(pieces[i].dest, pieces[i].source, pieces[i].bytes);
	return 0;
}

int libomp_kind::finish()
{
	const int rc = ready();
	if (rc != 0)
		return rc;
	if (where_ == memory::cuda)
		return cuda_.finish();
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

int libomp_kind::fill(void *dest, int byte, size_t bytes)
{
	const int rc = ready();
	if (rc != 0)
		return rc;
	if (where_ == memory::cuda)
		return cuda_.fill(dest, byte, bytes);
	memset(dest, byte, bytes);
	return 0;
}

int libomp_kind::amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old)
{
	const int rc = ready();
	if (rc != 0)
		return rc;
	if (where_ == memory::cuda)
		return cuda_.amo(op, target, bytes, value, compare, old);
	if ((bytes != 4 && bytes != 8) || reinterpret_cast<uintptr_t>(target) % bytes || !has(target, bytes))
		return failed(-EFAULT, "atomic", "the target is not an aligned word of a region");
	if (bytes == 8)
		*old = amo_on(static_cast<uint64_t *>(target), op, value, compare);
	else
		*old = amo_on(static_cast<uint32_t *>(target), op, static_cast<uint32_t>(value),
			      static_cast<uint32_t>(compare));
	return 0;
}

} // namespace

kind &libomp()
{
	static libomp_kind one;
	return one;
}

} // namespace pgas::devices
