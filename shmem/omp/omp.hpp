// SPDX-License-Identifier: BSD-3-Clause
//
// libshmem-omp: variables of OpenMP's map clauses in symmetric partitions, with the compiler's own runtime.
//
// The compiler turns map clauses into calls of the target runtime (libomptarget), each with a list of items. This
// library defines the same names and is searched first. A variable that is not on the device yet and should be in a
// partition gets a block there, which the runtime is told to use (omp_target_associate_ptr). The runtime then neither
// counts the maps of the variable nor moves its data, so this library counts by the runtime's own rules and requests
// the transfers with the modifier "always" at the first begin and at the last end.
//
//   omp_calls.cpp    the calls of the compiler
//   omp_plan.cpp     the effect of a call on our variables: before it, after it
//   omp_table.cpp    the variables that are in partitions
//   omp_choice.cpp   which variables these are: allocators, scopes
//   omp_alloc.cpp    blocks of omp_alloc(), and what may be freed
//   omp_real.cpp     the functions of the runtime and of OpenSHMEM that are called from here; how wrong use ends
//
// One mutex guards the table and the choice. A variable that is being created or removed is `busy`: a thread that needs
// it waits, before it has changed anything, until that is done. While the runtime itself may be creating a variable for
// another thread, no thread places one there. The thread that removes a variable first waits until the runtime has
// ended the maps of all others: an end that came later would count down what the runtime has created there since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <condition_variable>
#include <mutex>
#include <vector>

#define SHMEM_OMP_EXPORT __attribute__((visibility("default")))

namespace shmem_omp {

// --- the runtime's numbers -------------------------------------------------------------------------------------------

constexpr int64_t kTo = 0x1, kFrom = 0x2, kAlways = 0x4, kDelete = 0x8, kPtrAndObj = 0x10, kPrivate = 0x80,
		  kLiteral = 0x100, kImplicit = 0x200, kClose = 0x400, kPresent = 0x1000, kHold = 0x2000,
		  kAttach = 0x4000;
constexpr int kMemberShift = 48;
constexpr int64_t kDefaultDevice = -1;

constexpr int parent_of(int64_t type) // -1: it has none
{
	return static_cast<int>(static_cast<uint64_t>(type) >> kMemberShift) - 1;
}

// The list of a call. Types are the compiler's constants, never written.
struct items {
	int32_t count;
	void **bases, **begins;
	int64_t *sizes, *types;
	void **names, **mappers; // either may be null
};

// The beginning of the arguments of __tgt_target_kernel, which has been the same since LLVM 15.
struct kernel_arguments {
	uint32_t version, count;
	void **bases, **begins;
	int64_t *sizes, *types;
	void **names, **mappers;
	uint64_t trip_count;
	uint64_t flags; // from version 2 on
};
constexpr uint32_t kVersionWithFlags = 2;
constexpr uint64_t kNoWait = 0x1; // in flags: the call may return before the region has run

// --- omp_real.cpp ----------------------------------------------------------------------------------------------------

struct real_calls {
	void (*data_begin)(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);
	void (*data_end)(void *, int64_t, int32_t, void **, void **, int64_t *, int64_t *, void **, void **);
	int (*associate)(const void *, const void *, size_t, size_t, int);
	int (*disassociate)(const void *, int);
	int (*is_present)(const void *, int);
	int (*default_device)();
	int (*num_devices)();
	int64_t (*num_components)(void *);
	void (*push_component)(void *, void *, void *, int64_t, int64_t, void *);
};
const real_calls &real();
void *find_next(const char *name); // the next function of that name after ours; null: there is none
bool offload_is_on();              // there is a runtime, and OMP_TARGET_OFFLOAD does not disable it
bool shmem_is_running();
const char *partition_kind(int id); // null: there is no such partition
int partition_of(const void *ptr);
int first_partition(); // its number; -1: there is none
[[noreturn, gnu::cold, gnu::format(printf, 1, 2)]] void fail(const char *format, ...);

// --- omp_choice.cpp --------------------------------------------------------------------------------------------------

struct allocator {
	void *(*allocate)(size_t, int) = nullptr;
	void (*release)(void *) = nullptr;
	int id = 0;
};

extern std::mutex g_mutex;
bool is_idle(); // no choice is made, and nothing is in a partition: the usual case

// Which allocator places this variable; null: OpenMP does. g_mutex must be held; the pointer is valid as long as it is.
const allocator *chosen(int device, const void *base, const void *begin, size_t bytes);
const allocator *chosen_for_blocks(int device);
void note_live(int more); // variables and blocks in partitions
// A block, or null when there is no room; ends the job when the device cannot work on it.
void *take_block(const allocator &source, size_t bytes, const char *what);

// --- omp_table.cpp: all with g_mutex held ----------------------------------------------------------------------------

struct variable {
	uintptr_t host = 0;
	size_t bytes = 0;
	void *block = nullptr;
	allocator allocator_used;
	int device = 0;
	uint64_t maps = 0, holds = 0; // the runtime's two counts
	uint64_t ends = 0;            // rows that are counted down here, and that the runtime may still be ending
	bool busy = false;
	void *pointer = nullptr; // a pointer within it that the runtime has set to a device address
};

// Where the bytes are: inside one variable, across the border of one, or in none.
struct finding {
	variable *variable_found = nullptr;
	bool inside = false;
};
finding find(int device, uintptr_t begin, size_t bytes);
variable &add(const variable &v);
void remove(variable &v);
variable *find_with_block(const void *ptr);
extern std::condition_variable &g_not_busy;

// --- omp_plan.cpp ----------------------------------------------------------------------------------------------------

// One line of a list, or of the expansion of one by a mapper.
struct row {
	void *base, *begin;
	int64_t size, type;
	void *name;
	int item;                 // index in the list
	int part;                 // index among the mapper's parts; -1: there is no mapper
	bool is_combined = false; // the next one is a member of it
	bool is_counted = false;
	int64_t add = 0;                     // type bits to add for the runtime
	variable *variable_mapped = nullptr; // if it is one of ours
	bool is_new = false;                 // its data is not on the device yet
};

// Computes, from the list of a call, the arguments for the runtime.
class plan {
public:
	plan(void *location, int device, const items &list);
	void begin();        // counts, places
	void end();          // counts
	void finish_begin(); // whether it is ours or not
	void finish_end();   // removes variables that are no longer mapped
	bool is_ours() const { return ours_; }
	bool has_news() const { return news_; }       // data must be transferred to the device
	bool has_changes() const { return changes_; } // the runtime must receive other types
	bool has_mappers() const { return mappers_; }

	enum class others { as_they_are, never_always, left_out };
	void call_begin(others what);
	void call_end(others what);
	// called by mappers; handle is the runtime's own
	int64_t component_type(void *handle, int64_t type);

private:
	void expand(int item);
	void wait_until_free(std::unique_lock<std::mutex> &lock, bool to_begin);
	bool must_wait_for(const row &r, bool to_begin) const;
	bool may_place(const row &r, size_t pos, const finding &there, uintptr_t &begin, size_t &bytes) const;
	variable *place(const row &r, const allocator &source, uintptr_t begin, size_t bytes);
	void begin_row(size_t pos);
	void attach_row(row &r);
	void end_row(row &r);
	void note_pointer(const row &r) const;
	void forget_pointers(const variable &v) const;
	void make_types(others what);

	void *location_;
	int device_;
	items list_;
	std::vector<row> rows_;
	std::vector<int64_t> types_;
	std::vector<variable *> busy_;
	size_t mapped_row_ = 0; // the first row of the mapper that the runtime called last
	int direction_ = 0;     // in which the runtime traverses the list
	bool ours_ = false, news_ = false, changes_ = false, mappers_ = false;
};

// Adds a component that a mapper passes to one of our handles. False: it is the runtime's handle.
bool collect(void *handle, const row &r);
int64_t count_collected(const void *handle); // how many; -1: it is the runtime's handle
plan *current_plan();                        // of this thread, while the runtime works on it

} // namespace shmem_omp
