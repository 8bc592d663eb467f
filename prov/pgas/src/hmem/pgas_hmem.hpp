// SPDX-License-Identifier: BSD-3-Clause
//
// Device memory (FI_HMEM), by the kinds of devices/. Domains that were not opened with it know nothing of this: their
// endpoints have other tables (pgas_front.cpp).
//
//   a region of ours   only its owner's driver copies it, and no wire reaches it by itself. Every operation on it comes
//                      as a request, or in a packet, and is run under the domain's lock (pgas_target.cpp), which makes
//                      atomics atomic among all that go through the provider
//   a buffer of ours   is copied to or from memory of the host: a source when the call is made, a result or a received
//                      message before its completion is told (pgas_hmem_ops.cpp)
//
// But long puts and gets of a peer on another host are the network's, on both sides, where it can register that memory
// (wire_ops::rma_direct, wire/net/net_device.cpp).
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

// Some driver's library can be loaded. Asked once in a process.
bool hmem_possible();
// The driver that a registration names, open until hmem_close() of the domain, when all pieces are memory of its
// device. -FI_ENOSYS: there is no such driver here; -FI_EINVAL: they are not; and the log says why. Lock held.
int hmem_open(domain *dom, const fi_mr_attr &attr, devices::kind **out);
int hmem_ordinal(const fi_mr_attr &attr); // which device a registration names
fi_hmem_iface hmem_interface(const devices::kind &k);
void hmem_close(domain *dom);
// Is all of it memory of that device?
bool hmem_owns(const devices::kind &k, const void *addr, size_t len);
// Of a buffer without a descriptor: the device that has it, of those that the domain has open. Null: it is the host's.
devices::kind *hmem_kind_of(const domain *dom, const void *addr, size_t len);

// --- copies ----------------------------------------------------------------------------------------------------------

// Complete when they return. -FI_EIO; -FI_EFAULT: it is no device memory any more.
int hmem_load(devices::kind &k, const iovec *src, size_t count, void *dst, size_t len);
int hmem_store(devices::kind &k, const iovec *dst, size_t count, const void *src, size_t len);

// --- buffers of the caller -------------------------------------------------------------------------------------------

struct hmem_list {
	size_t count = 0;
	bool any = false; // of it is device memory
	iovec iov[kIovLimit];
	devices::kind *kinds[kIovLimit]; // null: host memory
	int numbers[kIovLimit];          // of their devices
};
// Of buffers and their descriptors (null: none). -FI_EINVAL: a buffer reaches beyond the region of its descriptor.
int hmem_describe(const iovec *iov, void *const *desc, size_t count, hmem_list &out);
int hmem_gather(const hmem_list &src, char *dst, size_t len);
int hmem_scatter(const hmem_list &dst, const char *src, size_t len);

// Where the result of an operation goes when it is over; it lies in op::copy, before the bytes.
struct hmem_landing {
	op_waiter waiter; // op::waiter leads here
	hmem_list list;
	const char *bytes;
	size_t len;
};
int hmem_land(const hmem_landing &l);

// An operation whose wire was to take its buffers as they are: what they are, at the begin of op::copy.
struct hmem_direct {
	hmem_list buffers;
};
inline const hmem_direct &direct_of(const op &o)
{
	return *reinterpret_cast<const hmem_direct *>(o.copy.data());
}
int hmem_stage(op &o); // after all it must go by copies in memory of the host

// A received message likewise: the parent of an entry whose buffer is `bytes`. Unlike other parents it is not `multi`.
struct rx_landing : rx_entry {
	hmem_list list;
	std::vector<char> bytes;
};
inline bool is_landing(const rx_entry *parent)
{
	return parent && !parent->multi;
}
void hmem_land(rx_entry *parent, completion &c); // and ends it

extern fi_ops_rma g_rma_ops_hmem;
extern fi_ops_atomic g_amo_ops_hmem;
extern fi_ops_msg g_msg_ops_hmem;
extern fi_ops_tagged g_tagged_ops_hmem;

} // namespace pgas
