// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving: posted buffers, and messages that arrived before their buffer was posted.
#pragma once

#include <sys/uio.h>

#include <list>
#include <vector>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_tagged.h>

#include "support/pgas_addr.hpp"
#include "pgas_completion.hpp"
#include "support/pgas_params.hpp"

namespace pgas {

struct arrival;
struct wire_ep;

struct rx_entry {
	rx_entry *next = nullptr, *prev = nullptr;
	uint64_t flags = 0;
	void *context = nullptr;
	uint64_t tag = 0, ignore = 0;
	fi_addr_t src = FI_ADDR_UNSPEC;
	size_t iov_count = 0;
	iovec iov[kIovLimit];
	size_t room = 0;
	// FI_MULTI_RECV: buffers carved out of this one are its children
	bool multi = false;
	size_t used = 0;
	uint32_t children = 0;
	bool retired = false;
	rx_entry *parent = nullptr;
	// Clears everything but the links and the iov, which the poster fills.
	void clear()
	{
		flags = tag = ignore = 0;
		context = nullptr;
		src = FI_ADDR_UNSPEC;
		iov_count = room = used = 0;
		multi = retired = false;
		children = 0;
		parent = nullptr;
	}
};

struct unexpected {
	wire_ep *ep = nullptr;
	uint32_t src = 0;
	uint64_t serial = 0; // of the sender; if src has another serial now, that number belongs to another sender
	ep_name sender{};
	bool is_long = false, has_data = false;
	uint64_t len = 0, tag = 0, data = 0;
	std::vector<char> bytes; // the message, or what its wire needs to fetch it
};

struct rx_queue {
	rx_entry *first = nullptr, *last = nullptr; // posted, oldest first
	std::list<unexpected> waiting;
	void append(rx_entry *e)
	{
		e->next = nullptr;
		e->prev = last;
		(last ? last->next : first) = e;
		last = e;
	}
	void take(rx_entry *e)
	{
		(e->prev ? e->prev->next : first) = e->next;
		(e->next ? e->next->prev : last) = e->prev;
	}
};

// For wires: deliver a message that arrived, or the cq data of a write whose bytes are in place.
void rx_deliver(const arrival &a);
void rx_deliver_data(wire_ep &ep, uint32_t src, uint64_t len, uint64_t data);

ssize_t rx_post(fid_ep *fid, const iovec *iov, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
		void *context, uint64_t flags, bool tagged, rx_entry *landing = nullptr);
void rx_cancel(ep_core *ep, void *context);
rx_entry *rx_alloc(ep_core *ep);
void rx_release(ep_core *ep, rx_entry *e);
void rx_drop_landing(rx_entry *e); // no effect unless its bytes were to go to device memory
void rx_report(ep_core *ep, const completion &c);
void rx_finish(ep_core *ep, rx_entry *rx, completion &c); // adds to c what only the buffer knows
void rx_drop_all(ep_core *ep);

extern fi_ops_msg g_msg_ops;
extern fi_ops_tagged g_tagged_ops;

} // namespace pgas
