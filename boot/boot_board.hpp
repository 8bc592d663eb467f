// SPDX-License-Identifier: BSD-3-Clause
// boot_board.hpp: the board, one memfd that oshrun creates for a job and every PE maps. In a job on several hosts the
// oshrun of each host (its agent) creates one, with room for all PEs of the job, and fills in what the PEs on other
// hosts wrote.
//
//   | header | slot[size] | key-value arena[size] | exchange half 0 [size] | exchange half 1 [size] |
//
// Roles: oshrun writes the header before it forks; each PE writes its own slot, arena and exchange cell; all PEs share
// the barrier words. The file is sparse, so untouched parts cost nothing.
//
// Every PE of the host can write anywhere in it, by a wild pointer too. So every process that maps the board keeps the
// plan of it (sizes, offsets, cookies, descriptors) in its own memory, and nothing read from the board decides what is
// removed, which process is signalled, or where anything is read or written: only states and counts are used, and they
// are bounded at each use.
//
// A barrier: each PE of this host notes how many bytes of its cell count and arrives. On one host the last one to
// arrive advances the generation and wakes the others. On several hosts it mails kMailArrived; the agents exchange
// cells and new key-value bytes, and then each advances the generation of its own board (oshrun_exchange.cpp). Only
// oshrun writes the slots, arenas and cells of PEs on other hosts. It also notes which PEs are stopped, on any host
// (oshrun_stops.cpp).
//
// In addition to the board there are two pipes. `life`: only oshrun holds the write end, and it never writes; when
// oshrun is gone, for whatever reason, the kernel tells every reader. `mail`: PEs and keeper write records of at most
// PIPE_BUF bytes, which therefore arrive whole; oshrun reads them. All three descriptors are inherited under the
// numbers that the header names; a PE whose wrapper closed them opens /proc/<launcher>/fd/<number> instead.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <unistd.h>

namespace pgas::boot {

// "pgsbard4": also the version of this layout, and of all else that oshtop reads (pgas_library_memory.hpp)
constexpr uint64_t kBoardMagic = 0x3464726162736770;
constexpr size_t kKvBytes = size_t{1} << 20;    // key-value arena of one PE
constexpr size_t kCellBytes = size_t{16} << 10; // bytes that one PE moves in one round of an allgather
constexpr const char *kOverwritten = "the board of this job was overwritten: some PE writes where it must not "
				     "(a wild pointer?)";
constexpr const char *kBoardEnv = "PGAS_BOOT"; // version:launcher pid:board fd:rank:cookie:job cookie
constexpr int kBoardEnvVersion = 2;

// Life of a PE as seen on the board. A program may finalize and another one, run by the same wrapper, may start: done
// -> live.
enum : uint32_t { kSlotNew = 0, kSlotLive = 1, kSlotDone = 2, kSlotGone = 3 };

// State between a PMIx client of this rank (an MPI program, say) and oshrun's PMIx server.
enum : uint32_t { kPmixNever = 0, kPmixConnected = 1, kPmixFinalized = 2 };

struct alignas(64) board_slot {
	uint32_t state; // PE: live, done; oshrun: gone, once it has reaped the child
	uint32_t pid;   // PE: the process that joined, which need not be oshrun's child
	uint32_t refs;  // PE: copies of this library that joined in that process
	// oshrun: 1 if the oshrun of its host reports that the process does not run; PEs read it (relaxed)
	uint32_t stopped;
	uint32_t pmix;       // keeper: kPmix... of this rank
	uint32_t host;       // oshrun: the number of the host where the PE runs
	uint64_t kv_used;    // PE: bytes of the arena that are published (release); kv_used <= kv_staged
	uint64_t kv_staged;  // PE: bytes that are written; here because two copies of the library may share the slot
	uint32_t cell_bytes; // PE: bytes of its cell that belong to its current barrier
};
static_assert(sizeof(board_slot) == 64);

// Written once. Only the copies in private memory are used (board_view).
struct board_plan {
	uint64_t magic;
	uint64_t cookie;     // distinguishes this board from any other file under the same number
	uint64_t job_cookie; // the same on all hosts of a job
	uint32_t size;
	uint32_t local_size; // PEs on this host: those that use this board
	uint32_t launcher_pid;
	int32_t life_fd, mail_fd;
	uint32_t unused;
	uint64_t life_ino, mail_ino;
	uint64_t board_bytes, slot_off, kv_off, cell_off;
};
static_assert(std::has_unique_object_representations_v<board_plan>, "copies are compared byte by byte");

struct board_header {
	board_plan plan;
	alignas(64) uint32_t early_exits; // oshrun: PEs that ended without joining (seq_cst, against state = live)
	alignas(64) uint32_t arrived;     // PEs of this host inside the current barrier
	alignas(64) uint32_t generation;  // barriers completed; futex; its low bit picks the exchange half
	alignas(64) uint32_t questions;   // oshrun: how often it was asked where its PEs are; they answer by mail
};
static_assert(std::is_trivially_copyable_v<board_header> && std::is_trivially_copyable_v<board_slot>);
static_assert(offsetof(board_header, generation) % 64 == 0 && sizeof(board_header) % 64 == 0);

enum : uint32_t {
	kMailHello = 1,
	kMailAbort = 2,
	kMailExecFailed = 3,
	kMailPmixAbort = 4,
	kMailArrived = 5,
	kMailPlace = 6
};

struct mail_record {
	uint32_t kind;
	int32_t rank;
	int32_t status; // exit status, errno, pid, generation or question, depending on kind
	char text[244]; // a line, or the PID namespace, depending on kind
};
static_assert(sizeof(mail_record) == 256 && sizeof(mail_record) <= PIPE_BUF, "records must be written whole");

// Key-value record in an arena: header, key, value, padded to 8 bytes.
struct kv_record {
	uint32_t key_bytes, value_bytes;
};
constexpr size_t kv_span(size_t key_bytes, size_t value_bytes)
{
	return (sizeof(kv_record) + key_bytes + value_bytes + 7) & ~size_t{7};
}

// aarch64 has pages of up to 64 KiB.
constexpr size_t page_up(size_t bytes)
{
	return (bytes + 65535) & ~size_t{65535};
}

struct board_view {
	char *base = nullptr;
	board_plan plan = {}; // a private copy
	// False: something has overwritten the plan, which nobody may write.
	bool intact() const { return memcmp(base, &plan, sizeof plan) == 0; }
	board_header &head() const { return *reinterpret_cast<board_header *>(base); }
	board_slot &slot(uint32_t rank) const { return reinterpret_cast<board_slot *>(base + plan.slot_off)[rank]; }
	char *arena(uint32_t rank) const { return base + plan.kv_off + rank * kKvBytes; }
	char *cell(uint32_t half, uint32_t rank) const
	{
		return base + plan.cell_off + (size_t{half} * plan.size + rank) * kCellBytes;
	}
};

// The PMIx namespace that oshrun assigns. Another one in the environment means that a launcher runs inside the job.
inline void board_nspace(uint64_t job_cookie, char *text, size_t room)
{
	snprintf(text, room, "oshrun-%016llx", static_cast<unsigned long long>(job_cookie));
}

// The PID namespace of this process, in which process ids are valid; empty if there is no /proc.
inline void own_pid_space(char *text, size_t room)
{
	const ssize_t length = readlink("/proc/self/ns/pid", text, room - 1);
	text[length > 0 ? length : 0] = '\0';
}

// Fills in the offsets and returns the size of the file.
constexpr size_t board_layout(board_plan &plan, uint32_t size)
{
	plan.slot_off = page_up(sizeof(board_header));
	plan.kv_off = page_up(plan.slot_off + size * sizeof(board_slot));
	plan.cell_off = plan.kv_off + size * kKvBytes;
	return plan.cell_off + 2 * size * kCellBytes;
}

} // namespace pgas::boot
