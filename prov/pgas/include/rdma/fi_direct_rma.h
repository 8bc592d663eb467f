/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RMA calls of a FABRIC_DIRECT program. fi_inject_write, fi_write and fi_read are inline down to the memory access; the
 * others forward to the ops table. Each has one cold exit: the table.
 */
#ifndef FI_DIRECT_RMA_H
#define FI_DIRECT_RMA_H

#define FABRIC_DIRECT_RMA 1

#include <rdma/fi_rma.h> /* for direct includes; libfabric includes this file from there */
#include <pgas/pgas_hot.h>

/* budget: 14 instructions for a constant 8 bytes, key 0, no completion entry wanted (paths.def: fi_read_direct) */
static inline ssize_t fi_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src_addr, uint64_t addr,
			      uint64_t key, void *context)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_LIKELY(pgas_hot_get(front, pgas_load_word(&front->hot_rma), buf, len, src_addr, addr, key,
				     PGAS_UNCHECKED)))
		return 0;
	return ep->rma->read(ep, buf, len, desc, src_addr, addr, key, context);
}

static inline ssize_t fi_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			       fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->readv(ep, iov, desc, count, src_addr, addr, key, context);
}

static inline ssize_t fi_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return ep->rma->readmsg(ep, msg, flags);
}

/* budget: 14 instructions for a constant 8 bytes, key 0, no completion entry wanted (paths.def: fi_write_direct) */
static inline ssize_t fi_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest_addr,
			       uint64_t addr, uint64_t key, void *context)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_LIKELY(pgas_hot_put(front, pgas_load_word(&front->hot_rma), buf, len, dest_addr, addr, key,
				     PGAS_UNCHECKED)))
		return 0;
	return ep->rma->write(ep, buf, len, desc, dest_addr, addr, key, context);
}

static inline ssize_t fi_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
				fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->writev(ep, iov, desc, count, dest_addr, addr, key, context);
}

static inline ssize_t fi_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	return ep->rma->writemsg(ep, msg, flags);
}

/* budget: 9 instructions for a constant 8 bytes and key 0 (paths.def: fi_inject_write_direct) */
static inline ssize_t fi_inject_write(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest_addr,
				      uint64_t addr, uint64_t key)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_LIKELY(len <= PGAS_INJECT_BYTES) &&
	    PGAS_LIKELY(pgas_hot_put(front, pgas_load_word(&front->hot_inject), buf, len, dest_addr, addr, key,
				     PGAS_UNCHECKED)))
		return 0;
	return ep->rma->inject(ep, buf, len, dest_addr, addr, key);
}

static inline ssize_t fi_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
				   fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->writedata(ep, buf, len, desc, data, dest_addr, addr, key, context);
}

static inline ssize_t fi_inject_writedata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
					  fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	return ep->rma->injectdata(ep, buf, len, data, dest_addr, addr, key);
}

#endif /* FI_DIRECT_RMA_H */
