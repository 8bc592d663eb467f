// SPDX-License-Identifier: BSD-3-Clause
//
// test_boot_exchange.cpp: how often ranks exchange at start, and when endpoints are opened. The launcher is a fake: it
// lets a second rank say what the test wants.
#include "boot_exchange.hpp"

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
extern "C" {
#include <cmocka.h>
}

using namespace pgas::boot;

namespace {

struct place {
	char text[16];
};
struct card : base_card<place> {
	uint64_t number;
};

struct peer_state { // rank 1, and the launcher
	bool told_local = true, same_host = true, is_open = true, same_kernel = true, same_cpus = true;
	int exchanges = 0, failing = 0; // failing: the number of the exchange that fails; 0: none
	bool has_secret = false;        // the launcher has given one to all ranks
} g_peer;
constexpr char kGiven[] = "the launcher's 1";
std::string g_calls; // of the side

struct side {
	void open(const unsigned char *secret) const
	{
		const bool given = secret && memcmp(secret, kGiven, kSecretBytes) == 0;
		g_calls += given ? "open(given) " : secret ? "open(secret) " : "open ";
	}
	void close() const { g_calls += "close "; }
	place address() const
	{
		g_calls += "address ";
		return {"here"};
	}
	void check(const std::vector<card> &cards) const { g_calls += "check" + std::to_string(cards.size()) + " "; }
};

int run(std::vector<card> &cards)
{
	char why[320];
	card mine{};
	g_calls.clear();
	mine.number = 7;
	assert_true(describe_self(mine, why, sizeof why));
	return exchange_cards(mine, side{}, cards);
}

void test_exchange_on_one_host_is_one(void **)
{
	std::vector<card> cards;
	g_peer = {};
	assert_int_equal(run(cards), 0);
	assert_string_equal(g_calls.c_str(), "open address check2 ");
	assert_int_equal(g_peer.exchanges, 1);
	assert_true(on_one_host(cards) && cards[1].number == 7);
	assert_string_equal(cards[1].address.text, "here");
	const host_view here = view_host(cards);
	assert_int_equal(here.count, 2);
	assert_int_equal(here.place, 0);
	assert_true(CPU_COUNT(&here.cpus) > 0);
}

void test_exchange_with_another_host_opens_again(void **)
{
	std::vector<card> cards;
	g_peer = {};
	g_peer.same_host = false;
	assert_int_equal(run(cards), 0);
	assert_string_equal(g_calls.c_str(), "open address check2 close open(secret) address ");
	assert_int_equal(g_peer.exchanges, 2);
	assert_false(on_one_host(cards));
	assert_string_equal(cards[1].address.text, "there");
	assert_int_equal(view_host(cards).count, 1);
}

void test_exchange_without_word_of_the_launcher_opens_late(void **)
{
	std::vector<card> cards;
	g_peer = {};
	g_peer.told_local = g_peer.is_open = false;
	assert_int_equal(run(cards), 0);
	assert_string_equal(g_calls.c_str(), "check2 open address ");
	g_peer = {};
	g_peer.told_local = g_peer.is_open = g_peer.same_host = false;
	assert_int_equal(run(cards), 0);
	assert_string_equal(g_calls.c_str(), "check2 open(secret) address ");
	assert_string_equal(cards[1].address.text, "there");
}

// Two hosts of a job may be one machine, as containers are. Then a CPU that both use counts for both.
void test_exchange_with_a_host_on_the_same_machine(void **)
{
	for (const bool kernel : {false, true})
		for (const bool cpus : {false, true}) {
			std::vector<card> cards;
			g_peer = {};
			g_peer.same_host = false;
			g_peer.same_kernel = kernel;
			g_peer.same_cpus = cpus;
			assert_int_equal(run(cards), 0);
			host_view here = view_host(cards);
			assert_int_equal(here.count, 1);
			assert_int_equal(here.rivals, kernel && cpus);
			CPU_ZERO(&here.cpus);
			CPU_SET(0, &here.cpus);
			assert_true(cores_suffice(here) == !(kernel && cpus));
		}
}

// The launcher told only us that all ranks are here: our endpoints stay open.
void test_exchange_with_a_rank_that_was_not_told(void **)
{
	std::vector<card> cards;
	g_peer = {};
	g_peer.is_open = false;
	assert_int_equal(run(cards), 0);
	assert_string_equal(g_calls.c_str(), "open address check2 address ");
}

// Then none is made, and none travels.
void test_exchange_takes_the_secret_of_the_launcher(void **)
{
	const unsigned char none[kSecretBytes] = {};
	std::vector<card> cards;
	g_peer = {};
	g_peer.same_host = false;
	g_peer.has_secret = true;
	assert_int_equal(run(cards), 0);
	assert_string_equal(g_calls.c_str(), "open address check2 close open(given) address ");
	assert_memory_equal(cards[0].secret, none, sizeof none);
	g_peer.has_secret = false;
	assert_int_equal(run(cards), 0);
	assert_memory_not_equal(cards[0].secret, none, sizeof none);
}

void test_exchange_that_fails_is_told(void **)
{
	std::vector<card> cards;
	for (int n : {1, 2}) {
		g_peer = {};
		g_peer.same_host = false;
		g_peer.failing = n;
		assert_int_equal(run(cards), -EIO);
	}
}

} // namespace

extern "C" {

int pgas_boot_rank(void) noexcept
{
	return 0;
}

int pgas_boot_size(void) noexcept
{
	return 2;
}

int pgas_boot_secret(void *bytes, size_t room) noexcept
{
	if (g_peer.has_secret)
		memcpy(bytes, kGiven, room);
	return g_peer.has_secret;
}

int pgas_boot_local(int *, int) noexcept
{
	return g_peer.told_local ? 2 : -ENOSYS;
}

// What rank 1 passes is what rank 0 passes, but for what the test wants.
int pgas_boot_allgather(const void *mine, size_t bytes, void *all) noexcept
{
	if (++g_peer.exchanges == g_peer.failing)
		return -EIO;
	memcpy(all, mine, bytes);
	memcpy(static_cast<char *>(all) + bytes, mine, bytes);
	if (bytes == sizeof(place)) {
		static_cast<place *>(all)[1] = {"there"};
		return 0;
	}
	card &other = static_cast<card *>(all)[1];
	other.is_open = g_peer.is_open;
	other.host += g_peer.same_host ? 0 : 1;
	other.kernel += g_peer.same_kernel ? 0 : 1;
	if (!g_peer.same_cpus) {
		CPU_ZERO(&other.cpus);
		CPU_SET(CPU_SETSIZE - 1, &other.cpus);
	}
	return 0;
}

} // extern "C"

int main()
{
	const CMUnitTest tests[] = {
		cmocka_unit_test(test_exchange_on_one_host_is_one),
		cmocka_unit_test(test_exchange_with_another_host_opens_again),
		cmocka_unit_test(test_exchange_without_word_of_the_launcher_opens_late),
		cmocka_unit_test(test_exchange_with_a_host_on_the_same_machine),
		cmocka_unit_test(test_exchange_with_a_rank_that_was_not_told),
		cmocka_unit_test(test_exchange_takes_the_secret_of_the_launcher),
		cmocka_unit_test(test_exchange_that_fails_is_told),
	};
	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
