// SPDX-License-Identifier: BSD-3-Clause
//
// boot_exchange.hpp: the exchange at start by which processes that hold memory for each other learn who and where the
// others are. The libraries above add what they need to the cards, and open and close their endpoints; this file
// decides how often to exchange, and whether other hosts take part. All ranks see the same cards and therefore decide
// the same.
//
// Header only: the types are the libraries' own.
#pragma once

#include "pgas_boot.h"

#include <pgas/pgas_hostid.h>
#include <pgas/pgas_machine.hpp>

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace pgas::boot {

constexpr size_t kSecretBytes = 16;
constexpr size_t kHostNameBytes = 32; // in messages to users

// What a rank says about itself in every library. Address is plain data, which says where the endpoints are.
template <class Address>
struct base_card {
	Address address; // valid if it is_open
	bool is_open;    // the endpoints exist already
	uint64_t host;   // pgas_host_id()
	uint64_t kernel; // kernel_number()
	cpu_set_t cpus;  // on which it may run
	char host_name[kHostNameBytes];
	unsigned char secret[kSecretBytes]; // of the job: rank 0's is used, unless the launcher has one (job_secret)
};

// Fills in what does not depend on the library. False: `why` has the reason.
template <class Address>
bool describe_self(base_card<Address> &mine, char *why, size_t room)
{
	if (pgas_host_id(&mine.host, why, room) != 0)
		return false;
	gethostname(mine.host_name, sizeof mine.host_name - 1);
	mine.kernel = kernel_number();
	mine.cpus = usable_cores();
	unsigned char known[kSecretBytes];
	if (pgas_boot_rank() != 0 || pgas_boot_secret(known, sizeof known) ||
	    getrandom(mine.secret, sizeof mine.secret, 0) == sizeof mine.secret)
		return true;
	snprintf(why, room, "the system gives no random bytes");
	return false;
}

// What every rank passes, by rank. Returns 0 or a negative errno.
template <class Piece>
int gather(const Piece &mine, std::vector<Piece> &all)
{
	all.resize(static_cast<size_t>(pgas_boot_size()));
	return pgas_boot_allgather(&mine, sizeof mine, all.data());
}

template <class Card>
bool on_one_host(const std::vector<Card> &cards)
{
	return std::all_of(cards.begin(), cards.end(), [&](const Card &c) { return c.host == cards[0].host; });
}

// The launcher's secret, or that which rank 0 made and exchanged.
template <class Card>
void job_secret(const std::vector<Card> &cards, unsigned char *secret)
{
	if (!pgas_boot_secret(secret, kSecretBytes))
		std::copy_n(cards[0].secret, kSecretBytes, secret);
}

// Exchanges the cards, which derive from base_card, and opens the endpoints. Side is the library:
//
//	void open(const unsigned char *secret)	opens the endpoints; null: no other host takes part
//	void close()				closes them, so that they can be opened again
//	Address address()			of the open endpoints
//	void check(const std::vector<Card> &)	the cards have arrived, without all addresses; does not return if the
//						ranks do not fit together
//
// Endpoints are opened once it is known whether other hosts take part. If the launcher says that all ranks are on this
// host, it is believed, so that its jobs exchange only once; if the hosts' identities contradict it, the endpoints are
// opened again. Returns 0 or a negative errno.
template <class Card, class Side>
int exchange_cards(Card mine, Side &&side, std::vector<Card> &cards)
{
	const bool told_local = pgas_boot_local(nullptr, 0) == pgas_boot_size();
	mine.is_open = told_local;
	if (told_local) {
		side.open(nullptr);
		mine.address = side.address();
	}
	int rc = gather(mine, cards);
	if (rc != 0)
		return rc;
	side.check(cards);
	const bool local = on_one_host(cards);
	if (local && std::all_of(cards.begin(), cards.end(), [](const Card &c) { return c.is_open; }))
		return 0;
	if (told_local && !local)
		side.close();
	unsigned char secret[kSecretBytes];
	job_secret(cards, secret);
	if (!told_local || !local)
		side.open(local ? nullptr : secret);
	std::vector<decltype(mine.address)> addresses;
	rc = gather(side.address(), addresses);
	for (size_t rank = 0; rc == 0 && rank < cards.size(); rank++)
		cards[rank].address = addresses[rank];
	return rc;
}

// The ranks on the host of this one.
struct host_view {
	int count = 0;
	int place = 0;    // of this rank among them, in the order of ranks
	cpu_set_t cpus{}; // of all of them together
	// Ranks that other hosts of the job run on these CPUs: containers and other hosts may be one machine.
	int rivals = 0;
};

// Is there a CPU for each of them? Whoever has none of its own must not spin.
inline bool cores_suffice(const host_view &here) noexcept
{
	return pgas::cores_suffice(here.cpus, here.count + here.rivals);
}

template <class Card>
host_view view_host(const std::vector<Card> &cards)
{
	host_view here;
	const auto me = static_cast<size_t>(pgas_boot_rank());
	for (size_t rank = 0; rank < cards.size(); rank++) {
		if (cards[rank].host != cards[me].host)
			continue;
		here.count++;
		here.place += rank < me;
		CPU_OR(&here.cpus, &here.cpus, &cards[rank].cpus);
	}
	for (const Card &c : cards) {
		cpu_set_t common;
		CPU_AND(&common, &here.cpus, &c.cpus);
		here.rivals += c.host != cards[me].host && c.kernel && c.kernel == cards[me].kernel &&
			       CPU_COUNT(&common) > 0;
	}
	return here;
}

} // namespace pgas::boot
