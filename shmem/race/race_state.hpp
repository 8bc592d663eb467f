// SPDX-License-Identifier: BSD-3-Clause
//
// The memory layout of the race check.
//
// Every access belongs to a lane of its PE and has a number within it. Lane 0 is for accesses that are complete when
// their call returns; the others are for operations that a context has in flight, lane 1 for the default context. A PE
// knows, for each lane of each PE, up to which number accesses are complete (base), and which later ones are complete
// only with respect to the memory of one PE, as a result of fence, signals and shmem_pe_quiet (intervals). An access is
// ordered after another if the PE knew, when it made its own, that the other was complete.
//
// Before a PE does anything that others may synchronise with (a put or atomic, a lock or a collective), it writes what
// it knows into its room, as a snapshot with a version, and leaves the version where the other side finds it: in the
// shadow of the word, in the table of words, or in the slot of a collective. All numbers only grow: a PE that is late
// and reads a newer snapshot knows too much, and may miss a race, but accuses nobody.
//
// The room of a PE (offsets by layout) is written only by its owner, except for the parts that the lock guards, which
// are the shadow of its memory and the table of its words; all PEs write these, by loads and stores or, if far, by gets
// and puts.
#pragma once

#include "race.hpp"

#include <pthread.h>

#include <cstring>

namespace pgas_tools::race {

// --- sizes -----------------------------------------------------------------------------------------------------------

constexpr uint32_t kLanes = 8; // further contexts share the last lanes: quiet on one then counts for the others as well
constexpr uint32_t kAnyLane = 15;
constexpr size_t kPageBytes = 4096, kWordBytes = 8, kWordsPerPage = kPageBytes / kWordBytes;
constexpr uint32_t kCells = 4; // accesses that are recorded per word, or per page
constexpr uint32_t kPages = 1u << 17;
constexpr uint32_t kPageTries = 32, kWordTries = 16;
constexpr uint32_t kSites = 1u << 14, kModules = 32, kModuleBytes = 256;
constexpr uint32_t kRaces = 512;
constexpr uint32_t kSlots = 256, kSlotRing = 4;
constexpr uint32_t kIntervals = 128, kSignals = 64, kLocals = 256;
constexpr size_t kSnapshotBytes = size_t{32} << 20, kWordTableBytes = size_t{16} << 20;

// --- data that PEs share ---------------------------------------------------------------------------------------------

enum class kind : uint32_t { none, read, write, atomic_read, atomic_write };
constexpr bool is_write(kind k)
{
	return k == kind::write || k == kind::atomic_write;
}
constexpr bool is_atomic(kind k)
{
	return k == kind::atomic_read || k == kind::atomic_write;
}
constexpr bool may_clash(kind a, kind b)
{
	return (is_write(a) || is_write(b)) && !(is_atomic(a) && is_atomic(b));
}

struct cell {                                                // an access
	uint32_t pe : 16, lane : 3, what : 3, mask : 8, : 2; // mask: bytes of the word
	uint32_t number;
	uint32_t version; // of the snapshot, when it is a write
	uint32_t site;
};
static_assert(sizeof(cell) == 16);

struct page {
	uint64_t key;   // number of the page + 1; 0: unused
	uint32_t block; // cells of its words, + 1; 0: none
	uint32_t unused;
	cell whole[kCells]; // accesses to the whole page
};
static_assert(sizeof(page) == 80);

struct interval {      // (low, high] of a lane, to the memory of one PE
	uint32_t lane; // pe * kLanes + lane
	uint32_t target;
	uint32_t low, high;
};
struct signalled { // a put of ours that has arrived when its signal has
	uint64_t word;
	uint32_t target, lane, number, unused;
};

struct snapshot {
	uint32_t begun, done; // its version; equal if it is complete
	uint32_t intervals_used, signals_used;
	uint32_t fenced[kLanes];
	interval intervals[kIntervals];
	signalled signals[kSignals];
	// followed by base[n_pes * kLanes]
};
static_assert(sizeof(snapshot) % 8 == 0);

// The table entry of a word of atomics, or of a lock, is n_pes + 1 numbers: its key + 1, and the last release by each
// PE as version * 16 + lane, or kAnyLane.

struct slot {
	uint64_t key;
	uint32_t generation, version;
	uint64_t part;
};

struct site {
	uint64_t offset; // within the file; 0: unknown
	uint32_t module, call;
};

struct race_entry { // found by the PE whose room has it
	uint32_t my_site, other_site;
	uint32_t other_pe, target;
	kind mine, other;
	uint32_t bytes, unused;
	uint64_t offset, count; // offset: in the target's symmetric memory; kPrivate: outside it
	char what[64];          // the variable or block, as the finder knows it
	char declared[256];     // where the variable is declared, or ""
};
constexpr uint64_t kPrivate = UINT64_MAX;
constexpr uint64_t kLockKey = uint64_t{1} << 62;

struct room_head {
	uint64_t lock; // of the shadow and the table: its holder + 1
	uint64_t magic;
	uint32_t version; // the last snapshot
	uint32_t blocks_used, blocks_next, modules_used, sites_used, races_used, pid, found;
	// guarded by the lock: entries that were replaced although they were not ordered
	uint64_t pages_forgotten, cells_forgotten, words_forgotten;
	uint64_t checked;        // accesses, by the owner
	uint64_t races_left_out; // pairs for which there was no space
	slot slots[kSlots][kSlotRing];
};
constexpr uint64_t kRaceMagic = 0x31306563617273ull;

// Offsets in the room; the same on all PEs.
struct layout {
	size_t head, forgotten, modules, sites, races, snapshots, words, pages, owners, free_blocks, blocks, end;
	size_t snapshot_bytes, word_bytes;
	uint32_t snapshots_count, words_count, blocks_count;
};
constexpr size_t kBlockBytes = kWordsPerPage * kCells * sizeof(cell);

// --- this PE ---------------------------------------------------------------------------------------------------------

struct local_buffer { // of an operation in flight
	uintptr_t begin, end;
	bool written;
	uint32_t lane, site;
};
struct pending_fetch {
	uint64_t word;
	int pe;
	uint32_t lane;
};

struct checker {
	int me = 0, n_pes = 0;
	bool threads = false;
	char *mine = nullptr;     // our own room
	std::vector<char *> near; // each PE's room as mapped here; or null
	layout place{};
	shmem_ctx_t ctx = SHMEM_CTX_DEFAULT; // for the checker's own operations
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	// what this PE knows
	std::vector<uint32_t> base;
	std::vector<interval> intervals;
	std::vector<signalled> signals;
	std::vector<uint32_t> seen; // the version that was last learned from each PE
	uint32_t issued[kLanes]{}, fenced[kLanes]{};
	uint32_t version = 0;
	uint32_t published = 0; // number in lane 0 in the last snapshot
	bool changed = true;    // since the last snapshot
	std::vector<local_buffer> locals;
	uintptr_t locals_begin = 0, locals_end = 0; // all of them are in there; read without the mutex
	std::vector<pending_fetch> fetches;
	uint64_t checked = 0;
};
extern checker c __attribute__((visibility("hidden")));

inline room_head *head_of_mine()
{
	return reinterpret_cast<room_head *>(c.mine + c.place.head);
}

class holder { // serialises the threads of a PE
public:
	holder() { pthread_mutex_lock(&c.mutex); }
	~holder() { pthread_mutex_unlock(&c.mutex); }
	holder(const holder &) = delete;
	holder &operator=(const holder &) = delete;
};

// race_clock.cpp
bool is_known(const cell &access, int target);
uint32_t publish();                   // returns the version that contains everything this PE knows
void complete(uint32_t lane);         // the whole lane is complete
void learn(int pe, uint32_t version); // what that PE knew at that version
// the same from a word in target's memory, which was written on that lane after what was fenced
void learn_by_word(int pe, uint64_t stamp, int target, uint64_t word);
void learn_latest(int pe);
void add_interval(const interval &what);
void add_own_interval(uint32_t lane, uint32_t target); // this PE's accesses to target's memory are complete
void read_room(int pe, size_t offset, void *dst, size_t bytes);

// race_shadow.cpp
struct access {
	kind what;
	uint32_t lane, number, version, site;
};
struct clash { // an earlier access that races with this one
	cell other;
	uint64_t low, high;
};
class shadow { // the shadow of one PE's memory, locked during its lifetime
public:
	explicit shadow(int pe);
	~shadow();
	shadow(const shadow &) = delete;
	shadow &operator=(const shadow &) = delete;
	// checks whether the access is ordered after earlier ones, and leaves a cell; stay false: leaves none
	void enter(const access &mine, uint64_t offset, size_t bytes, std::vector<clash> &found, bool stay = true);
	void forget(uint64_t offset, size_t bytes); // the memory was freed
	// stamps of plain writes to a word, by PE
	void writers(uint64_t offset, size_t bytes, std::vector<std::pair<int, uint64_t>> &found);
	// race_sync.cpp
	void release(uint64_t key, uint64_t stamp);
	void releases(uint64_t key, std::vector<std::pair<int, uint64_t>> &found);

private:
	struct copy {
		size_t offset, bytes;
		std::vector<char> data;
	};
	template <class T>
	T *at(size_t offset, size_t count = 1)
	{
		return static_cast<T *>(bytes_at(offset, count * sizeof(T)));
	}
	void *bytes_at(size_t offset, size_t bytes);
	void write_back();
	page *find(uint64_t number, bool make);
	cell *words_of(page &p, size_t first, size_t count);
	uint32_t take_block(page &owner);
	void drop_block(page &p);
	void note_forgotten(const cell &gone);
	void enter_words(page &p, const access &mine, uint64_t offset, size_t bytes, std::vector<clash> &found,
			 bool stay);
	void enter_page(page &p, const access &mine, uint64_t offset, std::vector<clash> &found, bool stay);
	void find_clashes(const cell *cells, const access &mine, uint32_t mask, uint64_t offset, size_t bytes,
			  std::vector<clash> &found);
	void leave_cell(cell *cells, const access &mine, uint32_t mask);
	uint64_t *stamps_of(uint64_t key, bool make);
	uint64_t *forgotten() { return at<uint64_t>(c.place.forgotten, static_cast<size_t>(c.n_pes)); }
	int pe_;
	char *near_;
	std::vector<copy> copies_; // of far memory
};

// race_site.cpp
uint32_t site_of(const origin &caller);
// race_report.cpp; early: the job ends prematurely, so only rooms that are mapped here can be read
void report(bool early);
void record_race(const access &mine, const cell &other, int target, uint64_t offset, uint64_t bytes);
// race_calls.cpp
// Checks an access of this PE to memory of its own against the buffers of operations in flight.
void check_local(const span &s, bool written, uint32_t lane, uint32_t site_number);
void bound_locals();                                     // after c.locals has changed
inline bool may_be_local(const void *addr, size_t bytes) // whether such a buffer may be there
{
	const auto begin = reinterpret_cast<uintptr_t>(addr);
	return begin < pgas_load_relaxed(&c.locals_end) && pgas_load_relaxed(&c.locals_begin) < begin + bytes;
}
uint32_t lane_of(shmem_ctx_t ctx);
void add_lane(shmem_ctx_t ctx);
uint32_t drop_lane(shmem_ctx_t ctx);
void lanes_of_team(shmem_team_t gone); // its contexts end, and their operations are complete
// One access of this PE, checked and entered. Returns false if this memory is not checked.
bool touch(kind what, int target, const span &where, uint32_t lane, uint32_t version, uint32_t site_number,
	   bool stay = true);
void learn_of_word(int target, uint64_t word, size_t bytes, bool plain_too);
void finish_calls(); // everything in lane 0 is complete
// A program may join again.
void forget_places();
void forget_meetings();
void forget_lanes();

} // namespace pgas_tools::race
