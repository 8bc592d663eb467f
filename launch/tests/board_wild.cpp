// SPDX-License-Identifier: BSD-3-Clause
// board_wild.cpp: a PE with a wild pointer. One PE of the job writes into the board, which all PEs of a host share with
// oshrun, where it must not; then all of them continue as programs do: barriers, keys, exchanges, the end.
//
//	board_wild WHAT [SEED]		WHAT: names     cuts every path of a scratch directory at its last slash
//				      pid=N     writes N wherever a process is named
//				      hello=N   tells oshrun that N is the process of this PE
//				      whole, head, slots, keys, cells    random bytes there
//				      byte      one random byte in the header or the slots
//				      shrink    makes the file shorter
//				      nothing
// The same seed gives the same bytes. BOARD_WILD_END=hang, for jobs on one host: they stay instead of ending.
#include "boot_board.hpp"
#include "pgas_boot.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using pgas::boot::board_header;
using pgas::boot::board_slot;

struct board {
	char *base = nullptr;
	size_t bytes = 0;
	int fd = -1;
};

board map_board(const char *address)
{
	int version, pid, fd;
	struct stat info;
	board found;
	if (!address || sscanf(address, "%d:%d:%d:", &version, &pid, &fd) != 3 || fstat(fd, &info) != 0)
		return found;
	void *base = mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base != MAP_FAILED)
		found = {static_cast<char *>(base), static_cast<size_t>(info.st_size), fd};
	return found;
}

void cut_names(const board &shared)
{
	const char name[] = "/oshrun.";
	for (size_t i = 0; i + sizeof name < sizeof(board_header); i++)
		if (memcmp(shared.base + i, name, sizeof name - 1) == 0)
			shared.base[i] = '\0';
}

// Writes pid over every aligned word of the header and the slots that holds the pid of this process, its launcher or a
// peer.
void put_pid(const board &shared, size_t end, uint32_t pid)
{
	for (size_t i = 0; i + sizeof pid <= end; i += sizeof pid) {
		uint32_t have;
		memcpy(&have, shared.base + i, sizeof have);
		char path[64];
		snprintf(path, sizeof path, "/proc/%u", have);
		if (have > 1 && have < (1u << 22) && access(path, F_OK) == 0)
			memcpy(shared.base + i, &pid, sizeof pid);
	}
}

void send_hello(const board &shared, int rank, int pid)
{
	pgas::boot::mail_record mail = {};
	mail.kind = pgas::boot::kMailHello;
	mail.rank = rank;
	mail.status = pid;
	const int fd = reinterpret_cast<const board_header *>(shared.base)->plan.mail_fd;
	[[maybe_unused]] const ssize_t sent = write(fd, &mail, sizeof mail);
}

void scribble(const board &shared, size_t begin, size_t end, std::mt19937 &random)
{
	for (size_t i = begin; i + 4 <= end; i += 4) {
		const uint32_t word = static_cast<uint32_t>(random());
		memcpy(shared.base + i, &word, sizeof word);
	}
}

bool attack(const std::string &what, const board &shared, uint32_t size, unsigned seed)
{
	std::mt19937 random(seed);
	const size_t slots = pgas::boot::page_up(sizeof(board_header));
	const size_t keys = pgas::boot::page_up(slots + size * sizeof(board_slot));
	const size_t cells = keys + size * pgas::boot::kKvBytes;
	if (what == "names")
		cut_names(shared);
	else if (what.compare(0, 4, "pid=") == 0)
		put_pid(shared, keys, static_cast<uint32_t>(strtoul(what.c_str() + 4, nullptr, 10)));
	else if (what.compare(0, 6, "hello=") == 0)
		send_hello(shared, pgas_boot_rank(), atoi(what.c_str() + 6));
	else if (what == "shrink")
		return ftruncate(shared.fd, 4096) != 0; // it must fail
	else if (what == "whole")
		scribble(shared, 0, shared.bytes, random);
	else if (what == "head")
		scribble(shared, 0, sizeof(board_header), random);
	else if (what == "slots")
		scribble(shared, slots, slots + size * sizeof(board_slot), random);
	else if (what == "keys")
		scribble(shared, keys, cells, random);
	else if (what == "cells")
		scribble(shared, cells, shared.bytes, random);
	else if (what == "byte") {
		const size_t place = random() % (sizeof(board_header) + size * sizeof(board_slot));
		shared.base[place < sizeof(board_header) ? place : slots + place - sizeof(board_header)] =
			static_cast<char>(random());
	} else
		return what == "nothing";
	return true;
}

// Waits until all PEs have left the previous barrier, by the last words of their cells: one still inside would notice.
void await_others(const board &shared, int rank, int size)
{
	auto word = [&shared](int peer) {
		return std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t *>(
			shared.base + shared.bytes - (static_cast<size_t>(peer) + 1) * pgas::boot::kCellBytes));
	};
	word(rank).store(1);
	for (int peer = 0; peer < size; peer++)
		while (word(peer).load() != 1)
			usleep(1000);
}

// Results are not checked: what peers overwrote is lost, and this tests only the launcher's behaviour.
void go_on(int rank, int size)
{
	char got[256], mine[64];
	memset(mine, rank, sizeof mine);
	std::string all(sizeof mine * static_cast<size_t>(size), '\0');
	for (int i = 0; i < 3; i++) {
		const std::string key = "key" + std::to_string(i);
		pgas_boot_put(key.c_str(), mine, sizeof mine);
		pgas_boot_fence();
		for (int peer = 0; peer < size; peer++)
			pgas_boot_get(peer, key.c_str(), got, sizeof got);
		pgas_boot_allgather(mine, sizeof mine, all.data());
		pgas_boot_barrier();
	}
}

} // namespace

int main(int argc, char **argv)
{
	const std::string what = argc > 1 ? argv[1] : "";
	const unsigned seed = argc > 2 ? static_cast<unsigned>(strtoul(argv[2], nullptr, 10)) : 0;
	const board shared = map_board(getenv(pgas::boot::kBoardEnv));
	const char *end = getenv("BOARD_WILD_END");
	if (!shared.base || pgas_boot_init() != 0 || pgas_boot_barrier() != 0)
		return 98;
	const int rank = pgas_boot_rank(), size = pgas_boot_size();
	if (end)
		await_others(shared, rank, size);
	if (rank == static_cast<int>(seed % static_cast<unsigned>(size)) &&
	    !attack(what, shared, static_cast<uint32_t>(size), seed))
		return 97;
	if (end && strcmp(end, "hang") == 0) {
		printf("hanging %d\n", getpid());
		fflush(stdout);
		for (;;)
			pause();
	}
	go_on(rank, size);
	return pgas_boot_finalize() ? 96 : 0;
}
