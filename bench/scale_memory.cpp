// SPDX-License-Identifier: BSD-3-Clause
//
// What a process keeps for every other process of its job: address vector, fronts of endpoints, the launcher's board.
// Addresses are invented: the endpoint's own, with some of its digits changed. The provider only checks their form
// until they are used.
#include "scale.hpp"

#include <boot_board.hpp>
#include <pgas/pgas_open.h>
#include <pgas/pgas_types.h>
#include <rdma/fi_cm.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace bench::scale {
namespace {

[[noreturn]] void give_up(const char *what, int err)
{
	fprintf(stderr, "scale_sim: %s: %s\n", what, pgas_strerror(err));
	_exit(1);
}

struct endpoint {
	pgas_opened net{};
	pgas_opened_ep own{};
	fid_cntr *counter = nullptr;

	explicit endpoint(size_t ranks)
	{
		setenv("FI_PGAS_MAX_PEERS", std::to_string(ranks < 16 ? 16 : ranks).c_str(), 1);
		open_domain();
		fi_cntr_attr attr{};
		if (const int err = fi_cntr_open(net.domain, &attr, &counter, nullptr))
			give_up("fi_cntr_open", -err);
		const pgas_ep_wish wish{0, ranks, &counter->fid, FI_WRITE | FI_READ};
		if (pgas_open_ep(&net, &wish, &own, give_up) != 0)
			_exit(1);
	}
	// For this host only: nothing here may depend on the machine's networks.
	void open_domain()
	{
		fi_provider *const provider = pgas_provider();
		fi_info *const hints = fi_allocinfo();
		if (!hints)
			give_up("fi_allocinfo", FI_ENOMEM);
		hints->caps = FI_RMA | FI_ATOMIC | FI_LOCAL_COMM;
		hints->ep_attr->type = FI_EP_RDM;
		hints->domain_attr->threading = FI_THREAD_DOMAIN;
		int err = provider->getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &net.info);
		if (!err)
			err = provider->fabric(net.info->fabric_attr, &net.fabric, nullptr);
		if (!err)
			err = fi_domain(net.fabric, net.info, &net.domain, nullptr);
		if (err)
			give_up("cannot open the provider", -err);
		fi_freeinfo(hints);
	}
	std::string name() const
	{
		char text[256] = {};
		size_t bytes = sizeof text;
		if (const int err = fi_getname(&own.ep->fid, text, &bytes))
			give_up("fi_getname", -err);
		return std::string(text, bytes);
	}
};

// The positions of a name where changing a digit gives another valid name: found by trial, starting at the end.
std::vector<size_t> free_digits(fid_domain *domain, const std::string &name)
{
	constexpr size_t kWanted = 5; // hexadecimal digits: a million names
	std::vector<size_t> places;
	fi_av_attr attr{};
	fid_av *trial;
	if (const int err = fi_av_open(domain, &attr, &trial, nullptr))
		give_up("fi_av_open", -err);
	for (size_t pos = strnlen(name.c_str(), name.size()); pos-- > 0 && places.size() < kWanted;) {
		if (!strchr("0123456789abcdef", name[pos]))
			continue;
		bool all = true;
		for (const char digit : {'0', '7', 'f'}) {
			std::string other = name;
			other[pos] = digit;
			fi_addr_t index;
			all = all && fi_av_insert(trial, other.data(), 1, &index, 0, nullptr) == 1;
		}
		if (all)
			places.push_back(pos);
	}
	fi_close(&trial->fid);
	if (places.size() < kWanted)
		give_up("an address has too few digits to invent others", FI_EINVAL);
	return places;
}

} // namespace

// Inserts all addresses at once, as a library does after its exchange.
footprint address_vector(size_t ranks)
{
	const endpoint e(ranks);
	const std::string name = e.name();
	const std::vector<size_t> places = free_digits(e.net.domain, name);
	std::string all;
	all.reserve(ranks * name.size());
	for (size_t rank = 0; rank < ranks; rank++) {
		std::string one = name;
		for (size_t k = 0; k < places.size(); k++)
			one[places[k]] = "0123456789abcdef"[rank >> 4 * k & 15];
		all += one;
	}
	const footprint before = now();
	const int got = fi_av_insert(e.own.av, all.data(), ranks, nullptr, 0, nullptr);
	if (got != static_cast<int>(ranks))
		give_up("fi_av_insert", got < 0 ? -got : FI_EINVAL);
	return now() - before;
}

// touched: every rank has been used through a window, the most that a program does that communicates with all ranks of
// its host.
footprint front(size_t ranks, bool touched)
{
	const endpoint first(ranks);
	const footprint before = now();
	fid_ep *more;
	if (const int err = fi_endpoint(first.net.domain, first.net.info, &more, nullptr))
		give_up("fi_endpoint", -err);
	auto *front = reinterpret_cast<pgas_ep *>(more);
	for (size_t rank = 0; touched && rank < ranks; rank++) {
		front->window[rank] = 0;
		front->peer[rank].meta = 0;
		front->check[rank].bound8 = 0;
	}
	return now() - before;
}

// Every rank puts a card into its cell of the exchange, and one rank reads them all: measures the size of a host's
// board, and the time to read it.
footprint board(size_t ranks)
{
	namespace boot = pgas::boot;
	const footprint before = now();
	boot::board_plan plan{};
	const size_t bytes = boot::board_layout(plan, static_cast<uint32_t>(ranks));
	const int fd = memfd_create("board", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0)
		give_up("no file for a board", errno);
	void *addr = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (addr == MAP_FAILED)
		give_up("cannot map a board", errno);
	plan.size = static_cast<uint32_t>(ranks);
	const boot::board_view view{static_cast<char *>(addr), plan};
	for (size_t rank = 0; rank < ranks; rank++) {
		view.slot(static_cast<uint32_t>(rank)).state = boot::kSlotLive;
		memset(view.cell(0, static_cast<uint32_t>(rank)), 1, kCardBytes);
	}
	std::vector<char> cards(ranks * kCardBytes);
	footprint made = now() - before;
	const footprint start = now();
	for (size_t rank = 0; rank < ranks; rank++)
		memcpy(cards.data() + rank * kCardBytes, view.cell(0, static_cast<uint32_t>(rank)), kCardBytes);
	made.seconds = (now() - start).seconds;
	made.reserved_bytes = static_cast<double>(bytes);
	return made;
}

} // namespace bench::scale
