// SPDX-License-Identifier: BSD-3-Clause
//
// partition_bench: the cost of a block of a partition. Compares the pool of device memory with the allocator of the
// symmetric heap and glibc's malloc: the same calls, a sample of each in turn, no locks. A sample is a batch of calls,
// its value the time per call.
#include "devices/devices_pool.hpp"
#include "heap/shmem_heap.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace {

constexpr size_t kPoolBytes = size_t{64} << 20;
constexpr size_t kLive = 4096, kLeast = 8, kMost = 16384; // blocks of the steady state, and their sizes
constexpr size_t kHoles = 10000, kHole = 512, kWide = 2048;
constexpr size_t kBatch = 256, kBatches = 64, kPairs = 4096;
constexpr uint64_t kNone = ~uint64_t{0};

// The allocators to compare: blocks are numbers.
struct partition_pool {
	static constexpr const char *kName = "pool";
	pgas::devices::pool pool;
	bool open() { return pool.init(kPoolBytes) == 0; }
	uint64_t alloc(size_t bytes) { return pool.alloc(bytes); }
	void release(uint64_t block) { pool.release(block); }
};

struct symmetric_heap {
	static constexpr const char *kName = "symmetric heap";
	shmem::heap heap;
	bool open()
	{
		shmem::heap_config config;
		config.base = reinterpret_cast<void *>(size_t{1} << 40); // never touched
		config.bytes = kPoolBytes;
		return heap.init(config) == 0;
	}
	uint64_t alloc(size_t bytes)
	{
		void *ptr = heap.alloc(bytes);
		return ptr ? reinterpret_cast<uintptr_t>(ptr) : kNone;
	}
	void release(uint64_t block) { heap.release(reinterpret_cast<void *>(block)); }
};

struct glibc_malloc {
	static constexpr const char *kName = "malloc";
	bool open() { return true; }
	uint64_t alloc(size_t bytes)
	{
		void *ptr = std::malloc(bytes);
		asm volatile("" : "+r"(ptr)); // keeps the compiler from removing an unused pair of calls
		return ptr ? reinterpret_cast<uintptr_t>(ptr) : kNone;
	}
	void release(uint64_t block) { std::free(reinterpret_cast<void *>(block)); }
};

enum row { steady_alloc, steady_free, hole_alloc, hole_free, pair, kRows };
enum column { pool_column, heap_column, malloc_column, kColumns };

// The last column: the claims of "Extending OpenMP and OpenSHMEM for Efficient Heterogeneous Computing" in III-A; its
// buddy allocator also keeps its records outside of the memory.
constexpr struct {
	const char *text, *paper;
} kRow[kRows] = {
	{"alloc 8 B to 16 KiB, 4096 blocks live", "about 40"}, {"free, the same", "-"},
	{"alloc 2 KiB above 10000 holes of 512 B", "-"},       {"free, the same", "-"},
	{"alloc 64 B and free, nothing else live", "-"},
};

using samples = std::vector<double>;
samples g_samples[kRows][kColumns];
uint64_t g_seed;

uint64_t below(uint64_t bound) // xorshift64*
{
	g_seed ^= g_seed >> 12;
	g_seed ^= g_seed << 25;
	g_seed ^= g_seed >> 27;
	return (g_seed * 0x2545f4914f6cdd1du) % bound;
}

double now_ns()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <class Allocator>
uint64_t require(Allocator &a, size_t bytes)
{
	const uint64_t block = a.alloc(bytes);
	if (block == kNone) {
		fprintf(stderr, "partition_bench: %s has no %zu bytes left\n", Allocator::kName, bytes);
		exit(1);
	}
	return block;
}

template <class Allocator>
void run_steady(Allocator &a, samples *allocs, samples *frees)
{
	static uint64_t live[kLive];
	size_t which[kLive], sizes[kBatch];
	for (size_t i = 0; i < kLive; i++) {
		live[i] = require(a, kLeast + below(kMost - kLeast + 1));
		which[i] = i;
	}
	for (size_t batch = 0; batch < kBatches; batch++) {
		for (size_t i = 0; i < kBatch; i++) {
			std::swap(which[i], which[i + below(kLive - i)]);
			sizes[i] = kLeast + below(kMost - kLeast + 1);
		}
		const double start = now_ns();
		for (size_t i = 0; i < kBatch; i++)
			a.release(live[which[i]]);
		const double middle = now_ns();
		for (size_t i = 0; i < kBatch; i++)
			live[which[i]] = a.alloc(sizes[i]);
		const double end = now_ns();
		for (size_t i = 0; i < kBatch; i++)
			if (live[which[i]] == kNone)
				live[which[i]] = require(a, sizes[i]); // ends the program on failure
		frees->push_back((middle - start) / kBatch);
		allocs->push_back((end - middle) / kBatch);
	}
	for (const uint64_t block : live)
		a.release(block);
}

template <class Allocator>
void run_holes(Allocator &a, samples *allocs, samples *frees)
{
	static uint64_t narrow[2 * kHoles], wide[kBatch];
	for (uint64_t &block : narrow)
		block = require(a, kHole);
	for (size_t i = 0; i < kHoles; i++)
		a.release(narrow[2 * i]);
	for (size_t batch = 0; batch < kBatches; batch++) {
		const double start = now_ns();
		for (uint64_t &block : wide)
			block = a.alloc(kWide);
		const double middle = now_ns();
		for (const uint64_t block : wide)
			a.release(block);
		const double end = now_ns();
		allocs->push_back((middle - start) / kBatch);
		frees->push_back((end - middle) / kBatch);
	}
	for (size_t i = 0; i < kHoles; i++)
		a.release(narrow[2 * i + 1]);
}

template <class Allocator>
void run_pairs(Allocator &a, samples *pairs)
{
	for (size_t batch = 0; batch < kBatches; batch++) {
		const double start = now_ns();
		for (size_t i = 0; i < kPairs; i++)
			a.release(a.alloc(64));
		pairs->push_back((now_ns() - start) / kPairs);
	}
}

template <class Allocator>
void run(column c, uint64_t seed)
{
	Allocator a;
	if (!a.open()) {
		fprintf(stderr, "partition_bench: no memory for the %s\n", Allocator::kName);
		exit(1);
	}
	g_seed = seed;
	run_pairs(a, &g_samples[pair][c]);
	run_steady(a, &g_samples[steady_alloc][c], &g_samples[steady_free][c]);
	run_holes(a, &g_samples[hole_alloc][c], &g_samples[hole_free][c]);
}

void print_table()
{
	printf("%-40s", "ns for a call; pool of 64 MiB");
	for (const char *name : {partition_pool::kName, symmetric_heap::kName, glibc_malloc::kName})
		printf("  %15s", name);
	printf("  %9s\n%-40s", "the paper", "");
	for (int c = 0; c < kColumns; c++)
		printf("  %6s %8s", "best", "median");
	puts("");
	for (int r = 0; r < kRows; r++) {
		printf("%-40s", kRow[r].text);
		for (samples &s : g_samples[r]) {
			std::sort(s.begin(), s.end());
			printf("  %6.1f %8.1f", s.front(), s[s.size() / 2]);
		}
		printf("  %9s\n", kRow[r].paper);
	}
}

} // namespace

int main(int argc, char **argv)
{
	unsigned long repetitions = 40;
	if (argc == 3 && strcmp(argv[1], "--repetitions") == 0)
		repetitions = strtoul(argv[2], nullptr, 10);
	else if (argc != 1)
		repetitions = 0;
	if (repetitions == 0 || repetitions > 100000) {
		const bool asked = argc == 2 && strcmp(argv[1], "--help") == 0;
		fputs("usage: partition_bench [--repetitions N]\n\n"
		      "What a block of a partition costs, compared with the symmetric heap's allocator and malloc; N: "
		      "40.\n",
		      asked ? stdout : stderr);
		return asked ? 0 : 2;
	}
	for (unsigned long i = 1; i <= repetitions; i++) {
		run<partition_pool>(pool_column, i);
		run<symmetric_heap>(heap_column, i);
		run<glibc_malloc>(malloc_column, i);
	}
	print_table();
	return 0;
}
