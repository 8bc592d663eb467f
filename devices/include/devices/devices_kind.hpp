// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory as the libraries above see it: a kind is one driver (CUDA, HIP, Level Zero, OpenMP's runtime, or the
// emulated device of tests), opened at run time, that allocates memory, shares it between the processes of a host, and
// copies.
//
// A region is memory of this process, or memory of another process of this host that was opened here (take). Everything
// that crosses processes is in a handle; handles are exchanged once for each peer and region and stay valid until the
// region ends. Copies are submitted together and are complete after finish(): only finish(), amo() and fill() wait.
// Waiting is done by the CPU, never by a spinning kernel, since processes may share a device.
//
// Several threads may call concurrently. Errors are -errno; last_error() says which driver call failed and why.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pgas::devices {

struct region {
	uintptr_t addr = 0; // address for programs and copies; no other memory of this process has it
	size_t bytes = 0;
	void *cpu = nullptr;      // where the CPU may load and store the same bytes, coherently; null if nowhere
	uint64_t own[2] = {0, 0}; // private to the kind
};

constexpr bool contains(const region &r, uintptr_t addr)
{
	return addr - r.addr < r.bytes;
}
// All of these bytes, of which there is at least one.
constexpr bool contains(const region &r, uintptr_t addr, size_t bytes)
{
	return contains(r, addr) && bytes <= r.bytes - (addr - r.addr);
}

// What a process of the same host needs to open a region. Plain bytes, of one length for all kinds.
struct handle {
	uint64_t bytes = 0;  // of the region
	uint64_t device = 0; // the same for all regions of a device, unique to it on this host; 0: not known
	int32_t pid = 0;     // the owner
	int32_t fd = -1;     // a descriptor of the owner, which take() gets by pidfd; -1: the blob suffices
	uint64_t door = 0;   // of the owner's socket, where take() asks for its descriptors otherwise; 0: there is none
	unsigned char blob[64] = {};
};

// Each place is memory of this kind, allocated or opened here, or host memory.
struct piece {
	void *dest;
	const void *source;
	size_t bytes;
};

// The device for open_device(). ze does not number devices: they have handles, and memory belongs to a context.
struct device_choice {
	int number = -1;        // the driver's ordinal
	uint64_t place = 0;     // number -1: the device with that number() if this process sees it, else the first
	void *device = nullptr; // ze, both or neither: the driver's handles, which the program keeps
	void *context = nullptr;
	uint32_t ordinal = 0; // ze: of the device's memories
};

enum class amo_op : uint32_t { load, store, swap, compare_swap, add, band, bor, bxor };

// Combines rows of elements into one on the device: the basis of reductions and scans. Integers wrap, whatever their
// sign; only min and max depend on it.
enum class fold_op : uint32_t { sum, prod, min, max, band, bor, bxor };
enum class fold_type : uint32_t { u8, u16, u32, u64, s8, s16, s32, s64, f32, f64 };
enum class fold_form : uint32_t {
	all,       // every out is rows[0] op rows[1] op ..., from left to right
	inclusive, // outs[j] is rows[0] op ... op rows[j]; as many outs as rows
	exclusive, // outs[j] is rows 0 to j - 1; outs[0] is zeros; sums only
};
constexpr size_t kMostRows = 64;
constexpr size_t size_of(fold_type type)
{
	constexpr size_t kSizes[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
	return kSizes[static_cast<size_t>(type)];
}
constexpr bool is_float(fold_type type)
{
	return type == fold_type::f32 || type == fold_type::f64;
}

struct fold {
	fold_form form;
	fold_op op;
	fold_type type;
	const void *const *rows; // memory of this kind, allocated or opened here, aligned for its type
	void *const *outs;       // the same; outs[j] may be rows[j]
	size_t row_count, out_count;
	size_t elements;
};

class kind {
public:
	kind() = default;
	virtual ~kind() = default;
	kind(const kind &) = delete;
	kind &operator=(const kind &) = delete;

	virtual const char *name() const = 0;
	// Whether the driver's library can be loaded and a device's files exist. Opens no device, because that takes
	// long.
	virtual bool has_driver() const { return true; }
	// Finds driver and device; local_rank spreads the processes of a host over its devices. -ENODEV: the driver or
	// a device is missing, and `why` says which. Called once in a process; close() releases everything.
	virtual int open(int local_rank, char *why, size_t room) = 0;
	// The same for a device that the program has chosen. In this case none of our contexts stays current in a
	// thread.
	virtual int open_device(const device_choice &which, char *why, size_t room);
	virtual void close() = 0;
	// handle::device of memory allocated here; 0: not known.
	virtual uint64_t number() const { return 0; }

	// Zero-filled. page_bytes: 0, or the page size that the user asked for.
	virtual int allocate(size_t bytes, size_t page_bytes, region &out) = 0;
	// Registers memory that the program has allocated from the driver, and frees after release(). It keeps its
	// content. `out` is the whole driver allocation that contains it, since that is what a handle opens.
	virtual int join(void *memory, size_t bytes, region &out);
	virtual void release(region &r) = 0;

	virtual int give(const region &r, handle &out) = 0;
	virtual int take(const handle &source, region &out) = 0;
	virtual void drop(region &r) = 0; // closes what take() opened

	// Pieces of one call may run in any order and concurrently; pieces of later calls run after them.
	virtual int copy(const piece *pieces, size_t count) = 0;
	// The same for one piece that is independent of all pieces before it: it may be held back and submitted
	// together with others, at the latest at the next call of another kind.
	virtual int copy_with_others(const piece &p) { return copy(&p, 1); }
	virtual int finish() = 0; // all copies that this process has submitted are complete, and visible to peers
	// 1: everything is complete, as after finish(), but without waiting; 0: not yet. A kind that cannot tell waits.
	virtual int idle();
	virtual int fill(void *dest, int byte, size_t bytes) = 0;

	// One aligned word of 4 or 8 bytes at `target`, memory of this kind; atomic among all processes that use this
	// call. `old`, which is never null, receives the previous value.
	virtual int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) = 0;

	// Runs after all copies submitted before; like them, complete after finish(). Kinds without kernels cannot
	// fold.
	virtual bool can_fold(fold_op, fold_type) const { return false; }
	virtual int submit_fold(const fold &f);

	// Is this memory of this device, whichever library allocated it? For addresses that are in no region.
	virtual bool owns(const void *ptr) const = 0;
	// The driver's ordinal of the device that has this memory; -1: unknown.
	virtual int device_of(const void *) const { return -1; }

	// The last failure of this thread: "cuMemAlloc_v2: out of memory". Never null.
	const char *last_error() const;
};

// The kind of that name (src/device_kinds.def), or null. There is one object of each in a process.
kind *find_kind(const char *name);
// Another object of that kind, for another device; the caller deletes it after closing it. Null if there is no such
// kind.
kind *make_kind(const char *name);
const char *kind_names(); // "emulated, cuda, ...", for messages

} // namespace pgas::devices
