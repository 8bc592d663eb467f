// SPDX-License-Identifier: BSD-3-Clause
//
// A job out of its mind, for oshtop: a process with a board like that of oshrun, and PEs with memory like that of
// OpenSHMEM and GASNet, all of which is full of random bytes.
//
//	top_wild WHAT SEED [text that its command line has]
//
//	plan      random bytes everywhere, the plan of the board among them
//	slots     a good plan, and random bytes in all the rest of the board
//	memory    a good board, and random bytes in the memory of the PEs, behind good magic numbers
//	sizes     the same, while these files grow and shrink all the time
//	board     the same, while the board does
//
// It prints "ready" and runs until it is killed; its PEs end with it.
#include "boot_board.hpp"
#include "tool_figures.hpp"

#include <pgas/pgas_library_memory.hpp>
#include <pgas/pgas_segment.hpp>
#include <teams/teams_team.hpp>

#include <cstdio>
#include <cstdlib>
#include <csignal>
#include <cstring>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <vector>

namespace {

using pgas::boot::board_plan;
using pgas::boot::board_slot;

constexpr uint32_t kPes = 3;
constexpr uint64_t kCookie = 0x1234567890abcdef;
constexpr size_t kHeap = size_t{1} << 20;
constexpr uint32_t kSlots = 64;

std::mt19937_64 g_random;

void require(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(99);
}

int make_file(const char *name, size_t bytes)
{
	const int fd = memfd_create(name, 0);
	require(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0, name);
	return fd;
}

void put(int fd, uint64_t offset, const void *src, size_t bytes)
{
	require(pwrite(fd, src, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes), "pwrite");
}

// Words of all sizes: small ones pass more of the checks than large ones do.
void put_random(int fd, uint64_t offset, size_t bytes)
{
	std::vector<uint64_t> words(bytes / 8 + 1);
	for (uint64_t &word : words)
		word = g_random() >> (g_random() % 64);
	put(fd, offset, words.data(), bytes);
}

void put_figures(int fd, const pgas::library_memory &kind)
{
	using pgas_tools::head;
	put_random(fd, kind.tool_off, sizeof(pgas_tools::figures));
	put_random(fd, kind.tool_off + pgas_tools::kNamesAt, 65536);
	if (g_random() % 4 == 0)
		return;
	put(fd, kind.tool_off + offsetof(head, magic), &pgas_tools::kMagic, sizeof pgas_tools::kMagic);
	const uint32_t names = g_random() % 4 ? 65536 : static_cast<uint32_t>(g_random());
	put(fd, kind.tool_off + offsetof(head, names_bytes), &names, sizeof names);
	const uint32_t call = g_random() % 2 ? 1 + g_random() % 64 : static_cast<uint32_t>(g_random());
	put(fd, kind.tool_off + offsetof(head, in_call), &call, sizeof call);
	const uint32_t members = g_random() % 2 ? kPes : static_cast<uint32_t>(g_random());
	put(fd, kind.tool_off + offsetof(head, in_team_pes), &members, sizeof members);
}

int make_memory(const pgas::library_memory &kind)
{
	const int fd = make_file(kind.file, kind.internal_bytes + kHeap);
	put_random(fd, kind.teams_off, 65536);
	put_figures(fd, kind);
	put_random(fd, kind.internal_bytes, kHeap / 2);
	return fd;
}

int make_endpoint()
{
	const pgas::ep_layout layout = pgas::ep_layout::of(kSlots, 4, 8192);
	const int fd = make_file("pgas-endpoint", layout.bytes);
	put_random(fd, 0, sizeof(pgas::ep_shared));
	if (g_random() % 2) {
		pgas::ep_shared s = {};
		s.h.magic = pgas::kSegmentMagic;
		s.h.version = pgas::kSegmentVersion;
		s.h.kind = static_cast<uint32_t>(pgas::segment_kind::endpoint);
		s.slots = kSlots;
		s.eager_count = g_random() % 2 ? 4 : static_cast<uint32_t>(g_random());
		s.eager_bytes = 8192;
		put(fd, 0, &s, sizeof s);
	}
	put_random(fd, layout.ring_off, sizeof(pgas_ring));
	return fd;
}

[[noreturn]] void shake(const std::vector<int> &files, const std::vector<size_t> &sizes)
{
	for (;;)
		for (size_t i = 0; i < files.size(); i++) {
			const uint64_t size = g_random() % 3 ? sizes[i] : g_random() >> (g_random() % 64);
			(void)!ftruncate(files[i], static_cast<off_t>(size % (size_t{1} << 40)));
			if (g_random() % 16 == 0)
				usleep(1000);
		}
}

[[noreturn]] void run_pe(const std::string &what)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	const bool is_gasnet = g_random() % 3 == 0;
	const pgas::library_memory &kind = is_gasnet ? pgas::kGasnetMemory : pgas::kShmemMemory;
	const int memory = make_memory(kind), endpoint = make_endpoint();
	if (what == "sizes" || what == "board")
		shake({memory, endpoint}, {kind.internal_bytes + kHeap, pgas::ep_layout::of(kSlots, 4, 8192).bytes});
	for (;;)
		pause();
}

pid_t start_pe(char **argv, uint32_t rank)
{
	const pid_t child = fork();
	require(child >= 0, "fork");
	if (child > 0)
		return child;
	char text[128];
	snprintf(text, sizeof text, "2:%d:3:%u:%016llx:%016llx", getppid(), rank,
		 static_cast<unsigned long long>(kCookie), static_cast<unsigned long long>(kCookie));
	setenv(pgas::boot::kBoardEnv, text, 1);
	const std::string seed = std::to_string(atoi(argv[2]) * 16 + static_cast<int>(rank));
	execl("/proc/self/exe", "\033[31mwild\n", argv[1], seed.c_str(), "pe", nullptr);
	_exit(99);
}

void put_slots(int board, const board_plan &plan, const std::vector<pid_t> &pids)
{
	for (uint32_t rank = 0; rank < kPes; rank++) {
		board_slot slot = {};
		slot.state = pgas::boot::kSlotLive;
		slot.pid = static_cast<uint32_t>(pids[rank]);
		put(board, plan.slot_off + rank * sizeof slot, &slot, sizeof slot);
	}
}

// Whole for 20 milliseconds, and then of any size.
[[noreturn]] void shake_board(int board, const board_plan &plan, const std::vector<pid_t> &pids)
{
	for (;;) {
		(void)!ftruncate(board, static_cast<off_t>(plan.board_bytes));
		put(board, 0, &plan, sizeof plan);
		put_slots(board, plan, pids);
		usleep(20000);
		(void)!ftruncate(board, static_cast<off_t>(g_random() >> (24 + g_random() % 40)));
		usleep(1000);
	}
}

board_plan make_plan()
{
	board_plan plan = {};
	plan.board_bytes = pgas::boot::board_layout(plan, kPes);
	plan.magic = pgas::boot::kBoardMagic;
	plan.cookie = plan.job_cookie = kCookie;
	plan.size = plan.local_size = kPes;
	plan.launcher_pid = static_cast<uint32_t>(getpid());
	return plan;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const std::string what = argv[1];
	g_random.seed(static_cast<uint64_t>(atoi(argv[2])));
	if (argc > 3 && strcmp(argv[3], "pe") == 0)
		run_pe(what);
	const board_plan plan = make_plan();
	const int board = make_file("oshrun-board", plan.board_bytes);
	put_random(board, 0, plan.kv_off);
	if (what != "plan")
		put(board, 0, &plan, sizeof plan);
	std::vector<pid_t> pids;
	for (uint32_t rank = 0; rank < kPes; rank++)
		pids.push_back(start_pe(argv, rank));
	if (what != "slots" && what != "plan")
		put_slots(board, plan, pids);
	usleep(100000);
	puts("ready");
	fflush(stdout);
	if (what == "board")
		shake_board(board, plan, pids);
	for (;;)
		pause();
}
