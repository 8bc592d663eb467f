// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory (FI_HMEM), through the kinds of devices/. Domains opened without FI_HMEM use none of this: their
// endpoints have other tables (pgas_front.cpp).
//
//   our own regions   only their owner's driver copies them, and no wire accesses them directly. Every operation on
//                     them arrives as a request, or in a packet, and runs under the domain's lock (pgas_target.cpp),
//                     which makes atomics atomic with respect to all accesses through the provider
//   our own buffers   are copied to or from host memory: a source when the call is made, a result or a received message
//                     before its completion is reported (pgas_hmem_ops.cpp)
//
// Exception: the network itself does long puts and gets with a peer on another host, on both sides, where it can
// register that memory (wire_ops::rma_direct, wire/net/net_device.cpp).
#pragma once

#include <sys/uio.h>

#include <memory>
#include <vector>

#include <rdma/fi_domain.h>

#include "engine/pgas_op.hpp"
#include "engine/pgas_rx.hpp"

namespace pgas {

namespace devices {
class kind;
}
struct domain;
struct mr;

// --- drivers ---------------------------------------------------------------------------------------------------------

// True when the library of any driver can be loaded. Determined once per process.
bool hmem_possible();
bool hmem_has_cuda(); // the same of CUDA alone
// Returns the driver that a registration names, open until hmem_close() of the domain. -FI_ENOSYS: there is no such
// driver here; -FI_EINVAL: a piece is not memory of its device; the log says why. Lock held.
int hmem_open(domain *dom, const fi_mr_attr &attr, devices::kind **out);
int hmem_ordinal(const fi_mr_attr &attr); // the device number that a registration names
fi_hmem_iface hmem_interface(const devices::kind &k);
void hmem_close(domain *dom);
// Is all of it memory of that kind of device?
bool hmem_owns(const devices::kind &k, const void *addr, size_t len);
// For a buffer without a descriptor: the kind of device that owns it, among those that the domain has open. Null: host
// memory.
devices::kind *hmem_kind_of(const domain *dom, const void *addr, size_t len);

// --- copies ----------------------------------------------------------------------------------------------------------

// Complete when they return. -FI_EIO; -FI_EFAULT: it is not device memory any more.
int hmem_load(devices::kind &k, const iovec *src, size_t count, void *dst, size_t len);
int hmem_store(devices::kind &k, const iovec *dst, size_t count, const void *src, size_t len);

// --- buffers of the caller -------------------------------------------------------------------------------------------

struct hmem_list {
	size_t count = 0;
	bool any = false; // any of it is device memory
	iovec iov[kIovLimit];
	devices::kind *kinds[kIovLimit]; // null: host memory
	int numbers[kIovLimit];          // their device numbers
};
// Fills `out` from buffers and their descriptors (null: none). -FI_EINVAL: a buffer extends beyond the region of its
// descriptor.
int hmem_describe(const iovec *iov, void *const *desc, size_t count, hmem_list &out);
int hmem_gather(const hmem_list &src, char *dst, size_t len);
int hmem_scatter(const hmem_list &dst, const char *src, size_t len);

// What an operation keeps about its device buffers (op::hmem).
struct hmem_state {
	hmem_list buffers; // op::direct: those that its wire transfers; otherwise the destination of its result
	const char *bytes = nullptr; // in op::copy: the result until the operation is complete
	size_t len = 0;
	op_waiter waiter; // op::waiter points here if the result lands and no call waits
};
int hmem_land(const hmem_state &s);
int hmem_stage(op &o); // an operation with `direct` must use copies in host memory after all

// The same for a received message: the parent of an entry whose buffer is `bytes`. Unlike other parents it is not
// `multi`.
struct rx_landing : rx_entry {
	hmem_list list;
	std::vector<char> bytes;
};
inline bool is_landing(const rx_entry *parent)
{
	return parent && !parent->multi;
}
void hmem_land(rx_entry *parent, completion &c); // and frees the parent

// --- calls with descriptors ------------------------------------------------------------------------------------------

// The descriptors of one call, by buffer; null: none. operand: also a read's buffer.
struct hmem_descriptors {
	void *const *operand = nullptr, *const *cmp = nullptr, *const *res = nullptr;
};
// op_submit() for an operation whose buffers have descriptors.
int hmem_submit(fid_ep *f, fi_addr_t addr, op &o, const hmem_descriptors &d);
// rx_post() for a buffer that has descriptors.
ssize_t hmem_receive(fid_ep *f, const iovec *iov, void *const *desc, size_t count, fi_addr_t src, uint64_t tag,
		     uint64_t ignore, void *context, uint64_t flags, bool tagged);
// An injected buffer, as host memory. A buffer that is too long is left as it is: the call refuses it.
struct hmem_injected {
	const void *buf;
	int err = 0;
	char copy[kInjectBytes];
	hmem_injected(fid_ep *f, const void *src, size_t len);
	hmem_injected(fid_ep *f, const void *src, size_t count, fi_datatype type); // elements of an atomic
};

// The ops tables of endpoints with FI_HMEM (api/).
extern fi_ops_rma g_rma_ops_hmem;
extern fi_ops_atomic g_amo_ops_hmem;
extern fi_ops_msg g_msg_ops_hmem;
extern fi_ops_tagged g_tagged_ops_hmem;

} // namespace pgas
