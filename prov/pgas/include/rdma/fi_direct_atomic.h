/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Atomic calls of a FABRIC_DIRECT program. One element of 4 or 8 bytes with an operation that the CPU has is inline
 * when datatype, operation and count are constants; everything else forwards to the ops table.
 */
#ifndef FI_DIRECT_ATOMIC_H
#define FI_DIRECT_ATOMIC_H

#define FABRIC_DIRECT_ATOMIC 1

#include <rdma/fi_atomic.h> /* for direct includes; libfabric includes this file from there */
#include <pgas/pgas_hot.h>

/*
 * The inline code is worth its size only where the compiler can choose the instruction. "Likely", because gcc lays out
 * the code according to its guess before it folds these.
 */
#define PGAS_AMO_CONSTANT(count_arg, datatype_arg, op_arg)                                                             \
	(PGAS_LIKELY(__builtin_constant_p(count_arg)) && PGAS_LIKELY(__builtin_constant_p(datatype_arg)) &&            \
	 PGAS_LIKELY(__builtin_constant_p(op_arg)) && PGAS_LIKELY((count_arg) == 1))
#define PGAS_AMO_BYTES(datatype_arg) ((int)(datatype_arg) >= 6 ? 8u : 4u)

static inline ssize_t fi_atomic(struct fid_ep *ep, const void *buf, size_t count, void *desc, fi_addr_t dest_addr,
				uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_AMO_CONSTANT(count, datatype, op) && PGAS_LIKELY(pgas_hot_op_of(datatype, op, 0) != PGAS_OP_NONE) &&
	    PGAS_LIKELY(pgas_hot_amo(front, pgas_load_word(&front->hot_rma), 0, buf, NULL, NULL,
				     PGAS_AMO_BYTES(datatype), dest_addr, addr, key, pgas_hot_op_of(datatype, op, 0),
				     PGAS_UNCHECKED)))
		return 0;
	return ep->atomic->write(ep, buf, count, desc, dest_addr, addr, key, datatype, op, context);
}

static inline ssize_t fi_atomicv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
				 fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
				 enum fi_op op, void *context)
{
	return ep->atomic->writev(ep, iov, desc, count, dest_addr, addr, key, datatype, op, context);
}

static inline ssize_t fi_atomicmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return ep->atomic->writemsg(ep, msg, flags);
}

/* budget: 11 instructions for one int64 sum (paths.def: fi_inject_atomic_direct) */
static inline ssize_t fi_inject_atomic(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest_addr,
				       uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_AMO_CONSTANT(count, datatype, op) && PGAS_LIKELY(pgas_hot_op_of(datatype, op, 0) != PGAS_OP_NONE) &&
	    PGAS_LIKELY(pgas_hot_amo(front, pgas_load_word(&front->hot_inject), 0, buf, NULL, NULL,
				     PGAS_AMO_BYTES(datatype), dest_addr, addr, key, pgas_hot_op_of(datatype, op, 0),
				     PGAS_UNCHECKED)))
		return 0;
	return ep->atomic->inject(ep, buf, count, dest_addr, addr, key, datatype, op);
}

/* budget: 14 instructions for one int64 sum (paths.def: fi_fetch_atomic_direct) */
static inline ssize_t fi_fetch_atomic(struct fid_ep *ep, const void *buf, size_t count, void *desc, void *result,
				      void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
				      enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_AMO_CONSTANT(count, datatype, op) && PGAS_LIKELY(pgas_hot_op_of(datatype, op, 1) != PGAS_OP_NONE) &&
	    PGAS_LIKELY(pgas_hot_amo(front, pgas_load_word(&front->hot_rma), 1, buf, NULL, result,
				     PGAS_AMO_BYTES(datatype), dest_addr, addr, key, pgas_hot_op_of(datatype, op, 1),
				     PGAS_UNCHECKED)))
		return 0;
	return ep->atomic->readwrite(ep, buf, count, desc, result, result_desc, dest_addr, addr, key, datatype, op,
				     context);
}

static inline ssize_t fi_fetch_atomicv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
				       struct fi_ioc *resultv, void **result_desc, size_t result_count,
				       fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
				       enum fi_op op, void *context)
{
	return ep->atomic->readwritev(ep, iov, desc, count, resultv, result_desc, result_count, dest_addr, addr, key,
				      datatype, op, context);
}

static inline ssize_t fi_fetch_atomicmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, struct fi_ioc *resultv,
					 void **result_desc, size_t result_count, uint64_t flags)
{
	return ep->atomic->readwritemsg(ep, msg, resultv, result_desc, result_count, flags);
}

static inline ssize_t fi_compare_atomic(struct fid_ep *ep, const void *buf, size_t count, void *desc,
					const void *compare, void *compare_desc, void *result, void *result_desc,
					fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
					enum fi_op op, void *context)
{
	struct pgas_ep *front = (struct pgas_ep *)ep;
	if (PGAS_AMO_CONSTANT(count, datatype, op) &&
	    PGAS_LIKELY(op == FI_CSWAP && datatype >= FI_INT32 && datatype <= FI_UINT64) &&
	    PGAS_LIKELY(pgas_hot_amo(front, pgas_load_word(&front->hot_rma), 1, buf, compare, result,
				     PGAS_AMO_BYTES(datatype), dest_addr, addr, key, PGAS_OP_CSWAP, PGAS_UNCHECKED)))
		return 0;
	return ep->atomic->compwrite(ep, buf, count, desc, compare, compare_desc, result, result_desc, dest_addr, addr,
				     key, datatype, op, context);
}

static inline ssize_t fi_compare_atomicv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
					 const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
					 struct fi_ioc *resultv, void **result_desc, size_t result_count,
					 fi_addr_t dest_addr, uint64_t addr, uint64_t key, enum fi_datatype datatype,
					 enum fi_op op, void *context)
{
	return ep->atomic->compwritev(ep, iov, desc, count, comparev, compare_desc, compare_count, resultv, result_desc,
				      result_count, dest_addr, addr, key, datatype, op, context);
}

static inline ssize_t fi_compare_atomicmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
					   const struct fi_ioc *comparev, void **compare_desc, size_t compare_count,
					   struct fi_ioc *resultv, void **result_desc, size_t result_count,
					   uint64_t flags)
{
	return ep->atomic->compwritemsg(ep, msg, comparev, compare_desc, compare_count, resultv, result_desc,
					result_count, flags);
}

static inline int fi_atomicvalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return ep->atomic->writevalid(ep, datatype, op, count);
}

static inline int fi_fetch_atomicvalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return ep->atomic->readwritevalid(ep, datatype, op, count);
}

static inline int fi_compare_atomicvalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op, size_t *count)
{
	return ep->atomic->compwritevalid(ep, datatype, op, count);
}

static inline int fi_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
				  struct fi_atomic_attr *attr, uint64_t flags)
{
	return FI_CHECK_OP(domain->ops, struct fi_ops_domain, query_atomic)
		       ? domain->ops->query_atomic(domain, datatype, op, attr, flags)
		       : -FI_ENOSYS;
}

#endif /* FI_DIRECT_ATOMIC_H */
