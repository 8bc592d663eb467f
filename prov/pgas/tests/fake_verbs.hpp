// SPDX-License-Identifier: BSD-3-Clause
//
// libibverbs and librdmacm for tests: adapters, queue pairs and connections inside one process, for the real code of
// the port over them. Everything happens late, at random, in an order that is possible with the real ones; errors that
// real ones do not forgive (a full queue, a wrong state, an invalid key) end the program. It can break queue pairs,
// kill processes and hosts, refuse memory, and report failing adapters.
//
// Time advances whenever a port polls its completions or events: network::step(). There is one thread.
#pragma once

#include "wire/net/port/net_port.hpp"
#include "wire/net/port/verbs/verbs_api.hpp"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#define FAKE_CHECK(is, what)                                                                                           \
	do {                                                                                                           \
		if (!(is)) {                                                                                           \
			fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, what, #is);                            \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

namespace fake_rdma {

struct host;
struct network;

struct fake_device : ibv_device {
	host *machine;
};
struct fake_mr : ibv_mr {
	host *machine;
	int access;
};
struct fake_channel : ibv_comp_channel {
	host *machine;
	ibv_cq *rang = nullptr;
	unsigned rings = 0; // in the descriptor
};
struct fake_cq : ibv_cq {
	host *machine;
	std::deque<ibv_wc> done;
	bool notify = false;
	unsigned unacked = 0;
};
struct fake_srq : ibv_srq {
	host *machine;
	unsigned most;
	std::deque<ibv_recv_wr> posted;
	std::deque<ibv_sge> places; // of `posted`
};

struct request {
	ibv_send_wr wr;
	ibv_sge sge;
	std::string inlined;
	bool executed = false; // by the other side; a READ's bytes arrive when it completes
	ibv_wc_status status = IBV_WC_SUCCESS;
};
struct fake_qp : ibv_qp {
	host *machine;
	unsigned depth, inline_most;
	std::deque<request> queue;   // not completed
	std::deque<ibv_wc> flushing; // completions in flight
	unsigned held = 0;           // places in the queue: until their completion is polled
	unsigned silent = 0;         // executed without a completion since the last that had one
	uint32_t dest = 0;
	unsigned access = 0, reads = 0, reads_served = 0;
	unsigned tries = 0; // without an answer
	uint64_t through = 0, posted = 0;
};

enum class id_state : uint8_t { fresh, listening, resolved, req_sent, req_received, rep_sent, rep_received, up, over };

struct fake_id : rdma_cm_id {
	host *machine;
	id_state state = id_state::fresh;
	uint64_t serial = 0, peer = 0;
	host *dest = nullptr;
	uint16_t number = 0; // where it listens, or calls; network order
	uint32_t qpn = 0, peer_qpn = 0;
	unsigned resources = 0, depth = 0;
	unsigned unacked = 0;
};
struct fake_event : rdma_cm_event {
	std::string words;
};

enum class message_kind : uint8_t { address, route, req, rep, rtu, rej, dreq, unreachable };
struct message {
	message_kind kind;
	host *sender, *dest;
	uint64_t caller, id; // id 0: the connection whose peer is `caller`
	int status;
	uint32_t qpn;
	unsigned resources, depth;
	uint16_t number;
	std::string words;
};

// A process with its own adapter; several may have one IP address.
struct host {
	network *net;
	unsigned ip;
	bool v6 = false;
	fake_device device{}, cm_device{};
	verbs_context context{}, cm_context{};
	rdma_event_channel events{};
	std::deque<std::unique_ptr<fake_event>> told;
	std::deque<ibv_async_event> async;
	bool opened = false, dead = false, silent = false, cut = false;
	bool purges = false;         // destroying a queue pair removes its completions from the queue
	bool other_adapter = false;  // routes lead through another one
	int registrations_left = -1; // that succeed; -1: all
	int queue_pairs_left = -1;
	int post_error = 0;       // for every posting
	unsigned stale_calls = 0; // to refuse, because the kernel remembers that queue pair
	int max_cqe = 4096;
	unsigned inline_most = 220;
	unsigned pds = 0, cqs = 0, srqs = 0, channels = 0, memories = 0, ids = 0;
	uint16_t listens_at = 0; // if given; else chosen. Host order
	fake_cq *cq = nullptr;
	fake_srq *srq = nullptr;
};

struct network {
	std::mt19937_64 random{1};
	std::vector<std::unique_ptr<host>> hosts;
	std::map<uint32_t, fake_qp *> qps;
	std::map<uint32_t, fake_mr *> memories;
	std::map<uint64_t, fake_id *> ids;
	std::map<std::pair<host *, host *>, std::deque<message>> wire;
	host *opening = nullptr;
	uint32_t next_qpn = 17, next_key = 1000;
	uint64_t next_id = 1;
	uint16_t next_port = 20000;
	unsigned steps_most = 3; // for each poll of a port
	bool on_demand = false;
	bool still = false; // no posted request is executed
	uint64_t rnr = 0, calls = 0, refusals = 0, breaks = 0;
	// Changes the private data of a call (req), an answer (rep) or a refusal (rej). Null: no changes.
	std::function<void(network &, message &)> change;

	network();
	~network();
	void seed(unsigned n) // FAKE_SEED: other random events than usual
	{
		const char *more = getenv("FAKE_SEED");
		random.seed(n + (more ? strtoul(more, nullptr, 10) * 1000 : 0));
	}
	unsigned below(unsigned n) { return static_cast<unsigned>(random() % n); }
	host &add(unsigned ip, uint16_t listens_at = 0);
	pgas::port *open(host &h, size_t packet = 16384, std::string *why = nullptr);

	void step();
	void steps(unsigned n)
	{
		while (n--)
			step();
	}
	// Faults. delivered: how many posted requests still reach the other side, without an acknowledgement.
	void break_qp(fake_qp &q, unsigned delivered, ibv_wc_status status = IBV_WC_RETRY_EXC_ERR);
	std::vector<fake_qp *> qps_of(const host &h, const host *dst = nullptr);
	void kill(host &h);    // its process: the kernel notifies the peers
	void silence(host &h); // the whole machine
	void remove_device(host &h);
	void tell(host &h, ibv_event_type type, ibv_qp *qp = nullptr);

	fake_qp *qp_at(uint32_t number)
	{
		const auto it = qps.find(number);
		return it == qps.end() ? nullptr : it->second;
	}
	fake_id *id_at(uint64_t serial)
	{
		const auto it = ids.find(serial);
		return it == ids.end() ? nullptr : it->second;
	}
};

extern network *g_net;

inline host &host_of(const ibv_context *c)
{
	return *static_cast<fake_device *>(c->device)->machine;
}
void ring(int fd, int step); // +1: readable once more; -1: once less
inline void expect_nonblocking(int fd)
{
	FAKE_CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK, "this would block");
}

// fake_qp.cpp
void qp_fill(pgas::verbs_api &api, ibv_context_ops *ops);

// fake_cm.cpp
void cm_fill(pgas::verbs_api &api);
bool cm_step(network &n);
void cm_event(fake_id &owner, fake_id &id, rdma_cm_event_type type, int status = 0, const message *m = nullptr,
	      size_t padded = 0);
void cm_time_out(network &n, const host &silent);
void cm_abandon(fake_id &id); // notifies its peer, as the kernel does for a process that ends

} // namespace fake_rdma
