// SPDX-License-Identifier: BSD-3-Clause
//
// test_devices_peers.cpp: device memory that several processes use: handles, copies both ways, atomics.
#include "device_test.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace device_test;

namespace {

constexpr size_t kBytes = size_t{3} << 20;
constexpr int kAdders = 4, kAdds = 100;

// For kinds with lock-based atomics: makes a fake end the process at the second copy of one.
const char *with_locks()
{
	if (!fake_has("hipInit") && !fake_has("zeInit"))
		return nullptr;
	return fake_has("hipInit") ? "hipMemcpyAsync:2:-9" : "zeCommandListAppendMemoryCopy:2:-9";
}

// --- the peers -------------------------------------------------------------------------------------------------------

// Opens the parent's region, reads it, overwrites the second half, and shares its own region.
int exchange(const peer &with)
{
	handle theirs, mine;
	region opened, own;
	hear(with, &theirs, sizeof theirs);
	GOOD(g_kind->take(theirs, opened));
	std::vector<char> want(kBytes), got(kBytes);
	pattern(want.data(), kBytes, 1);
	fetch(got.data(), opened.addr, kBytes);
	if (memcmp(want.data(), got.data(), kBytes) != 0 || !g_kind->owns(reinterpret_cast<void *>(opened.addr)))
		return 10;
	pattern(want.data(), kBytes, 2);
	put(opened.addr + kBytes / 2, want.data(), kBytes / 2);
	GOOD(g_kind->allocate(kBytes, 0, own));
	// from device to device, between two processes
	const piece across = {reinterpret_cast<void *>(own.addr), reinterpret_cast<void *>(opened.addr + kBytes / 2),
			      kBytes / 2};
	GOOD(g_kind->copy(&across, 1));
	GOOD(g_kind->finish());
	GOOD(g_kind->give(own, mine));
	tell(with, &mine, sizeof mine);
	char go;
	hear(with, &go, 1); // the parent has dropped it
	fetch(got.data(), own.addr, 8);
	const bool written = memcmp(got.data(), "parent\0", 8) == 0;
	g_kind->drop(opened);
	g_kind->release(own);
	return written ? 0 : 11;
}

int add(int rank, const peer &with)
{
	handle theirs;
	region opened;
	hear(with, &theirs, sizeof theirs);
	GOOD(g_kind->take(theirs, opened));
	for (int i = 0; i < kAdds; i++) {
		uint64_t old = 0;
		GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(opened.addr), 8, 1, 0, &old));
		GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(opened.addr + 12), 4, 3, 0, &old));
		GOOD(g_kind->amo(amo_op::bxor, reinterpret_cast<void *>(opened.addr + 16), 8, uint64_t{1} << rank, 0,
				 &old));
	}
	g_kind->drop(opened);
	return 0;
}

// Ends in the middle of an atomic, between its two copies.
int die(const peer &with)
{
	handle theirs;
	region opened;
	uint64_t old = 0;
	hear(with, &theirs, sizeof theirs);
	GOOD(g_kind->take(theirs, opened));
	setenv("FAKE_DRIVER_FAIL", with_locks(), 1);
	g_kind->amo(amo_op::add, reinterpret_cast<void *>(opened.addr), 8, 1, 0, &old);
	return 0;
}

// --- the cases -------------------------------------------------------------------------------------------------------

void test_peers_copy_both_ways(void **)
{
	region own, opened;
	handle mine, theirs;
	GOOD(g_kind->allocate(kBytes, 0, own));
	std::vector<char> first(kBytes), second(kBytes), got(kBytes);
	pattern(first.data(), kBytes, 1);
	pattern(second.data(), kBytes, 2);
	put(own.addr, first.data(), kBytes);
	GOOD(g_kind->give(own, mine));
	peer p = start_peer("exchange", 1);
	tell(p, &mine, sizeof mine);
	hear(p, &theirs, sizeof theirs);
	fetch(got.data(), own.addr, kBytes);
	assert_memory_equal(got.data(), first.data(), kBytes / 2);
	assert_memory_equal(got.data() + kBytes / 2, second.data(), kBytes / 2);
	GOOD(g_kind->take(theirs, opened));
	assert_true(opened.addr != own.addr && opened.bytes >= kBytes);
	fetch(got.data(), opened.addr, kBytes / 2);
	assert_memory_equal(got.data(), second.data(), kBytes / 2);
	put(opened.addr, "parent\0", 8);
	g_kind->drop(opened);
	assert_int_equal(opened.addr, 0);
	tell(p, "", 1);
	end_peer(p);
	g_kind->release(own);
}

void test_peers_atomics_add_up(void **)
{
	region own;
	handle mine;
	GOOD(g_kind->allocate(kBytes, 0, own));
	GOOD(g_kind->give(own, mine));
	peer peers[kAdders];
	for (int i = 0; i < kAdders; i++)
		peers[i] = start_peer("add", i);
	for (const peer &p : peers)
		tell(p, &mine, sizeof mine);
	for (peer &p : peers)
		end_peer(p);
	struct {
		uint64_t sum;
		uint32_t beside, sum4;
		uint64_t bits;
	} got;
	fetch(&got, own.addr, sizeof got);
	assert_int_equal(got.sum, kAdders * kAdds);
	assert_int_equal(got.beside, 0);
	assert_int_equal(got.sum4, 3 * kAdders * kAdds);
	assert_int_equal(got.bits, 0); // an even number of times
	g_kind->release(own);
}

void test_peers_atomics_go_on_when_one_dies(void **)
{
	if (!with_locks())
		return;
	region own;
	handle mine;
	uint64_t old = 7;
	GOOD(g_kind->allocate(kBytes, 0, own));
	GOOD(g_kind->give(own, mine));
	peer p = start_peer("die", 1);
	tell(p, &mine, sizeof mine);
	int status = 0;
	assert_int_equal(waitpid(p.pid, &status, 0), p.pid);
	assert_true(WIFSIGNALED(status));
	close(p.target);
	close(p.source);
	GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(own.addr), 8, 5, 0, &old));
	assert_int_equal(old, 0); // the dead peer had not stored its value
	GOOD(g_kind->amo(amo_op::add, reinterpret_cast<void *>(own.addr), 8, 5, 0, &old));
	assert_int_equal(old, 5);
	g_kind->release(own);
}

void test_peers_region_can_be_opened_twice(void **)
{
	handle theirs;
	region once, twice;
	peer p = start_peer("hold", 1);
	hear(p, &theirs, sizeof theirs);
	GOOD(g_kind->take(theirs, once));
	GOOD(g_kind->take(theirs, twice));
	put(once.addr, "words", 6);
	g_kind->drop(once);
	char got[6] = "";
	fetch(got, twice.addr, sizeof got);
	assert_string_equal(got, "words");
	g_kind->drop(twice);
	end_peer(p);
}

void test_peers_handle_that_lies_is_refused(void **)
{
	handle theirs, wrong;
	region opened;
	peer p = start_peer("hold", 1);
	hear(p, &theirs, sizeof theirs);
	wrong = theirs;
	wrong.bytes *= 64; // larger than the region
	assert_true(g_kind->take(wrong, opened) < 0);
	wrong.bytes = 0;
	assert_true(g_kind->take(wrong, opened) < 0);
	wrong = theirs;
	if (wrong.fd >= 0)
		wrong.fd = 4000;
	else
		memset(wrong.blob, 0x77, sizeof wrong.blob);
	assert_true(g_kind->take(wrong, opened) < 0);
	assert_true(strlen(g_kind->last_error()) > 3);
	assert_int_equal(opened.addr, 0);
	GOOD(g_kind->take(theirs, opened)); // the original is still valid
	g_kind->drop(opened);
	end_peer(p);
}

#define CASE(name_arg) cmocka_unit_test_setup_teardown(name_arg, open_kind, close_kind)

int run()
{
	const CMUnitTest tests[] = {
		CASE(test_peers_copy_both_ways),
		CASE(test_peers_atomics_add_up),
		CASE(test_peers_atomics_go_on_when_one_dies),
		CASE(test_peers_region_can_be_opened_twice),
		CASE(test_peers_handle_that_lies_is_refused),
	};
	return cmocka_run_group_tests_name(g_device->title, tests, nullptr, nullptr);
}

} // namespace

int device_test::play(const char *role, int rank, const peer &with)
{
	if (strcmp(role, "exchange") == 0)
		return exchange(with);
	if (strcmp(role, "die") == 0)
		return die(with);
	return strcmp(role, "add") == 0 ? add(rank, with) : hold_region(with, kBytes);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	const int rc = run_role(argc, argv);
	if (rc >= 0)
		return rc;
	if (const int bad = run_devices(kDevices, run))
		return bad;
	setenv("PGAS_DEVICE_FDS", "door", 1); // as on a system where no process may take another's descriptors
	return run_devices(kDevices, run);
}
