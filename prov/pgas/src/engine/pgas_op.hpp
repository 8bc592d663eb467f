// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: an operation is submitted to its peer's wire, completes at once, is kept by the wire, or fails.
//
//   submitted -> done            op_submit() completes it
//   submitted -> kept            op_keep(): it lives in wire_ep::pending until op_finish()
//   kept      -> finished        op_finish(), from its wire's progress; or op_fail_peer(), when the peer is given up
//
// A call that waits for one operation (FI_PGAS_WAIT) is notified through an op_waiter instead of a completion entry.
#pragma once

#include <sys/uio.h>

#include <memory>
#include <vector>

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include "support/pgas_amo_math.hpp"
#include "pgas_completion.hpp"
#include "support/pgas_params.hpp"

namespace pgas {

struct op;
struct peer;
struct rx_entry;
struct wire_ep;

enum class op_kind : uint8_t { write, read, amo, send, pull };

// What an operation keeps about its device buffers (pgas_hmem.hpp).
struct hmem_state;
struct hmem_state_delete {
	void operator()(hmem_state *s) const noexcept;
};

// On the stack of the waiting call; changed under the domain's lock.
struct op_waiter {
	bool reusable = false; // a write that waits for its source only; its result is reported as usual
	bool over = false;
	int status = 0;
	// The result goes to device memory first (pgas_hmem.hpp). No call waits when this waiter is the state's own.
	const hmem_state *landing = nullptr;
};

// What a wire keeps for an operation that it moves by itself, not by requests. The wire owns it.
struct wire_op {
	void (*over)(op &o); // the operation is over, or taken back: op::moved is not used after this
};

// One operation. It lives on the caller's stack until it must wait.
struct op {
	op_kind kind = op_kind::write;
	uint64_t flags = 0;    // FI_COMPLETION, FI_INJECT, FI_REMOTE_CQ_DATA, ...
	uint64_t cq_flags = 0; // FI_RMA | FI_WRITE, ...
	void *context = nullptr;
	uint64_t data = 0;
	uint64_t tag = 0;
	bool tagged = false;
	bool carries_data = false; // data goes to the target's completion queue
	bool quiet = false;        // inject: no completion entry, ever
	size_t len = 0;
	size_t iov_count = 0;
	iovec iov[kIovLimit];
	size_t rma_count = 0;
	fi_rma_iov rma[kRmaIovLimit];
	// atomics
	fi_datatype type = FI_INT8;
	fi_op amo = FI_SUM;
	amo_form form = kAmoPlain;
	size_t cmp_count = 0, res_count = 0;
	iovec cmp[kIovLimit], res[kIovLimit];
	const pgas_ep *front = nullptr; // the endpoint or alias that the call was made on
	// while kept
	uint64_t id = 0;
	peer *dest = nullptr;
	uint64_t sent = 0, acked = 0; // bytes (or 1/0 for atomics)
	uint32_t in_flight = 0;       // pieces requested and not answered yet
	int status = 0;
	std::vector<char> copy;   // source bytes of an injected operation that must wait, or copies of device memory
	wire_op *moved = nullptr; // its wire moves it by itself; null: requests do
	bool direct = false;      // its wire transfers the device buffers in `hmem` directly
	bool unsent = false;      // counted in peer::unsent: some pieces are not requested yet
	bool late_data = false; // done except for the cq data, for which the target had no room; counted in peer::late
	rx_entry *rx = nullptr; // pull: the receive that waits for the bytes
	completion rx_result;   // pull: what the receive will report
	uint64_t peer_op = 0;   // pull: the sender's operation
	op_waiter *waiter = nullptr;
	// Null: neither its wire nor its result needs its device buffers.
	std::unique_ptr<hmem_state, hmem_state_delete> hmem;
};

// The result of submitting an operation to a wire, or -FI_E*. -FI_EAGAIN: nothing was done, try again.
enum submitted : int { kDone = 0, kKept = 1, kNoShortWay = 2 };

// Check the arguments of a call and fill in its operation. 0 or -FI_E*.
int rma_make(op &o, fid_ep *fid, op_kind kind, const iovec *iov, size_t count, const fi_rma_iov *rma, size_t rma_count,
	     void *context, uint64_t data, uint64_t flags, bool quiet);
struct amo_args {
	const fi_ioc *operand = nullptr;
	size_t in_count = 0;
	const fi_ioc *cmp = nullptr;
	size_t cmp_count = 0;
	const fi_ioc *res = nullptr;
	size_t res_count = 0;
	const fi_rma_ioc *rma = nullptr;
	size_t rma_count = 0;
	uint64_t flags = 0;
	void *context = nullptr;
	bool quiet = false;
	amo_form form = kAmoPlain;
};
int amo_make(op &o, fid_ep *fid, fi_datatype type, fi_op op_code, const amo_args &a);
struct send_args {
	uint64_t tag = 0;
	bool tagged = false;
	uint64_t data = 0;
	uint64_t flags = 0;
	void *context = nullptr;
	bool quiet = false;
};
int send_make(op &o, fid_ep *fid, const iovec *iov, size_t count, const send_args &a);

// Submits: the operation completes at once, is kept pending, or fails with -FI_EAGAIN or another error. With
// FI_PGAS_WAIT it is over when this returns.
ssize_t op_submit(fid_ep *fid, fi_addr_t addr, op &o);
// An injected write, or plain atomic of one element, by the fast path of the peer's wire: 0, an error, or kNoShortWay.
int inject_short(pgas_ep *front, fi_addr_t addr, const void *buf, size_t len, uint64_t pos, uint64_t key);
int inject_short_amo(pgas_ep *front, fi_addr_t addr, const void *value, fi_datatype type, fi_op op, uint64_t pos,
		     uint64_t key);
// Whether it gets a completion entry on success.
bool op_wants_entry(const ep_core *ep, const op &o);
// Address and key at the target of byte `pos` of a one-sided operation. Returns how many bytes follow contiguously
// there.
size_t op_remote_at(const op &o, uint64_t pos, uint64_t *addr, uint64_t *key);
// Updates counters and writes the completion or error entry of an operation that is over, depending on o.status.
void op_complete(ep_core *ep, op &o);
// For wires: keep an operation, take back one that could not be sent after all, finish a kept one. op_keep returns null
// when `dest` is not a peer of this wire, whose calls would misinterpret it: the operation fails.
[[nodiscard]] op *op_keep(wire_ep &ep, op &&o, peer *dest);
void op_take_back(wire_ep &ep, op *kept, op &out);
void op_finish(wire_ep &ep, op &o);
void op_fail_peer(peer *p, int status); // fails everything that is pending to it

extern fi_ops_rma g_rma_ops, g_rma_ops_hot; // hot: for fronts whose hot_inject is MAGIC_HOT
extern fi_ops_atomic g_amo_ops, g_amo_ops_hot;
int amo_query(fid_domain *dom, fi_datatype type, fi_op op, fi_atomic_attr *attr, uint64_t flags) noexcept;

} // namespace pgas
