// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory as the libraries above see it: a kind is one driver (CUDA, HIP, Level Zero, OpenMP's runtime, or the
// emulated device of tests), opened at run time, that gives memory, lets processes of a host share it, and copies.
//
// A region is memory of this process, or of another process of this host that was opened here (take). Everything that
// crosses a process is in a handle; handles are exchanged once for each peer and region and stay good until the region
// ends. Copies are submitted together and are complete after finish(): no call of this interface waits but finish(),
// amo() and fill(). Waiting is the CPU's: no kernel that spins, since processes may share a device.
//
// Calls of several threads are allowed. Errors are -errno, and last_error() says which call of the driver failed and
// why.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pgas::devices {

struct region {
	uintptr_t addr = 0; // what programs and copies call it; no other memory of this process has this address
	size_t bytes = 0;
	void *cpu = nullptr;      // where the CPU may load and store the same bytes, coherently; null: nowhere
	uint64_t own[2] = {0, 0}; // the kind's
};

// What a process of the same host needs to open a region. Plain bytes of one length for all kinds.
struct handle {
	uint64_t bytes = 0;  // of the region
	uint64_t device = 0; // a number that all regions of one device have and no others of this host; 0: not known
	int32_t pid = 0;     // its owner
	int32_t fd = -1;     // a descriptor of the owner's, which take() gets by pidfd; -1: the blob is all
	uint64_t door = 0;   // of the owner's socket, where take() asks for its descriptors else; 0: there is none
	unsigned char blob[64] = {};
};

// Either place is memory of this kind, here or opened here, or host memory.
struct piece {
	void *dest;
	const void *source;
	size_t bytes;
};

// Which device open_device() shall open. ze has no numbers: its devices have handles, and memory belongs to a context.
struct device_choice {
	int number = -1;        // as the driver counts them
	uint64_t place = 0;     // number -1: the device of that number() if this process sees it, else the first one
	void *device = nullptr; // ze, both or none: the driver's handles, which the program keeps
	void *context = nullptr;
	uint32_t ordinal = 0; // ze: of the device's memories
};

enum class amo_op : uint32_t { load, store, swap, compare_swap, add, band, bor, bxor };

// Rows of elements become one, on the device: what reductions and scans are made of. Integers wrap, whatever their
// sign; only min and max look at it.
enum class fold_op : uint32_t { sum, prod, min, max, band, bor, bxor };
enum class fold_type : uint32_t { u8, u16, u32, u64, s8, s16, s32, s64, f32, f64 };
enum class fold_form : uint32_t {
	all,       // every out is rows[0] op rows[1] op ..., from left to right
	inclusive, // outs[j] is that of rows 0 to j; as many outs as rows
	exclusive, // of rows 0 to j - 1; outs[0] is zeros; sums only
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
	const void *const *rows; // memory of this kind, here or opened here, aligned for its type
	void *const *outs;       // the same; an out may be the row of its own number
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
	// Whether the driver's library can be loaded and files of a device are there. No device is opened, which takes
	// long.
	virtual bool has_driver() const { return true; }
	// Finds driver and device; local_rank spreads the processes of a host over its devices. -ENODEV: the driver or
	// a device is missing, and `why` says which. Once in a process; close() gives all of it back.
	virtual int open(int local_rank, char *why, size_t room) = 0;
	// The same for a device that the program has chosen. No context of ours stays current in a thread then.
	virtual int open_device(const device_choice &which, char *why, size_t room);
	virtual void close() = 0;
	// handle::device of what is allocated here; 0: not known.
	virtual uint64_t number() const { return 0; }

	// Filled with zeros. page_bytes: 0, or the page size that was asked for.
	virtual int allocate(size_t bytes, size_t page_bytes, region &out) = 0;
	// Memory that the program has of the driver, and frees after release(). It keeps its content. `out` is all of
	// the driver's allocation that it lies in, since that is what a handle opens.
	virtual int join(void *memory, size_t bytes, region &out);
	virtual void release(region &r) = 0;

	virtual int give(const region &r, handle &out) = 0;
	virtual int take(const handle &source, region &out) = 0;
	virtual void drop(region &r) = 0; // of take

	// Pieces of one call may run in any order and at the same time; those of later calls come behind them.
	virtual int copy(const piece *pieces, size_t count) = 0;
	// The same of one piece that depends on none of those before, nor they on it: it may wait for others to come
	// and be submitted with them, at the next call of any other kind at the latest.
	virtual int copy_with_others(const piece &p) { return copy(&p, 1); }
	virtual int finish() = 0; // all copies that this process has submitted are complete, and visible to peers
	// 1: the same, and nothing was waited for; 0: not yet. A kind that cannot tell waits.
	virtual int idle();
	virtual int fill(void *dest, int byte, size_t bytes) = 0;

	// One aligned word of 4 or 8 bytes at `target`, memory of this kind, atomic among all processes that use this
	// call. `old` gets what was there; it is never null.
	virtual int amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *old) = 0;

	// Submitted behind all copies before, and complete after finish(), as they are. Kinds without kernels cannot.
	virtual bool can_fold(fold_op op, fold_type type) const = 0;
	virtual int submit_fold(const fold &f) = 0;

	// Is it memory of this device, whoever allocated it? For places that are in no region.
	virtual bool owns(const void *ptr) const = 0;
	// The driver's own number of the device that has this memory; -1: it does not tell.
	virtual int device_of(const void *) const { return -1; }

	// The last failure of this thread: "cuMemAlloc_v2: out of memory". Never null.
	virtual const char *last_error() const = 0;
};

// The kind of that name ("emulated", "cuda", "hip", "ze", "libomp"); null: there is none. One object each in a process.
kind *find_kind(const char *name);
// Another object of it, for another device; the caller deletes it when it is closed. Null: there is none.
kind *make_kind(const char *name);
const char *kind_names(); // "emulated, cuda, ...", for messages

} // namespace pgas::devices
