// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_kind.cpp: the interface of device memory, the same cases on every kind: the emulated one, and those of
// drivers with a fake driver below them. With a real device: DEVICES_TEST_KIND=cuda devices/tests/test_devices_kind.
#include "device_test.hpp"

#include <cerrno>
#include <cstring>
#include <thread>
#include <vector>

using namespace device_test;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

region g_memory, g_other;

int setup(void **state)
{
	const int rc = open_kind(state);
	if (rc != 0)
		return rc;
	GOOD(g_kind->allocate(4 * kMiB, 0, g_memory));
	GOOD(g_kind->allocate(4 * kMiB, 0, g_other));
	return 0;
}

int teardown(void **state)
{
	g_kind->release(g_memory);
	g_kind->release(g_other);
	return close_kind(state);
}

void *at(const region &r, size_t off = 0)
{
	return reinterpret_cast<void *>(r.addr + off);
}

// --- memory ----------------------------------------------------------------------------------------------------------

void test_memory_is_given_as_zeros_of_the_size(void **)
{
	assert_true(g_memory.bytes >= 4 * kMiB);
	std::vector<char> got(4 * kMiB, 'x'), zeros(4 * kMiB, 0);
	fetch(got.data(), g_memory.addr, got.size());
	assert_memory_equal(got.data(), zeros.data(), got.size());
	GOOD(g_kind->fill(at(g_memory), 0x5a, 4 * kMiB));
	g_kind->release(g_memory);
	assert_int_equal(g_memory.addr, 0);
	GOOD(g_kind->allocate(4 * kMiB, 0, g_memory));
	fetch(got.data(), g_memory.addr, got.size());
	assert_memory_equal(got.data(), zeros.data(), got.size());
}

void test_memory_is_known_as_the_devices(void **)
{
	static char host[64];
	int stack = 0;
	assert_true(g_kind->owns(at(g_memory)));
	assert_true(g_kind->owns(at(g_memory, 4 * kMiB - 1)));
	assert_true(g_kind->owns(at(g_other, 100)));
	assert_false(g_kind->owns(host));
	assert_false(g_kind->owns(&stack));
	assert_false(g_kind->owns(nullptr));
	region gone = g_memory;
	g_kind->release(g_memory);
	assert_false(g_kind->owns(at(gone)));
}

void test_memory_of_an_own_handle_is_not_opened(void **)
{
	handle h;
	region r;
	GOOD(g_kind->give(g_memory, h));
	assert_int_equal(h.bytes, g_memory.bytes);
	if (!g_device->queued || g_memory.cpu)
		return; // a file can be mapped twice
	assert_int_equal(g_kind->take(h, r), -EINVAL);
	assert_non_null(strstr(g_kind->last_error(), "of this process"));
}

void test_memory_of_one_device_has_one_number(void **)
{
	handle one, other;
	GOOD(g_kind->give(g_memory, one));
	GOOD(g_kind->give(g_other, other));
	assert_true(one.device != 0 && one.device == other.device);
}

void test_memory_of_huge_pages_is_refused_where_there_are_none(void **)
{
	region r;
	if (!g_device->queued)
		return; // the emulated device has any number
	assert_int_equal(g_kind->allocate(4096, size_t{1} << 30, r), -EOPNOTSUPP);
	assert_non_null(strstr(g_kind->last_error(), "pages"));
	GOOD(g_kind->allocate(4096, 4096, r));
	g_kind->release(r);
}

void test_memory_that_no_device_has_is_refused(void **)
{
	region r;
	const int rc = g_kind->allocate(size_t{1} << 62, 0, r);
	assert_true(rc < 0);
	assert_int_equal(r.addr, 0);
	assert_true(strlen(g_kind->last_error()) > 3);
}

// --- copies ----------------------------------------------------------------------------------------------------------

void test_copy_of_every_size_arrives(void **)
{
	static const size_t kSizes[] = {0, 1, 3, 4, 8, 100, 4096, 65535, 65536, 65537, kMiB, 3 * kMiB + 17};
	for (const size_t bytes : kSizes)
		for (const size_t off : {size_t{0}, size_t{5}}) {
			std::vector<char> sent(bytes + 16), got(bytes + 16, 'x');
			pattern(sent.data(), sent.size(), static_cast<unsigned>(bytes + off));
			put(g_memory.addr + off, sent.data() + off, bytes);
			const piece across = {at(g_other, off), at(g_memory, off), bytes};
			GOOD(g_kind->copy(&across, 1));
			const piece back = {got.data(), at(g_other, off), bytes};
			GOOD(g_kind->copy(&back, 1));
			GOOD(g_kind->finish());
			assert_memory_equal(got.data(), sent.data() + off, bytes);
			for (size_t i = bytes; i < got.size(); i++)
				assert_int_equal(got[i], 'x');
		}
}

void test_copy_of_many_pieces_arrives(void **)
{
	// more than the ring holds, and more than it keeps for later
	constexpr size_t kPieces = 5000, kBytes = 328;
	std::vector<char> sent(kPieces * kBytes), got(kPieces * kBytes, 'x');
	pattern(sent.data(), sent.size(), 7);
	std::vector<piece> there, across, back;
	for (size_t i = 0; i < kPieces; i++) {
		there.push_back({at(g_memory, i * kBytes), sent.data() + i * kBytes, kBytes});
		across.push_back({at(g_other, (kPieces - 1 - i) * kBytes), at(g_memory, i * kBytes), kBytes});
		back.push_back({got.data() + i * kBytes, at(g_other, (kPieces - 1 - i) * kBytes), kBytes});
	}
	GOOD(g_kind->copy(there.data(), kPieces));
	GOOD(g_kind->copy(across.data(), kPieces));
	GOOD(g_kind->copy(back.data(), kPieces));
	GOOD(g_kind->copy(nullptr, 0));
	GOOD(g_kind->finish());
	assert_memory_equal(got.data(), sent.data(), sent.size());
}

int submissions() // by the batch call or by a kernel
{
	return fake_calls(g_device->batch) + fake_calls("cuLaunchKernel");
}

void test_copy_of_several_pieces_is_one_call_of_the_driver(void **)
{
	if (!g_device->batch)
		return;
	char sent[300];
	pattern(sent, sizeof sent, 1);
	const piece three[] = {
		{at(g_memory), sent, 100}, {at(g_memory, 100), sent + 100, 100}, {at(g_memory, 200), sent + 200, 100}};
	const int before = submissions();
	GOOD(g_kind->copy(three, 3));
	GOOD(g_kind->finish());
	assert_int_equal(submissions(), before + 1);
}

// One by one, without a wait for each: submitted together, at the latest before any other call.
void test_copy_with_others_is_submitted_with_them(void **)
{
	constexpr size_t kWords = 300;
	std::vector<uint64_t> sent(kWords), got(kWords, 0);
	pattern(sent.data(), kWords * 8, 3);
	GOOD(g_kind->fill(at(g_memory), 0, kMiB));
	const int before = g_device->batch ? submissions() : 0, singles = fake_calls("cuMemcpyAsync");
	for (size_t i = 0; i < kWords; i++)
		GOOD(g_kind->copy_with_others({at(g_memory, i * 64), &sent[i], 8}));
	GOOD(g_kind->finish());
	if (g_device->batch) {
		assert_int_equal(submissions(), before + 3);
		assert_int_equal(fake_calls("cuMemcpyAsync"), singles);
	}
	for (size_t i = 0; i < kWords; i++)
		GOOD(g_kind->copy_with_others({&got[i], at(g_memory, i * 64), 8}));
	GOOD(g_kind->finish());
	assert_memory_equal(got.data(), sent.data(), kWords * 8);
}

void test_copy_with_others_is_done_before_what_follows(void **)
{
	std::vector<char> long_one(200000), got(200000);
	const uint64_t word = 0x1122334455667788;
	uint64_t old = 0, back = 0;
	pattern(long_one.data(), long_one.size(), 4);
	GOOD(g_kind->fill(at(g_memory), 0, kMiB));
	// a copy, an atomic and a fill see it
	GOOD(g_kind->copy_with_others({at(g_memory), &word, 8}));
	const piece target{at(g_memory, 8), at(g_memory), 8};
	GOOD(g_kind->copy(&target, 1));
	GOOD(g_kind->copy_with_others({at(g_memory, 16), &word, 8}));
	GOOD(g_kind->amo(amo_op::add, at(g_memory, 16), 8, 1, 0, &old));
	assert_true(old == word);
	GOOD(g_kind->copy_with_others({at(g_memory, 24), &word, 8}));
	GOOD(g_kind->fill(at(g_memory, 28), 0, 4));
	// long ones are not deferred, and follow the earlier ones
	GOOD(g_kind->copy_with_others({at(g_memory, 64), &word, 8}));
	GOOD(g_kind->copy_with_others({at(g_memory, 64), long_one.data(), long_one.size()}));
	GOOD(g_kind->copy_with_others({&back, at(g_memory, 8), 8}));
	GOOD(g_kind->copy_with_others({&back, at(g_memory, 8), 0}));
	GOOD(g_kind->finish());
	assert_true(back == word);
	uint64_t four[4];
	fetch(four, g_memory.addr, sizeof four);
	assert_true(four[0] == word && four[1] == word && four[2] == word + 1 && four[3] == (word & 0xffffffff));
	fetch(got.data(), g_memory.addr + 64, got.size());
	assert_memory_equal(got.data(), long_one.data(), got.size());
	// memory may be released while a copy is pending
	region r;
	GOOD(g_kind->allocate(4096, 0, r));
	GOOD(g_kind->copy_with_others({at(r), &word, 8}));
	g_kind->release(r);
	GOOD(g_kind->copy_with_others({at(g_memory), &word, 8})); // and so may the device
}

// Pieces of every length and alignment in one call, copied by a kernel if there is one, and no bytes next to them.
void test_copy_of_pieces_of_all_alignments_writes_them_alone(void **)
{
	static const size_t kLengths[] = {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 1000, 4099, 70001};
	constexpr size_t kRoom = 80000;
	std::vector<piece> pieces;
	std::vector<char> sent(kMiB), want(2 * kMiB, 0x11), got(2 * kMiB);
	pattern(sent.data(), sent.size(), 5);
	put(g_other.addr, sent.data(), sent.size());
	GOOD(g_kind->fill(at(g_memory), 0x11, 2 * kMiB));
	for (size_t i = 0; i < std::size(kLengths); i++) {
		const size_t dst_off = i * kRoom + i % 9, src_off = i * 777 + i * 5 % 17;
		pieces.push_back({at(g_memory, dst_off), at(g_other, src_off), kLengths[i]});
		memcpy(&want[dst_off], &sent[src_off], kLengths[i]);
	}
	for (size_t i = 0; i < 200; i++) { // more than fit into one launch
		pieces.push_back({at(g_memory, kMiB + kMiB / 2 + i * 24), at(g_other, i * 40), 16});
		memcpy(&want[kMiB + kMiB / 2 + i * 24], &sent[i * 40], 16);
	}
	GOOD(g_kind->copy(pieces.data(), pieces.size()));
	GOOD(g_kind->finish());
	fetch(got.data(), g_memory.addr, got.size());
	assert_memory_equal(got.data(), want.data(), got.size());
}

// Each copy() reads the bytes that the previous one wrote, through host memory too. There is no wait: idle() is enough,
// and returns false before it returns true.
void test_copy_is_over_when_the_device_is_idle(void **)
{
	constexpr size_t kBytes = 3000;
	unsigned char out[kBytes], back[kBytes] = "";
	region r;
	GOOD(g_kind->allocate(kBytes, 0, r));
	pattern(out, kBytes, 5);
	assert_int_equal(g_kind->idle(), 1);
	put(r.addr, out, kBytes);
	const piece p = {back, reinterpret_cast<void *>(r.addr), kBytes};
	GOOD(g_kind->copy(&p, 1));
	int asked = 0;
	while (g_kind->idle() == 0)
		asked++;
	assert_memory_equal(back, out, kBytes);
	if (!getenv("DEVICES_TEST_KIND") && !g_device->omp)
		assert_int_equal(asked, 1);
	assert_int_equal(g_kind->idle(), 1);
	g_kind->release(r);
}

void test_copy_comes_behind_earlier_ones(void **)
{
	static const size_t kSizes[] = {8, 1000, 65536, 200000};
	for (const size_t bytes : kSizes) {
		std::vector<char> first(bytes), second(bytes), host(bytes), last(bytes), two(2 * bytes);
		pattern(first.data(), bytes, 1);
		pattern(second.data(), bytes, 2);
		const piece steps[] = {
			{at(g_memory), first.data(), bytes},      {at(g_other), second.data(), bytes},
			{host.data(), at(g_memory), bytes},       {at(g_memory, kMiB), host.data(), bytes},
			{host.data(), at(g_other), bytes},        {at(g_memory, 2 * kMiB), host.data(), bytes},
			{two.data(), host.data(), bytes},         {host.data(), at(g_memory, kMiB), bytes},
			{two.data() + bytes, host.data(), bytes},
		};
		for (const piece &step : steps)
			GOOD(g_kind->copy(&step, 1));
		GOOD(g_kind->finish());
		assert_memory_equal(host.data(), first.data(), bytes);
		assert_memory_equal(two.data(), second.data(), bytes);
		assert_memory_equal(two.data() + bytes, first.data(), bytes);
		fetch(last.data(), g_memory.addr + kMiB, bytes);
		assert_memory_equal(last.data(), first.data(), bytes);
		fetch(last.data(), g_memory.addr + 2 * kMiB, bytes);
		assert_memory_equal(last.data(), second.data(), bytes);
	}
}

void test_copy_by_several_threads_arrives(void **)
{
	constexpr size_t kThreads = 4, kRounds = 100, kBytes = 5000;
	std::vector<char> wrong(kThreads, 0);
	std::vector<std::thread> threads;
	for (size_t t = 0; t < kThreads; t++)
		threads.emplace_back([&wrong, t] {
			std::vector<char> sent(kBytes), got(kBytes);
			for (unsigned round = 0; round < kRounds; round++) {
				pattern(sent.data(), kBytes, static_cast<unsigned>(t * 1000 + round));
				const piece there = {at(g_memory, t * kBytes), sent.data(), kBytes};
				const piece back = {got.data(), at(g_memory, t * kBytes), kBytes};
				uint64_t old = 0;
				if (g_kind->copy(&there, 1) != 0 || g_kind->copy(&back, 1) != 0 ||
				    g_kind->finish() != 0 || memcmp(sent.data(), got.data(), kBytes) != 0)
					wrong[t]++;
				if (g_kind->amo(amo_op::add, at(g_other), 8, 1, 0, &old) != 0)
					wrong[t]++;
			}
		});
	for (std::thread &one : threads)
		one.join();
	for (const char count : wrong)
		assert_int_equal(count, 0);
	uint64_t sum = 0;
	fetch(&sum, g_other.addr, sizeof sum);
	assert_int_equal(sum, kThreads * kRounds);
}

void test_fill_sets_its_bytes_alone(void **)
{
	std::vector<char> got(300);
	GOOD(g_kind->fill(at(g_memory, 100), 0xab, 100));
	GOOD(g_kind->fill(at(g_memory, 100), 0, 0));
	fetch(got.data(), g_memory.addr, got.size());
	for (size_t i = 0; i < got.size(); i++)
		assert_int_equal(static_cast<unsigned char>(got[i]), i >= 100 && i < 200 ? 0xab : 0);
}

// --- atomics ---------------------------------------------------------------------------------------------------------

uint64_t after(amo_op op, uint64_t word, uint64_t value, uint64_t compare)
{
	switch (op) {
	case amo_op::load:
		return word;
	case amo_op::store:
	case amo_op::swap:
		return value;
	case amo_op::compare_swap:
		return word == compare ? value : word;
	case amo_op::add:
		return word + value;
	case amo_op::band:
		return word & value;
	case amo_op::bor:
		return word | value;
	case amo_op::bxor:
		return word ^ value;
	}
	return 0;
}

void test_amo_of_every_sort_does_what_it_says(void **)
{
	static const struct {
		uint64_t word, value, compare;
	} kCases[] = {{0x1122334455667788, 0xfedcba9876543210, 0x1122334455667788},
		      {0x1122334455667788, 0xfedcba9876543210, 0x55667788},
		      {0xffffffffffffffff, 1, 0},
		      {0xffffffff, 1, 0xffffffff}};
	for (const size_t bytes : {size_t{4}, size_t{8}})
		for (unsigned op = 0; op <= static_cast<unsigned>(amo_op::bxor); op++)
			for (const auto &c : kCases) {
				const uint64_t mask = bytes == 8 ? UINT64_MAX : UINT32_MAX;
				uint64_t words[2] = {c.word, 0x0123456789abcdef}, old = 77;
				put(g_memory.addr + 8, words, sizeof words);
				const int rc =
					g_kind->amo(amo_op{op}, at(g_memory, 8), bytes, c.value, c.compare, &old);
				good(rc, "amo");
				assert_true(old == (c.word & mask));
				uint64_t now[2];
				fetch(now, g_memory.addr + 8, sizeof now);
				const uint64_t want =
					after(amo_op{op}, c.word & mask, c.value & mask, c.compare & mask);
				assert_true((now[0] & mask) == (want & mask));
				assert_true((now[0] & ~mask) == (c.word & ~mask));
				assert_true(now[1] == words[1]);
			}
}

void test_amo_comes_behind_copies(void **)
{
	uint64_t word = 40, old = 0, got = 0;
	const piece there = {at(g_memory), &word, sizeof word}, back = {&got, at(g_memory), sizeof got};
	GOOD(g_kind->copy(&there, 1));
	GOOD(g_kind->copy(&back, 1));
	GOOD(g_kind->amo(amo_op::add, at(g_memory), 8, 2, 0, &old));
	assert_int_equal(old, 40);
	GOOD(g_kind->finish());
	assert_int_equal(got, 40);
	fetch(&got, g_memory.addr, sizeof got);
	assert_int_equal(got, 42);
}

void test_amo_of_a_bad_target_is_refused(void **)
{
	static uint64_t host;
	uint64_t old = 0;
	assert_int_equal(g_kind->amo(amo_op::add, &host, 8, 1, 0, &old), -EFAULT);
	assert_int_equal(g_kind->amo(amo_op::add, at(g_memory, 4), 8, 1, 0, &old), -EFAULT);
	assert_int_equal(g_kind->amo(amo_op::add, at(g_memory, 2), 4, 1, 0, &old), -EFAULT);
	assert_int_equal(host, 0);
	GOOD(g_kind->amo(amo_op::add, at(g_memory, 4), 4, 1, 0, &old)); // and does no harm
}

// --- the kind --------------------------------------------------------------------------------------------------------

void test_kind_is_found_by_its_name(void **)
{
	assert_ptr_equal(find_kind(g_device->kind), g_kind);
	assert_string_equal(g_kind->name(), g_device->kind);
	assert_non_null(strstr(kind_names(), g_device->kind));
	assert_null(find_kind("no such kind"));
	assert_null(find_kind(""));
}

void test_kind_that_is_closed_says_so(void **)
{
	if (!g_device->queued)
		return;
	g_kind->close();
	g_kind->close();
	region r;
	assert_int_equal(g_kind->allocate(4096, 0, r), -ENODEV);
	assert_non_null(strstr(g_kind->last_error(), "not open"));
	assert_int_equal(g_kind->finish(), -ENODEV);
	assert_false(g_kind->owns(&r));
	GOOD(open_kind(nullptr)); // and can be opened again
}

#define CASE(name_arg) cmocka_unit_test_setup_teardown(name_arg, setup, teardown)

int run()
{
	const CMUnitTest tests[] = {
		CASE(test_memory_is_given_as_zeros_of_the_size),
		CASE(test_memory_is_known_as_the_devices),
		CASE(test_memory_of_an_own_handle_is_not_opened),
		CASE(test_memory_of_one_device_has_one_number),
		CASE(test_memory_of_huge_pages_is_refused_where_there_are_none),
		CASE(test_memory_that_no_device_has_is_refused),
		CASE(test_copy_of_every_size_arrives),
		CASE(test_copy_of_many_pieces_arrives),
		CASE(test_copy_of_several_pieces_is_one_call_of_the_driver),
		CASE(test_copy_with_others_is_submitted_with_them),
		CASE(test_copy_with_others_is_done_before_what_follows),
		CASE(test_copy_of_pieces_of_all_alignments_writes_them_alone),
		CASE(test_copy_is_over_when_the_device_is_idle),
		CASE(test_copy_comes_behind_earlier_ones),
		CASE(test_copy_by_several_threads_arrives),
		CASE(test_fill_sets_its_bytes_alone),
		CASE(test_amo_of_every_sort_does_what_it_says),
		CASE(test_amo_comes_behind_copies),
		CASE(test_amo_of_a_bad_target_is_refused),
		CASE(test_kind_is_found_by_its_name),
		CASE(test_kind_that_is_closed_says_so),
	};
	return cmocka_run_group_tests_name(g_device->title, tests, nullptr, nullptr);
}

} // namespace

int device_test::play(const char *, int, const peer &)
{
	return 1;
}

int main()
{
	return run_devices(kDevices, run);
}
