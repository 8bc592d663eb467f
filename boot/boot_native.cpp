// SPDX-License-Identifier: BSD-3-Clause
// boot_native.cpp: a PE's side of oshrun's board (boot_board.hpp): find it, take this rank's slot, exchange, barrier,
// abort.
//
// The board is the fast backend: joining is one mmap and a few system calls, an allgather of 16 KiB or less is one
// barrier. It also records which PEs have finalized, which no PMI reports to a launcher in time.
#include "boot.hpp"
#include "boot_board.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pgas::boot {
namespace {

constexpr int kKilled = 128 + SIGKILL; // exit status of a process that cannot kill itself
constexpr uint32_t kCopiesMost = 1024; // of this library in one process

struct native_state {
	board_view board;
	uint32_t rank = 0;
	uint32_t size = 0;
	int launcher_pid = 0;
	int life_fd = -1;
	int mail_fd = -1;
	std::atomic<uint32_t> answered{0}; // the last question that this process answered
};
native_state g_board;

struct board_address {
	int version, launcher_pid, board_fd;
	unsigned rank;
	unsigned long long cookie, job_cookie;
};

bool parse_address(const char *text, board_address &address)
{
	char end;
	return sscanf(text, "%d:%d:%d:%u:%llx:%llx%c", &address.version, &address.launcher_pid, &address.board_fd,
		      &address.rank, &address.cookie, &address.job_cookie, &end) == 6 &&
	       address.version == kBoardEnvVersion;
}

// True if this descriptor still is what oshrun passed. Wrappers close descriptors, or put their own files under the
// number.
bool inherited(int fd, uint64_t ino)
{
	struct stat info;
	if (fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode) || info.st_ino != ino)
		return false;
	fcntl(fd, F_SETFD, FD_CLOEXEC); // programs that a PE runs are not PEs
	return true;
}

int open_fresh(bool own, int launcher_pid, int fd, int flags)
{
	char path[64];
	if (own)
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	else
		snprintf(path, sizeof path, "/proc/%d/fd/%d", launcher_pid, fd);
	return open(path, flags | O_CLOEXEC);
}

// Reads the plan once: it must not be read again after validation, because it may be overwritten at any time.
bool read_plan(int fd, const board_address &address, board_plan &plan)
{
	struct stat info;
	board_plan due = {};
	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
	       pread(fd, &plan, sizeof plan, 0) == static_cast<ssize_t>(sizeof plan) && plan.magic == kBoardMagic &&
	       plan.cookie == address.cookie && address.rank < plan.size && plan.local_size <= plan.size &&
	       board_layout(due, plan.size) == plan.board_bytes && due.slot_off == plan.slot_off &&
	       due.kv_off == plan.kv_off && due.cell_off == plan.cell_off &&
	       static_cast<uint64_t>(info.st_size) == plan.board_bytes;
}

// Returns -ENOENT if that job is over and the variable is a leftover.
int map_board(const board_address &address, board_view &board)
{
	int fd = address.board_fd;
	int opened = -1;
	if (!read_plan(fd, address, board.plan)) {
		fd = opened = open_fresh(false, address.launcher_pid, address.board_fd, O_RDWR);
		if (fd < 0 || !read_plan(fd, address, board.plan)) {
			int why = fd < 0 ? errno : ENOENT;
			if (opened >= 0)
				close(opened);
			return why == EACCES || why == EPERM ? -EACCES : -ENOENT;
		}
	}
	void *base = mmap(nullptr, board.plan.board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	int why = errno;
	if (opened >= 0)
		close(opened);
	else
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (base == MAP_FAILED)
		return -why;
	board.base = static_cast<char *>(base);
	return 0;
}

// True if the PMIx environment, if there is one, comes from oshrun together with its board.
bool pmix_is_ours(unsigned long long job_cookie)
{
	const char *nspace = pgas_boot_getenv("PMIX_NAMESPACE");
	if (!nspace)
		return !pgas_boot_getenv("PMI_RANK");
	char ours[64];
	board_nspace(job_cookie, ours, sizeof ours);
	return strcmp(nspace, ours) == 0;
}

// A launcher that runs inside our job adds an environment of its own for its processes.
bool inner_launcher(unsigned long long job_cookie)
{
	// oshrun removes PMI_FD and never sets it
	return pgas_boot_getenv("PMI_FD") || (pgas_boot_getenv("PMIX_NAMESPACE") && !pmix_is_ours(job_cookie));
}

void *await_end_of_life(void *)
{
	struct pollfd seen = {g_board.life_fd, 0, 0}; // POLLHUP needs no request, and nobody ever writes
	while (poll(&seen, 1, -1) < 0 && errno == EINTR) {}
	_exit(kKilled);
}

// This thread blocks the application's signals.
void watch_by_thread(int fd)
{
	g_board.life_fd = fd;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_t thread;
	if (pthread_create(&thread, nullptr, await_end_of_life, nullptr) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// When oshrun dies, even by kill -9, this process must die too, whatever processes are between the two. The
// parent-death signal that oshrun set between fork and exec ends only its own child, so the kernel is asked to send
// SIGKILL when the last writer of `life` is gone. Owner and signal belong to an open file, hence a fresh open and no
// dup. This uses no thread, no handler and no signal of the application, with one exception: pid 1 of a PID namespace
// gets no SIGKILL from inside the namespace, nor this one. There, and if /proc is not available for the fresh open, a
// thread waits for the end of the pipe.
void watch_launcher(const board_plan &plan)
{
	if (g_board.life_fd >= 0)
		return; // an earlier init armed it; it stays armed after finalize, while main() runs on
	const bool own = inherited(plan.life_fd, plan.life_ino);
	int fd = open_fresh(own, g_board.launcher_pid, plan.life_fd, O_RDONLY | O_NONBLOCK);
	const bool fresh = fd >= 0;
	if (!fresh && own)
		fd = fcntl(plan.life_fd, F_DUPFD_CLOEXEC, plan.life_fd);
	if (fd < 0)
		return;
	if (!fresh || getpid() == 1) {
		watch_by_thread(fd);
		return;
	}
	if (fcntl(fd, F_SETOWN, getpid()) || fcntl(fd, F_SETSIG, SIGKILL) ||
	    fcntl(fd, F_SETFL, O_RDONLY | O_NONBLOCK | O_ASYNC)) {
		close(fd);
		return;
	}
	g_board.life_fd = fd;
	struct pollfd seen = {fd, POLLIN, 0};
	if (poll(&seen, 1, 0) == 1 && (seen.revents & POLLHUP)) {
		raise(SIGKILL); // oshrun died before this was armed
		_exit(kKilled);
	}
}

bool send_mail(uint32_t kind, int status, const char *text)
{
	mail_record mail = {};
	mail.kind = kind;
	mail.rank = static_cast<int32_t>(g_board.rank);
	mail.status = status;
	for (size_t i = 0; text && text[i] && i < sizeof mail.text - 1; i++)
		mail.text[i] = text[i];
	for (;;) {
		ssize_t sent = write(g_board.mail_fd, &mail, sizeof mail);
		if (sent == static_cast<ssize_t>(sizeof mail))
			return true;
		if (sent >= 0 || errno != EINTR)
			return false;
	}
}

// Async-signal-safe. oshrun ends the other PEs and prints the message.
void native_abort(int status, const char *message)
{
	if (!send_mail(kMailAbort, status & 0xff, message)) {
		if (message)
			print_error("%s", message);
		kill(g_board.launcher_pid, SIGTERM);
	}
	_exit(status & 0xff);
}

// Ends the job if the board was overwritten: nothing else on it can be trusted then.
void check_board(bool good)
{
	if (!good || !g_board.board.intact())
		native_abort(1, kOverwritten);
}

// oshrun must know our pid, because otherwise the wrapper between the two hides our end from it.
void greet_launcher()
{
	char space[128];
	own_pid_space(space, sizeof space);
	send_mail(kMailHello, getpid(), space);
}

// One process per rank. The slot of a dead process is free: its job is ending anyhow, or a wrapper runs two programs.
int claim_slot(board_slot &slot)
{
	std::atomic_ref<uint32_t> state(slot.state), pid(slot.pid);
	const uint32_t me = static_cast<uint32_t>(getpid());
	if (state.load(std::memory_order_acquire) == kSlotLive) {
		uint32_t owner = pid.load(std::memory_order_relaxed);
		if (owner == me) {
			slot.refs++; // another copy of this library in this process shares the slot
			return 0;
		}
		if (kill(static_cast<pid_t>(owner), 0) == 0 || errno == EPERM)
			return static_cast<int>(owner);
	}
	pid.store(me, std::memory_order_relaxed);
	slot.refs = 1;
	// Each side stores its own word and then loads the other's (early_exits): at least one of them sees the other's
	// store.
	state.store(kSlotLive, std::memory_order_seq_cst);
	return 0;
}

// Becomes the rank whose slot we have claimed.
void enter_board(const board_address &address, const board_view &board, job &job)
{
	const board_plan &plan = board.plan;
	g_board.board = board;
	g_board.rank = address.rank;
	g_board.size = plan.size;
	g_board.launcher_pid = address.launcher_pid;
	watch_launcher(plan);
	if (g_board.mail_fd < 0)
		g_board.mail_fd = inherited(plan.mail_fd, plan.mail_ino)
					  ? plan.mail_fd
					  : open_fresh(false, address.launcher_pid, plan.mail_fd, O_WRONLY);
	if (getppid() != address.launcher_pid)
		greet_launcher();
	if (std::atomic_ref<uint32_t>(board.head().early_exits).load(std::memory_order_seq_cst) > 0)
		// that PE will never arrive at the first barrier
		native_abort(1, "another PE ended without joining the job");
	job.rank = static_cast<int>(address.rank);
	job.size = static_cast<int>(plan.size);
	job.local_known = true;
	for (uint32_t r = 0; r < plan.size; r++)
		if (board.slot(r).host == board.slot(address.rank).host)
			job.local.push_back(static_cast<int>(r));
}

int native_init(job &job)
{
	const char *text = pgas_boot_getenv(kBoardEnv);
	if (!text)
		return kNotMine;
	board_address address;
	if (!parse_address(text, address)) {
		print_error("%s=%s is not understood: oshrun of another version?", kBoardEnv, text);
		return -EINVAL;
	}
	board_view board;
	int rc = map_board(address, board);
	if (rc == -ENOENT)
		return pmix_is_ours(address.job_cookie) ? kBeSingle : kNotMine;
	if (rc) {
		print_error("cannot reach the board of oshrun (pid %d): %s", address.launcher_pid, strerror(-rc));
		return rc;
	}
	int holder = inner_launcher(address.job_cookie) ? -1 : claim_slot(board.slot(address.rank));
	if (holder != 0) {
		if (holder > 0)
			print_error("place %u of the job is held by pid %d: this process starts as a job of one",
				    address.rank, holder);
		munmap(board.base, board.plan.board_bytes);
		return holder > 0 ? kBeSingle : kNotMine;
	}
	enter_board(address, board, job);
	return kJoined;
}

int native_finalize()
{
	board_slot &slot = g_board.board.slot(g_board.rank);
	check_board(slot.refs > 0 && slot.refs <= kCopiesMost);
	if (--slot.refs == 0)
		// oshrun reads this when it reaps the process
		std::atomic_ref<uint32_t>(slot.state).store(kSlotDone, std::memory_order_release);
	munmap(g_board.board.base, g_board.board.plan.board_bytes);
	g_board.board.base = nullptr;
	return 0;
}

// --- barrier ---------------------------------------------------------------------------------------------------------

uint32_t last_question()
{
	return std::atomic_ref<uint32_t>(g_board.board.head().questions).load(std::memory_order_relaxed);
}

bool native_is_asked()
{
	return g_board.board.base && last_question() != g_board.answered.load(std::memory_order_relaxed);
}

void native_answer(const char *place)
{
	const uint32_t question = last_question();
	if (g_board.answered.exchange(question, std::memory_order_relaxed) != question)
		send_mail(kMailPlace, static_cast<int>(question), place);
}

bool someone_is_gone()
{
	for (uint32_t r = 0; r < g_board.size; r++)
		if (std::atomic_ref<uint32_t>(g_board.board.slot(r).state).load(std::memory_order_relaxed) == kSlotGone)
			return true;
	return false;
}

// A central counter and a futex: at start-up PEs may outnumber cores and arrive late, so waiting must cost nothing.
int await_generation(board_header &head, uint32_t seen)
{
	std::atomic_ref<uint32_t> generation(head.generation);
	for (int i = 0; i < 64 && generation.load(std::memory_order_acquire) == seen; i++) {}
	const struct timespec pause = {0, 250'000'000};
	while (generation.load(std::memory_order_acquire) == seen) {
		if (native_is_asked())
			native_answer("the start or the end of the library, where it waits for all PEs");
		long rc = syscall(SYS_futex, &head.generation, FUTEX_WAIT, seen, &pause, nullptr, 0);
		check_board(std::atomic_ref<uint32_t>(head.arrived).load(std::memory_order_relaxed) <=
			    g_board.board.plan.local_size);
		if (rc == -1 && errno == ETIMEDOUT && someone_is_gone() &&
		    generation.load(std::memory_order_acquire) == seen) {
			print_error("barrier cannot complete: a PE has left the job");
			return -ECONNRESET;
		}
	}
	check_board(generation.load(std::memory_order_acquire) == seen + 1); // the next generation needs this PE, too
	return 0;
}

// The first cell_bytes of this PE's cell go to the PEs on other hosts.
int meet(size_t cell_bytes)
{
	board_header &head = g_board.board.head();
	std::atomic_ref<uint32_t> arrived(head.arrived), generation(head.generation);
	const uint32_t seen = generation.load(std::memory_order_acquire);
	check_board(true);
	g_board.board.slot(g_board.rank).cell_bytes = static_cast<uint32_t>(cell_bytes);
	const uint32_t here = arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
	check_board(here <= g_board.board.plan.local_size);
	if (here < g_board.board.plan.local_size)
		return await_generation(head, seen);
	arrived.store(0, std::memory_order_relaxed); // nobody arrives again before the generation moves
	if (g_board.board.plan.local_size < g_board.size) {
		// oshrun reads the cells when it receives this, and advances the generation
		if (!send_mail(kMailArrived, static_cast<int>(seen), nullptr)) {
			print_error("barrier cannot complete: oshrun is not to be reached");
			return -ECONNRESET;
		}
		return await_generation(head, seen);
	}
	generation.store(seen + 1, std::memory_order_release); // pairs with load_acquire in await_generation()
	syscall(SYS_futex, &head.generation, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
	return 0;
}

int native_barrier()
{
	return meet(0);
}

// --- exchange --------------------------------------------------------------------------------------------------------

// Rounds of one cell per PE. The generation selects the half, so the half changes with every barrier: a cell is written
// again two barriers after it was read, and its reader has arrived at the barrier in between.
int native_allgather(const void *mine, size_t bytes, void *all)
{
	std::string copy; // rounds write to `all` before the last of `mine` has been read
	const char *src = static_cast<const char *>(mine);
	char *dst = static_cast<char *>(all);
	if (bytes > kCellBytes && src >= dst && src < dst + bytes * g_board.size) {
		copy.assign(src, bytes);
		src = copy.data();
	}
	for (size_t pos = 0; pos < bytes; pos += kCellBytes) {
		size_t now = bytes - pos < kCellBytes ? bytes - pos : kCellBytes;
		uint32_t half =
			std::atomic_ref<uint32_t>(g_board.board.head().generation).load(std::memory_order_acquire) & 1;
		memcpy(g_board.board.cell(half, g_board.rank), src + pos, now);
		if (int rc = meet(now))
			return rc;
		for (uint32_t r = 0; r < g_board.size; r++)
			memcpy(dst + r * bytes + pos, g_board.board.cell(half, r), now);
	}
	return 0;
}

int native_put(const char *key, const void *value, size_t bytes)
{
	size_t key_bytes = strlen(key);
	board_slot &slot = g_board.board.slot(g_board.rank);
	const uint64_t staged = std::atomic_ref<uint64_t>(slot.kv_staged).load(std::memory_order_relaxed);
	check_board(staged <= kKvBytes && staged % 8 == 0);
	if (bytes > kKvBytes || staged + kv_span(key_bytes, bytes) > kKvBytes) {
		print_error("put %s: %zu bytes do not fit, %zu bytes for all keys of a PE", key + 1, bytes, kKvBytes);
		return -ENOSPC;
	}
	char *pos = g_board.board.arena(g_board.rank) + staged;
	kv_record record = {static_cast<uint32_t>(key_bytes), static_cast<uint32_t>(bytes)};
	memcpy(pos, &record, sizeof record);
	memcpy(pos + sizeof record, key, key_bytes);
	if (bytes)
		memcpy(pos + sizeof record + key_bytes, value, bytes);
	slot.kv_staged = staged + kv_span(key_bytes, bytes);
	return 0;
}

int native_commit()
{
	board_slot &slot = g_board.board.slot(g_board.rank);
	// pairs with load_acquire in native_get()
	std::atomic_ref<uint64_t>(slot.kv_used).store(slot.kv_staged, std::memory_order_release);
	return 0;
}

int native_fence()
{
	native_commit();
	return native_barrier();
}

ssize_t native_get(int rank, const char *key, void *value, size_t room)
{
	const char *arena = g_board.board.arena(static_cast<uint32_t>(rank));
	// bounded, because another process wrote it
	const uint64_t used =
		std::min<uint64_t>(std::atomic_ref<uint64_t>(g_board.board.slot(static_cast<uint32_t>(rank)).kv_used)
					   .load(std::memory_order_acquire),
				   kKvBytes);
	const size_t key_bytes = strlen(key);
	ssize_t found = -ENOENT;
	const char *where = nullptr;
	for (uint64_t pos = 0; pos + sizeof(kv_record) <= used;) {
		kv_record record;
		memcpy(&record, arena + pos, sizeof record);
		if (kv_span(record.key_bytes, record.value_bytes) > used - pos)
			break;
		const char *have = arena + pos + sizeof record;
		if (record.key_bytes == key_bytes && memcmp(have, key, key_bytes) == 0) {
			found = record.value_bytes; // no break, because the last one wins
			where = have + key_bytes;
		}
		pos += kv_span(record.key_bytes, record.value_bytes);
	}
	if (found > 0 && room > 0)
		memcpy(value, where, room < static_cast<size_t>(found) ? room : static_cast<size_t>(found));
	return found;
}

bool native_is_stopped(int rank)
{
	uint32_t &stopped = g_board.board.slot(static_cast<uint32_t>(rank)).stopped;
	return std::atomic_ref<uint32_t>(stopped).load(std::memory_order_relaxed) == 1;
}

} // namespace

constinit const backend g_native = {"oshrun",          native_init,  native_finalize, native_put,
				    native_commit,     native_fence, native_get,      native_allgather,
				    native_barrier,    native_abort, false,           true,
				    native_is_stopped, nullptr,      native_is_asked, native_answer};

} // namespace pgas::boot
