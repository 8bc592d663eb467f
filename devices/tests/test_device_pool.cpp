// SPDX-License-Identifier: BSD-3-Clause
//
// The allocator of device memory against a model that knows the owner of each granule, by random calls of fixed seeds.
// POOL_TEST_OPS sets the number of calls for each shape (default 200,000).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cerrno>

extern "C" { // cmocka.h has no linkage of its own
#include <cmocka.h>
}

#include "devices/devices_pool.hpp"

using pgas::devices::pool;
using pgas::devices::pool_stats;

namespace {

constexpr size_t kGranule = 64;
constexpr size_t kKiB = 1024, kMiB = size_t{1} << 20, kGiB = size_t{1} << 30;
constexpr uint64_t kNone = pool::kNone;

pool *g_pool; // made and ended by setup and teardown, because a failed assertion jumps out of the test
pool *g_other;

int setup(void **)
{
	g_pool = new pool;
	g_other = new pool;
	return 0;
}

int teardown(void **)
{
	delete g_pool;
	delete g_other;
	return 0;
}

void open_pool(pool *p, size_t bytes)
{
	assert_int_equal(p->init(bytes), 0);
	assert_null(p->check());
}

// no block is used, and all memory is one free block again
void assert_whole(const pool *p, size_t bytes)
{
	assert_null(p->check());
	const pool_stats s = p->stats();
	assert_int_equal(s.total_bytes, bytes);
	assert_int_equal(s.used_bytes, 0);
	assert_int_equal(s.used_blocks, 0);
	assert_int_equal(s.free_bytes, bytes);
	assert_int_equal(s.largest_free_bytes, bytes);
}

uint64_t g_seed;

uint64_t random_word() // xorshift64*
{
	g_seed ^= g_seed >> 12;
	g_seed ^= g_seed << 25;
	g_seed ^= g_seed >> 27;
	return g_seed * 0x2545f4914f6cdd1du;
}

uint64_t below(uint64_t bound)
{
	return random_word() % bound;
}

size_t operations()
{
	const char *text = getenv("POOL_TEST_OPS");
	return text ? strtoull(text, nullptr, 10) : 200000;
}

// --- the model -------------------------------------------------------------------------------------------------------

constexpr size_t kMostGranules = 1 << 16, kMostBlocks = 1 << 13;

struct block {
	uint64_t offset;
	size_t bytes;
};

struct model {
	size_t granules, blocks, used;
	int owner[kMostGranules]; // 0: free; otherwise the number of its block, from 1
	block list[kMostBlocks];
	int number[kMostBlocks];
};
model g_model;

size_t granules_of(size_t bytes)
{
	return (bytes + kGranule - 1) / kGranule;
}

void model_open(size_t bytes)
{
	memset(&g_model, 0, sizeof g_model);
	g_model.granules = bytes / kGranule;
	assert_true(g_model.granules <= kMostGranules);
}

bool model_has_room(size_t bytes, size_t align)
{
	size_t run = 0;
	const size_t want = granules_of(bytes), step = align <= kGranule ? 1 : align / kGranule;
	for (size_t i = g_model.granules; i-- > 0;) {
		run = g_model.owner[i] ? 0 : run + 1;
		if (run >= want && i % step == 0)
			return true;
	}
	return false;
}

size_t model_largest()
{
	size_t run = 0, most = 0;
	for (size_t i = 0; i < g_model.granules; i++) {
		run = g_model.owner[i] ? 0 : run + 1;
		most = run > most ? run : most;
	}
	return most * kGranule;
}

void model_add(uint64_t offset, size_t bytes)
{
	static int last;
	last++;
	assert_true(g_model.blocks < kMostBlocks);
	assert_int_equal(offset % kGranule, 0);
	assert_true(offset / kGranule + granules_of(bytes) <= g_model.granules);
	for (size_t i = 0; i < granules_of(bytes); i++) {
		assert_int_equal(g_model.owner[offset / kGranule + i], 0);
		g_model.owner[offset / kGranule + i] = last;
	}
	g_model.list[g_model.blocks] = {offset, bytes};
	g_model.number[g_model.blocks++] = last;
	g_model.used += granules_of(bytes) * kGranule;
}

void model_remove(size_t which)
{
	const block b = g_model.list[which];
	memset(&g_model.owner[b.offset / kGranule], 0, granules_of(b.bytes) * sizeof(int));
	g_model.used -= granules_of(b.bytes) * kGranule;
	g_model.blocks--;
	g_model.list[which] = g_model.list[g_model.blocks];
	g_model.number[which] = g_model.number[g_model.blocks];
}

const block *model_at(uint64_t offset) // the block that contains this byte
{
	if (offset / kGranule >= g_model.granules || !g_model.owner[offset / kGranule])
		return nullptr;
	for (size_t i = 0; i < g_model.blocks; i++)
		if (g_model.number[i] == g_model.owner[offset / kGranule])
			return &g_model.list[i];
	return nullptr;
}

void compare_all()
{
	assert_null(g_pool->check());
	const pool_stats s = g_pool->stats();
	assert_int_equal(s.total_bytes, g_model.granules * kGranule);
	assert_int_equal(s.used_bytes, g_model.used);
	assert_int_equal(s.used_blocks, g_model.blocks);
	assert_int_equal(s.free_bytes, s.total_bytes - s.used_bytes);
	assert_int_equal(s.largest_free_bytes, model_largest());
	for (size_t i = 0; i < g_model.blocks; i++)
		assert_int_equal(g_pool->block_bytes(g_model.list[i].offset), g_model.list[i].bytes);
}

// --- random calls ----------------------------------------------------------------------------------------------------

struct shape {
	size_t pool_bytes, most_bytes;
	unsigned fill;    // this many of 100 calls allocate
	unsigned aligned; // this many of 100 allocations request an alignment
};

size_t random_size(size_t most) // all magnitudes are equally likely
{
	const size_t scale = most >> below(static_cast<uint64_t>(64 - __builtin_clzll(most)));
	return 1 + below(scale);
}

void try_alloc(const shape &s)
{
	const size_t bytes = random_size(s.most_bytes);
	const size_t align = below(100) < s.aligned ? size_t{1} << below(17) : 0;
	if (g_model.blocks == kMostBlocks)
		return;
	const uint64_t offset = g_pool->alloc(bytes, align);
	if (offset == kNone) { // it must find any free block that fits
		assert_false(model_has_room(bytes, align));
		return;
	}
	if (align)
		assert_int_equal(offset % align, 0);
	model_add(offset, bytes);
}

void try_wrong_release(const shape &s)
{
	const uint64_t offset = below(s.pool_bytes + 4096);
	const block *b = model_at(offset);
	if (!b || b->offset != offset) {
		assert_int_equal(g_pool->block_bytes(offset), 0);
		assert_false(g_pool->release(offset));
	}
}

void try_covers(const shape &s)
{
	const uint64_t offset = below(s.pool_bytes + 4096);
	const size_t bytes = below(256);
	const block *b = model_at(offset);
	const bool inside = b && offset < b->offset + b->bytes && offset + bytes <= b->offset + b->bytes;
	assert_int_equal(g_pool->covers(offset, bytes), inside);
}

void run_shape(const shape &s, uint64_t seed, size_t part = 1)
{
	g_seed = seed;
	open_pool(g_pool, s.pool_bytes);
	model_open(s.pool_bytes);
	const size_t count = operations() / part;
	for (size_t i = 0; i < count; i++) {
		const uint64_t dice = below(100);
		if (dice < s.fill) {
			try_alloc(s);
		} else if (g_model.blocks) {
			const size_t which = below(g_model.blocks);
			const uint64_t offset = g_model.list[which].offset;
			assert_true(g_pool->release(offset));
			model_remove(which);
			assert_false(g_pool->release(offset));
		}
		if (i % 16 == 0) {
			try_wrong_release(s);
			try_covers(s);
		}
		if (i % 4096 == 0)
			compare_all();
	}
	compare_all();
	while (g_model.blocks) {
		assert_true(g_pool->release(g_model.list[0].offset));
		model_remove(0);
	}
	assert_whole(g_pool, s.pool_bytes / kGranule * kGranule);
	g_pool->fini();
}

void test_random_small_blocks(void **)
{
	run_shape({kMiB, 512, 60, 0}, 11);
	run_shape({kMiB, 512, 50, 30}, 12);
}

void test_random_mixed_blocks(void **)
{
	run_shape({4 * kMiB, 64 * kKiB, 60, 0}, 21);
	run_shape({4 * kMiB, 64 * kKiB, 55, 20}, 22);
	run_shape({3 * kMiB + 192, 4 * kMiB, 60, 10}, 23); // not a power of two, and requests larger than the pool
}

void test_random_tiny_pools(void **)
{
	for (size_t granules = 1; granules < 20; granules++)
		run_shape({granules * kGranule + granules, 6 * kGranule, 60, 30}, 100 + granules, 10);
}

// --- single cases ----------------------------------------------------------------------------------------------------

void test_errors(void **)
{
	assert_int_equal(g_pool->alloc(64), kNone); // before init
	assert_false(g_pool->release(0));
	assert_int_equal(g_pool->block_bytes(0), 0);
	assert_false(g_pool->covers(0, 0));
	assert_int_equal(g_pool->stats().total_bytes, 0);
	assert_null(g_pool->check());
	assert_int_equal(g_pool->init(0), -EINVAL);
	assert_int_equal(g_pool->init(63), -EINVAL);
	open_pool(g_pool, kMiB);
	assert_int_equal(g_pool->init(kMiB), -EINVAL);

	assert_int_equal(g_pool->alloc(0), kNone);
	assert_int_equal(g_pool->alloc(kMiB + 1), kNone);
	assert_int_equal(g_pool->alloc(SIZE_MAX), kNone);
	assert_int_equal(g_pool->alloc(SIZE_MAX - 62), kNone);
	assert_int_equal(g_pool->alloc(64, 3), kNone);
	assert_int_equal(g_pool->alloc(64, 65), kNone);
	assert_int_equal(g_pool->alloc(64, SIZE_MAX), kNone);
	assert_whole(g_pool, kMiB);

	const uint64_t a = g_pool->alloc(300);
	assert_int_not_equal(a, kNone);
	assert_false(g_pool->release(a + 1));
	assert_false(g_pool->release(a + 64));
	assert_false(g_pool->release(kNone));
	assert_false(g_pool->release(kMiB));
	assert_int_equal(g_pool->block_bytes(a), 300);
	assert_int_equal(g_pool->block_bytes(a + 64), 0);
	assert_true(g_pool->covers(a, 300));
	assert_true(g_pool->covers(a + 299, 1));
	assert_false(g_pool->covers(a, 301));
	assert_false(g_pool->covers(a + 300, 0)); // rounded up, not requested
	assert_false(g_pool->covers(a + 1, SIZE_MAX));
	assert_false(g_pool->covers(kNone, 1));
	assert_true(g_pool->release(a));
	assert_false(g_pool->release(a));
	assert_false(g_pool->covers(a, 1));
	assert_whole(g_pool, kMiB);
	g_pool->fini();
	g_pool->fini();
	open_pool(g_pool, 64);
	assert_int_equal(g_pool->alloc(64, size_t{1} << 63), 0); // 0 is a multiple of everything
	assert_int_equal(g_pool->alloc(1), kNone);
}

void test_large_sizes_waste_nothing(void **)
{
	open_pool(g_pool, 8 * kGiB);
	const uint64_t a = g_pool->alloc(5 * kGiB);
	const uint64_t b = g_pool->alloc(3 * kGiB);
	assert_int_not_equal(a, kNone);
	assert_int_not_equal(b, kNone);
	assert_int_equal(g_pool->stats().free_bytes, 0);
	assert_true(g_pool->release(a));
	const uint64_t c = g_pool->alloc(5 * kGiB - 4097 * 64), d = g_pool->alloc(4097 * 64);
	assert_int_not_equal(c, kNone);
	assert_int_not_equal(d, kNone);
	assert_true(g_pool->release(c));
	assert_true(g_pool->release(b));
	assert_true(g_pool->release(d));
	assert_whole(g_pool, 8 * kGiB);
	g_pool->fini();

	const size_t odd = 139 * kGiB + 4096 + 64;
	open_pool(g_pool, odd + 63);
	assert_int_equal(g_pool->alloc(odd), 0);
	assert_int_equal(g_pool->alloc(1), kNone);
	assert_true(g_pool->release(0));
	assert_whole(g_pool, odd);
}

// a list of large blocks holds several sizes: a fitting block must be found after a hundred that do not fit
void test_large_fit_behind_misfits(void **)
{
	constexpr unsigned kBlocks = 100;
	uint64_t item[kBlocks + 1];
	open_pool(g_pool, (kBlocks + 1) * (8 * kMiB + 128));
	for (unsigned i = 0; i <= kBlocks; i++) {
		item[i] = g_pool->alloc(8 * kMiB + (i == 0 ? 64 : 0));
		assert_int_not_equal(item[i], kNone);
		assert_int_not_equal(g_pool->alloc(64), kNone); // keeps the holes apart
	}
	while (g_pool->alloc(64) != kNone) // no larger hole is left
		;
	for (unsigned i = 0; i <= kBlocks; i++)
		assert_true(g_pool->release(item[i]));
	assert_int_equal(g_pool->stats().largest_free_bytes, 8 * kMiB + 64);
	assert_int_equal(g_pool->alloc(8 * kMiB + 64), item[0]);
	assert_int_equal(g_pool->alloc(8 * kMiB + 64), kNone);
	assert_null(g_pool->check());
}

void test_exhausted_and_fragmented(void **)
{
	constexpr size_t kBlocks = 1 << 15;
	open_pool(g_pool, kBlocks * kGranule);
	for (size_t i = 0; i < kBlocks; i++)
		assert_int_equal(g_pool->alloc(1 + i % 64), i * 64); // lowest first while nothing was released
	assert_int_equal(g_pool->alloc(1), kNone);
	assert_int_equal(g_pool->stats().largest_free_bytes, 0);
	for (size_t i = 0; i < kBlocks; i += 2)
		assert_true(g_pool->release(i * 64));
	assert_int_equal(g_pool->alloc(65), kNone);
	assert_int_equal(g_pool->stats().largest_free_bytes, 64);
	assert_int_equal(g_pool->stats().free_bytes, kBlocks / 2 * 64);
	assert_null(g_pool->check());
	for (size_t i = 1; i < kBlocks; i += 2)
		assert_true(g_pool->release(i * 64));
	assert_whole(g_pool, kBlocks * kGranule);
}

// A PE that used its pool before gives the same offsets, although its tables are elsewhere and have grown.
void test_same_calls_same_offsets(void **)
{
	open_pool(g_other, kGiB);
	for (unsigned i = 0; i < 50000; i++)
		assert_int_not_equal(g_other->alloc(100), kNone);
	g_other->fini();
	open_pool(g_pool, 16 * kMiB);
	open_pool(g_other, 16 * kMiB);
	g_seed = 5;
	static uint64_t live[4096];
	memset(live, 0xff, sizeof live);
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t &slot = live[below(4096)];
		if (slot != kNone) {
			assert_int_equal(g_pool->release(slot), g_other->release(slot));
			slot = kNone;
		} else {
			const size_t bytes = random_size(128 * kKiB), align = below(4) ? 0 : size_t{1} << below(14);
			slot = g_pool->alloc(bytes, align);
			assert_int_equal(slot, g_other->alloc(bytes, align));
		}
	}
}

void test_records_follow_use(void **)
{
	open_pool(g_pool, 512 * kGiB + 64); // granules of 256 bytes
	assert_int_equal(g_pool->alloc(1), 0);
	assert_int_equal(g_pool->alloc(300), 256);
	assert_int_equal(g_pool->alloc(kGiB, 4096), 4096);
	assert_int_equal(g_pool->block_bytes(256), 300);
	assert_true(g_pool->covers(256 + 299, 1));
	assert_false(g_pool->covers(256 + 300, 1));
	assert_true(g_pool->stats().record_bytes < kMiB);
	assert_null(g_pool->check());
	size_t blocks = 3;
	for (; blocks < 100000; blocks++)
		assert_int_not_equal(g_pool->alloc(kMiB), kNone);
	assert_true(g_pool->stats().record_bytes < 128 * blocks);
	assert_null(g_pool->check());
}

// no memory for records: kNone, nothing is lost, and it works again when there is memory
void test_no_memory_for_records(void **)
{
	struct rlimit had;
	assert_int_equal(getrlimit(RLIMIT_AS, &had), 0);
	struct rlimit none = had;
	none.rlim_cur = 4096;
	open_pool(g_pool, kGiB);
	size_t blocks = 0;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	uint64_t pos = 0;
	while (blocks < 1000000 && pos != kNone) {
		pos = g_pool->alloc(64);
		blocks += pos != kNone;
	}
	const int other = g_other->init(kGiB);
	assert_int_equal(setrlimit(RLIMIT_AS, &had), 0);
	assert_int_equal(pos, kNone);
	assert_int_equal(other, -ENOMEM);
	assert_true(blocks > 0);
	assert_int_equal(g_pool->stats().used_blocks, blocks);
	assert_null(g_pool->check());
	assert_int_equal(g_pool->alloc(64), blocks * 64);
	open_pool(g_other, kGiB);
	assert_null(g_pool->check());
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_sizes_waste_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_large_fit_behind_misfits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exhausted_and_fragmented, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same_calls_same_offsets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_records_follow_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory_for_records, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_small_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_mixed_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random_tiny_pools, setup, teardown),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
