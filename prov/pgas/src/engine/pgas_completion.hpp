// SPDX-License-Identifier: BSD-3-Clause
//
// Completion queues and counters. The fid calls are in pgas_cq.cpp and pgas_cntr.cpp; the functions that the rest of
// the provider calls are in pgas_completion.cpp.
#pragma once

#include <atomic>
#include <vector>

#include <rdma/fi_eq.h>

#include "support/pgas_fifo.hpp"
#include "pgas_wait.hpp"
#include <pgas/pgas_types.h>

namespace pgas {

struct domain;
struct ep_core;
struct wire_ep;

struct completion {
	void *context = nullptr;
	uint64_t flags = 0;
	size_t len = 0;
	void *buf = nullptr;
	uint64_t data = 0;
	uint64_t tag = 0;
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	size_t olen = 0;
	int err = 0; // positive FI_E*: an error entry
	int prov_errno = 0;
};

struct cq_core {
	pgas_cq *front;
	domain *dom;
	fi_cq_format format;
	uint64_t flags;
	size_t room;
	fifo<completion> entries;
	std::vector<ep_core *> eps; // whose arrivals a read of this queue processes
	std::atomic<int> users{0};  // poll sets
	std::atomic<bool> signalled{false};
	wait_object waiters;

	bool full() const { return entries.size() >= room; }
};
int cq_open(fid_domain *dom, fi_cq_attr *attr, fid_cq **out, void *context) noexcept;
void cq_push(cq_core *cq, const completion &c);
void cq_update_queued(cq_core *cq); // after entries were added or removed
void cq_update_poll(cq_core *cq);   // after the word that one of its endpoints polls changed
// The same after a message was taken from the first wire of its only endpoint, and nothing else happened. False: it
// does not poll that wire alone, and nothing was done.
bool cq_step_poll(cq_core *cq, const ep_core *ep);
void cq_force_cold(cq_core *cq); // called by a wire's thread: the next read takes the cold path

// A counter that peers increment directly. It lies in memory that they can reach (domain::counters).
struct remote_counter {
	uint64_t value;
	uint64_t error;
	uint64_t pad_[6];
};
static_assert(sizeof(remote_counter) == PGAS_CACHE_LINE);
inline constexpr uint32_t kRemoteCounters = 4096;
inline constexpr uint16_t kNoCounter = 0; // remote counter 0 is never handed out

struct cntr_core {
	pgas_cntr *front;
	domain *dom;
	uint16_t remote = kNoCounter; // index of domain::counters
	uint64_t bound_flags = 0;
	uint64_t polled_value = 0;    // value at the last fi_poll or fi_trywait
	uint64_t signalled_value = 0; // value at the last wake-up of a wait object
	std::vector<ep_core *> eps;
	std::atomic<int> users{0};
	wait_object waiters;
};
int cntr_open(fid_domain *dom, fi_cntr_attr *attr, fid_cntr **out, void *context) noexcept;
int cntr_need_remote(cntr_core *c); // gives it a remote counter
void cntr_update_hot(cntr_core *c);
void cntr_force_cold(cntr_core *c); // as cq_force_cold()
uint64_t cntr_value(const cntr_core *c);
uint64_t cntr_error(const cntr_core *c);
void cntr_count(cntr_core *c, bool failed); // counts one event and notifies waiters; c may be null
void cntr_signal(cntr_core *c);

int poll_open(fid_domain *dom, fi_poll_attr *attr, fid_poll **out) noexcept;

} // namespace pgas
