// SPDX-License-Identifier: BSD-3-Clause
//
// test_shmem_heap.cpp: the symmetric heap's allocator against a model that knows the owner of each granule.
//
// Untouched ranges of address space serve as heaps of terabytes.  HEAP_TEST_OPS sets the number of random operations
// (default one million for each shape).  Times are printed, never judged.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}

#include "heap/shmem_heap.hpp"

using shmem::heap;
using shmem::heap_config;

namespace {

heap *g_heap; // made and ended by setup and teardown, because a failed assertion jumps out of the test
heap *g_other;

constexpr size_t kGranule = 64;
constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kGiB = size_t{1} << 30;
char *const kNowhere = reinterpret_cast<char *>(size_t{1} << 44); // never touched

int setup(void **)
{
	g_heap = new heap;
	g_other = new heap;
	return 0;
}

int teardown(void **)
{
	delete g_heap;
	delete g_other;
	return 0;
}

void open_heap(heap *h, void *base, size_t bytes, size_t granule = kGranule)
{
	heap_config config;
	config.base = base;
	config.bytes = bytes;
	config.granule = granule;
	assert_int_equal(h->init(config), 0);
	assert_null(h->check());
}

uint64_t g_seed;
uint64_t rnd()
{
	g_seed ^= g_seed << 13;
	g_seed ^= g_seed >> 7;
	g_seed ^= g_seed << 17;
	return g_seed;
}

double now_ns()
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

long test_ops(long fallback)
{
	const char *text = getenv("HEAP_TEST_OPS");
	return text ? atol(text) : fallback;
}

// --- single situations -----------------------------------------------------------------------------------------------

void test_heap_init_bad_config_refused(void **)
{
	heap_config config;
	config.base = kNowhere + 8;
	config.bytes = kMiB;
	assert_int_not_equal(g_heap->init(config), 0);
	config.base = kNowhere;
	config.granule = 48;
	assert_int_not_equal(g_heap->init(config), 0);
	config.granule = 8;
	assert_int_not_equal(g_heap->init(config), 0);
	config.granule = 16;
	assert_int_equal(g_heap->init(config), 0);
	assert_int_not_equal(g_heap->init(config), 0); // once only
}

void test_heap_empty_range_gives_null(void **)
{
	open_heap(g_heap, kNowhere, 63);
	assert_null(g_heap->alloc(1));
	assert_false(g_heap->release(kNowhere));
	assert_null(g_heap->check());
}

void test_heap_alloc_is_aligned_and_apart(void **)
{
	open_heap(g_heap, kNowhere, kMiB);
	assert_null(g_heap->alloc(0));
	char *a = static_cast<char *>(g_heap->alloc(1));
	char *b = static_cast<char *>(g_heap->alloc(65));
	char *c = static_cast<char *>(g_heap->alloc(64));
	assert_ptr_equal(a, kNowhere);
	assert_ptr_equal(b, a + 64);
	assert_ptr_equal(c, b + 128);
	assert_int_equal(g_heap->block_bytes(b), 128);
	for (size_t align = 1; align <= 64 * 1024; align *= 2) {
		void *p = g_heap->alloc(100, align);
		assert_non_null(p);
		assert_int_equal(reinterpret_cast<uintptr_t>(p) % align, 0);
	}
	assert_null(g_heap->alloc(64, 48));
	assert_null(g_heap->check());
}

void test_heap_exhausted_returns_null_unchanged(void **)
{
	open_heap(g_heap, kNowhere, 100 * kGranule);
	assert_null(g_heap->alloc(100 * kGranule + 1));
	assert_null(g_heap->alloc(SIZE_MAX));
	assert_null(g_heap->alloc_zeroed(SIZE_MAX, 2));
	void *all = g_heap->alloc(100 * kGranule);
	assert_ptr_equal(all, kNowhere);
	assert_null(g_heap->alloc(1));
	assert_null(g_heap->resize(all, 101 * kGranule));
	assert_int_equal(g_heap->stats().used_blocks, 1);
	assert_int_equal(g_heap->stats().free_blocks, 0);
	assert_true(g_heap->release(all));
	// each size that fits is allocated, even if it is not a bin's size
	for (size_t n = 1; n <= 100; n++) {
		void *p = g_heap->alloc(n * kGranule), *q = n < 100 ? g_heap->alloc((100 - n) * kGranule) : kNowhere;
		assert_non_null(p);
		assert_non_null(q);
		assert_null(g_heap->alloc(1));
		assert_null(g_heap->check());
		g_heap->release(p);
		if (n < 100)
			g_heap->release(q);
		assert_int_equal(g_heap->stats().largest_free_bytes, 100 * kGranule);
	}
}

void test_heap_release_bad_pointer_refused(void **)
{
	open_heap(g_heap, kNowhere, kMiB);
	char *a = static_cast<char *>(g_heap->alloc(1000));
	assert_true(g_heap->is_block(a));
	assert_false(g_heap->release(nullptr));
	assert_false(g_heap->release(a + 1));
	assert_false(g_heap->release(a + 64));
	assert_false(g_heap->release(a - 64));
	assert_false(g_heap->release(kNowhere + kMiB));
	assert_false(g_heap->release(kNowhere + 512 * 1024));
	assert_int_equal(g_heap->block_bytes(a + 64), 0);
	assert_true(g_heap->release(a));
	assert_false(g_heap->release(a));
	assert_false(g_heap->is_block(a));
	assert_true(g_heap->contains(kNowhere + kMiB - 1));
	assert_false(g_heap->contains(kNowhere + kMiB));
	assert_null(g_heap->check());
}

void test_heap_release_any_order_coalesces(void **)
{
	open_heap(g_heap, kNowhere, 7 * kGranule);
	for (unsigned order = 0; order < 343; order++) {
		void *p[3] = {g_heap->alloc(64), g_heap->alloc(128), g_heap->alloc(256)};
		unsigned pick[3] = {order % 7 % 3, order / 7 % 7 % 3, order / 49 % 3};
		for (unsigned i : pick)
			g_heap->release(p[i]); // repeats are refused
		for (void *q : p)
			g_heap->release(q);
		assert_null(g_heap->check());
		assert_int_equal(g_heap->stats().free_blocks, 1);
		assert_int_equal(g_heap->stats().largest_free_bytes, 7 * kGranule);
	}
}

void test_heap_resize_in_place_or_moved(void **)
{
	char *pool =
		static_cast<char *>(mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	assert_ptr_not_equal(pool, MAP_FAILED);
	open_heap(g_heap, pool, kMiB);
	char *a = static_cast<char *>(g_heap->alloc(1000, 0, 7));
	memset(a, 0x5a, 1000);
	assert_ptr_equal(g_heap->resize(a, 5000), a); // free neighbour
	assert_int_equal(g_heap->block_tag(a), 7);
	assert_ptr_equal(g_heap->resize(a, 1000), a); // shrink
	assert_int_equal(g_heap->block_bytes(a), 1024);
	void *wall = g_heap->alloc(64);
	assert_ptr_equal(wall, a + 1024);
	char *b = static_cast<char *>(g_heap->resize(a, 5000));
	assert_ptr_not_equal(a, b);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(b[i], 0x5a);
	assert_int_equal(g_heap->block_tag(b), 7);
	assert_false(g_heap->is_block(a));
	assert_null(g_heap->resize(b, 2 * kMiB)); // refused, block unchanged
	assert_int_equal(g_heap->block_bytes(b), 5056);
	assert_null(g_heap->resize(b + 64, 100));
	assert_null(g_heap->check());
	munmap(pool, kMiB);
}

void test_heap_zeroed_after_reuse(void **)
{
	char *pool =
		static_cast<char *>(mmap(nullptr, kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	assert_ptr_not_equal(pool, MAP_FAILED);
	open_heap(g_heap, pool, kMiB);
	void *a = g_heap->alloc(10000);
	memset(a, 0xff, 10000);
	g_heap->release(a);
	char *z = static_cast<char *>(g_heap->alloc_zeroed(300, 100)); // half dirty, half never used
	assert_ptr_equal(z, a);
	for (int i = 0; i < 30000; i++)
		assert_int_equal(z[i], 0);
	assert_null(g_heap->alloc_zeroed(0, 8));
	munmap(pool, kMiB);
}

void test_heap_large_blocks_waste_below_a_granule(void **)
{
	open_heap(g_heap, kNowhere, 4096 * kGiB); // 4 TiB
	void *a = g_heap->alloc(kGiB + 1);
	assert_int_equal(g_heap->block_bytes(a), kGiB + 64);
	assert_int_equal(g_heap->stats().used_bytes, kGiB + 64);
	void *b = g_heap->alloc(3000 * kGiB);
	assert_non_null(b);
	assert_null(g_heap->alloc(1096 * kGiB));
	void *c = g_heap->alloc(1, size_t{1} << 31);
	assert_int_equal(reinterpret_cast<uintptr_t>(c) % (size_t{1} << 31), 0);
	void *d = g_heap->alloc(1000 * kGiB, size_t{1} << 30);
	assert_non_null(d);
	assert_int_equal(reinterpret_cast<uintptr_t>(d) % (size_t{1} << 30), 0);
	g_heap->release(b), g_heap->release(d), g_heap->release(a), g_heap->release(c);
	assert_int_equal(g_heap->stats().largest_free_bytes, 4096 * kGiB);
	void *all = g_heap->alloc(4096 * kGiB, size_t{1} << 30); // aligned, to the last byte
	assert_ptr_equal(all, kNowhere);
}

void test_heap_max_align_refused_above(void **)
{
	heap_config config;
	config.base = kNowhere;
	config.bytes = kGiB;
	config.max_align = 4096;
	assert_int_equal(g_heap->init(config), 0);
	assert_non_null(g_heap->alloc(64, 4096));
	assert_null(g_heap->alloc(64, 8192));
}

void test_heap_covers_within_one_block(void **)
{
	open_heap(g_heap, kNowhere, kMiB);
	char *a = static_cast<char *>(g_heap->alloc(3 * kGranule));
	char *b = static_cast<char *>(g_heap->alloc(kGranule));
	assert_true(g_heap->covers(a, 3 * kGranule));
	assert_true(g_heap->covers(a + kGranule + 5, 2 * kGranule - 5));
	assert_false(g_heap->covers(a, 3 * kGranule + 1)); // reaches into the next block
	assert_false(g_heap->covers(b + kGranule, 1));     // free
	assert_true(g_heap->release(a));
	assert_false(g_heap->covers(a, 1));
	assert_true(g_heap->covers(b, kGranule));
	assert_false(g_heap->covers(kNowhere + kMiB, 1));
}

void test_heap_two_bases_same_offsets(void **)
{
	char *const bases[2] = {kNowhere, kNowhere + 77 * kMiB};
	open_heap(g_heap, bases[0], 64 * kMiB);
	open_heap(g_other, bases[1], 64 * kMiB);
	heap *heaps[2] = {g_heap, g_other};
	enum { slots = 500 };
	static char *live[2][slots];
	memset(live, 0, sizeof(live));
	g_seed = 99;
	for (int i = 0; i < 100000; i++) {
		const size_t slot = rnd() % slots, bytes = rnd() % (300 * 1024), align = size_t{1} << rnd() % 20;
		for (int h = 0; h < 2; h++) {
			char *&pos = live[h][slot];
			if (pos)
				heaps[h]->release(pos), pos = nullptr;
			else
				pos = static_cast<char *>(heaps[h]->alloc(bytes, align));
		}
		if (!live[0][slot])
			assert_null(live[1][slot]);
		else
			assert_int_equal(live[0][slot] - bases[0], live[1][slot] - bases[1]);
	}
}

// --- random operations against a model -------------------------------------------------------------------------------

struct shape {
	const char *name;
	size_t pool_bytes, max_bytes, slots;
	unsigned align_bits; // alignments up to 1 << align_bits
};

struct model {
	char *pool;
	size_t granules;
	uint32_t *owner; // granule -> slot + 1
	char **addrs;    // slot -> address, and the requested size
	size_t *bytes;
};
model g_model;

void model_set(char *p, size_t bytes, uint32_t who, uint32_t was)
{
	const size_t first = static_cast<size_t>(p - g_model.pool) / kGranule;
	const size_t last = first + (bytes + kGranule - 1) / kGranule;
	assert_true(last <= g_model.granules);
	for (size_t g = first; g < last; g++) {
		if (g_model.owner[g] != was)
			fail_msg("granule %zu belongs to %u, not %u", g, g_model.owner[g], was);
		g_model.owner[g] = who;
	}
}

// the model's answer to "can this be allocated?"; aligned requests may fail in a fragmented heap although they fit
bool model_fits(size_t bytes)
{
	const size_t wanted = (bytes + kGranule - 1) / kGranule;
	size_t run = 0;
	for (size_t g = 0; g < g_model.granules; g++) {
		run = g_model.owner[g] == 0 ? run + 1 : 0;
		if (run >= wanted)
			return true;
	}
	return false;
}

void stamp(size_t slot)
{
	memset(g_model.addrs[slot], static_cast<int>(slot & 0xff), g_model.bytes[slot] < 64 ? g_model.bytes[slot] : 64);
	g_model.addrs[slot][g_model.bytes[slot] - 1] = static_cast<char>(slot);
}

void check_stamp(size_t slot, size_t upto)
{
	if (upto > 0 && g_model.addrs[slot][0] != static_cast<char>(slot))
		fail_msg("block of slot %zu was overwritten at its start", slot);
	if (upto >= g_model.bytes[slot] && g_model.addrs[slot][g_model.bytes[slot] - 1] != static_cast<char>(slot))
		fail_msg("block of slot %zu was overwritten at its end", slot);
}

size_t random_bytes(size_t most)
{
	// sizes spread over the powers of two, as programs request
	unsigned bits = 1;
	while (size_t{1} << bits < most)
		bits++;
	const size_t top = size_t{1} << (1 + rnd() % bits);
	const size_t n = 1 + rnd() % top;
	return n > most ? most : n;
}

void model_alloc(heap *h, const shape &s, size_t slot, long op)
{
	const size_t bytes = random_bytes(s.max_bytes);
	const size_t align = rnd() % 4 == 0 ? size_t{1} << rnd() % (s.align_bits + 1) : 0;
	const size_t blocks = h->stats().used_blocks;
	char *p = static_cast<char *>(h->alloc(bytes, align));
	if (!p) {
		assert_int_equal(h->stats().used_blocks, blocks);
		if (align <= kGranule && op % 32 == 0)
			assert_false(model_fits(bytes));
		return;
	}
	if (align)
		assert_int_equal(reinterpret_cast<uintptr_t>(p) % align, 0);
	model_set(p, bytes, static_cast<uint32_t>(slot + 1), 0);
	g_model.addrs[slot] = p;
	g_model.bytes[slot] = bytes;
	stamp(slot);
}

void model_resize(heap *h, const shape &s, size_t slot)
{
	const size_t bytes = random_bytes(s.max_bytes), had = g_model.bytes[slot];
	char *p = static_cast<char *>(h->resize(g_model.addrs[slot], bytes));
	if (!p) {
		check_stamp(slot, had);
		return;
	}
	model_set(g_model.addrs[slot], had, 0, static_cast<uint32_t>(slot + 1));
	model_set(p, bytes, static_cast<uint32_t>(slot + 1), 0);
	g_model.addrs[slot] = p;
	check_stamp(slot, bytes < had ? 1 : had);
	g_model.bytes[slot] = bytes;
	stamp(slot);
}

void random_run(const shape &s)
{
	const long ops = test_ops(1000000);
	open_heap(g_heap, g_model.pool, s.pool_bytes);
	g_seed = 0x9e3779b97f4a7c15u ^ s.pool_bytes;
	for (long op = 0; op < ops; op++) {
		const size_t slot = rnd() % s.slots;
		if (!g_model.addrs[slot]) {
			model_alloc(g_heap, s, slot, op);
		} else if (rnd() % 4 == 0) {
			model_resize(g_heap, s, slot);
		} else {
			check_stamp(slot, g_model.bytes[slot]);
			assert_true(g_heap->block_bytes(g_model.addrs[slot]) >= g_model.bytes[slot]);
			model_set(g_model.addrs[slot], g_model.bytes[slot], 0, static_cast<uint32_t>(slot + 1));
			assert_true(g_heap->release(g_model.addrs[slot]));
			g_model.addrs[slot] = nullptr;
		}
		if (op % (ops / 50 + 1) == 0) {
			const char *why = g_heap->check();
			if (why)
				fail_msg("%s: after %ld operations: %s", s.name, op, why);
		}
	}
	for (size_t slot = 0; slot < s.slots; slot++)
		if (g_model.addrs[slot])
			assert_true(g_heap->release(g_model.addrs[slot]));
	assert_null(g_heap->check());
	assert_int_equal(g_heap->stats().largest_free_bytes, s.pool_bytes);
	assert_int_equal(g_heap->stats().used_bytes, 0);
	print_message("           %s: %ld operations\n", s.name, ops);
}

void test_heap_random_operations_match_model(void **)
{
	static const shape shapes[] = {
		{"small blocks, full heap", 4 * kMiB, 2000, 6000, 8},
		{"mixed blocks", 32 * kMiB, 512 * 1024, 2000, 16},
		{"few large blocks, full heap", 32 * kMiB, 8 * kMiB, 40, 21},
		{"one granule each", kMiB, 64, 20000, 6},
	};
	for (const shape &s : shapes) {
		g_model.pool = static_cast<char *>(
			mmap(nullptr, s.pool_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
		assert_ptr_not_equal(g_model.pool, MAP_FAILED);
		g_model.granules = s.pool_bytes / kGranule;
		g_model.owner = static_cast<uint32_t *>(calloc(g_model.granules, sizeof(uint32_t)));
		g_model.addrs = static_cast<char **>(calloc(s.slots, sizeof(char *)));
		g_model.bytes = static_cast<size_t *>(calloc(s.slots, sizeof(size_t)));
		random_run(s);
		g_heap->fini();
		munmap(g_model.pool, s.pool_bytes);
		free(g_model.owner), free(g_model.addrs), free(g_model.bytes);
	}
}

// --- times -----------------------------------------------------------------------------------------------------------

// steady state: `live` blocks, each step releases one at random and allocates another; returns ns per single call
double steady_ns(size_t live, size_t most, char **pos)
{
	const long ops = test_ops(1000000);
	open_heap(g_heap, kNowhere, 1024 * kGiB);
	g_seed = 12345;
	for (size_t i = 0; i < live; i++)
		pos[i] = static_cast<char *>(g_heap->alloc(random_bytes(most)));
	for (size_t i = 0; i < live; i++) { // fragment
		const size_t k = rnd() % live;
		g_heap->release(pos[k]);
		pos[k] = static_cast<char *>(g_heap->alloc(random_bytes(most)));
	}
	double best = 1e18;
	for (int round = 0; round < 5; round++) {
		const double t = now_ns();
		for (long op = 0; op < ops / 5; op++) {
			const size_t k = rnd() % live;
			g_heap->release(pos[k]);
			pos[k] = static_cast<char *>(g_heap->alloc(1 + rnd() % most));
		}
		const double ns = (now_ns() - t) / (2.0 * static_cast<double>(ops / 5));
		best = ns < best ? ns : best;
	}
	assert_null(g_heap->check());
	g_heap->fini();
	return best;
}

void test_heap_times_printed(void **)
{
	constexpr size_t most_live = 1000000;
	char **pos = static_cast<char **>(calloc(most_live, sizeof(char *)));
	assert_non_null(pos);
	open_heap(g_heap, kNowhere, kGiB);
	double best = 1e18;
	for (int round = 0; round < 10; round++) {
		const double t = now_ns();
		for (int i = 0; i < 100000; i++) {
			void *p = g_heap->alloc(256);
			g_heap->release(p);
		}
		const double ns = (now_ns() - t) / 2e5;
		best = ns < best ? ns : best;
	}
	g_heap->fini();
	print_message("           alloc and free of one block: %.1f ns per call\n", best);
	for (size_t live = 100; live <= most_live; live *= 10)
		print_message("           %7zu live blocks: up to 1 KiB %.1f ns, up to 64 KiB %.1f ns per call\n", live,
			      steady_ns(live, 1024, pos), steady_ns(live, 65536, pos));
	free(pos);
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_heap_init_bad_config_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_empty_range_gives_null, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_alloc_is_aligned_and_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_exhausted_returns_null_unchanged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_release_bad_pointer_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_release_any_order_coalesces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_resize_in_place_or_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_zeroed_after_reuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_large_blocks_waste_below_a_granule, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_max_align_refused_above, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_covers_within_one_block, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_two_bases_same_offsets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_random_operations_match_model, setup, teardown),
		cmocka_unit_test_setup_teardown(test_heap_times_printed, setup, teardown),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
