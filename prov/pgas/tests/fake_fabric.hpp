// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the files of the tests' network provider: its objects (made by fake_fabric.cpp), and data movement
// (fake_fabric_move.cpp).
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <devices/devices_kind.hpp>

#include "fake_fabric.h"

namespace fake_fabric {

using namespace pgas;

constexpr size_t kChunk = 32768;

extern fake_fabric_counts g_counts;

struct address {
	uint32_t pid = 0, number = 0;
};

enum class what : uint32_t { message, write, ask, answer, over };
struct head {
	what kind;
	int32_t status; // answer: over
	address sender;
	uint64_t id; // of the initiator's transfer
	uint64_t key, addr, len, offset;
	uint32_t last;
};

struct fake_domain;
struct fake_mr {
	fid_mr fid{};
	fake_domain *dom;
	char *base;
	size_t len;
	uint64_t access;
	devices::kind *kind;
};

struct transfer {
	what kind; // write, ask; or answer: for a peer
	void *context;
	char *base; // local; answer: not used
	size_t len;
	devices::kind *device;
	address dest;
	uint64_t addr, key, id;
	size_t sent = 0, came = 0;
	bool waits = false; // everything is sent
};

struct buffer {
	void *bytes, *context;
	size_t len;
};
struct finished {
	void *context;
	uint64_t flags;
	size_t len;
	int err;
};

struct fake_cq {
	fid_cq fid{};
	std::deque<finished> done;
	struct fake_ep *ep = nullptr;
};
struct fake_av {
	fid_av fid{};
	std::vector<address> known;
};
struct fake_domain {
	fid_domain fid{};
	std::map<uint64_t, fake_mr *> regions;
};
struct fake_ep {
	fid_ep fid{};
	fake_domain *dom = nullptr;
	fake_cq *cq = nullptr;
	fake_av *av = nullptr;
	int socket = -1;
	address self;
	uint64_t next = 1;
	std::deque<buffer> posted;
	std::deque<transfer> transfers;
	std::deque<std::pair<address, head>> replies; // replies without room
	std::vector<char> room = std::vector<char>(sizeof(head) + kChunk), chunk = std::vector<char>(kChunk);
	ssize_t held_bytes = 0; // in `room`: a message arrived with no buffer posted
};

sockaddr_un name_of(const address &a, socklen_t *len);
// Returns 0, -FI_EAGAIN, or the peer's error.
int put_datagram(const fake_ep &ep, const address &dest, const head &h, const void *bytes, size_t len);
void progress(fake_ep &ep);

} // namespace fake_fabric
