/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One function per hot call, for test_codegen.sh, which compiles this with FABRIC_DIRECT and reads the object file. The
 * comment in front of each says what its code may contain:
 *
 *	exits    indirect calls: the only path to the ops table
 *	atomics  locked or exclusive accesses to memory
 *	calls    named functions, or -
 */
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define RMA(name_arg, call_arg, len_arg)                                                                               \
	ssize_t name_arg(struct fid_ep *ep, void *buf, fi_addr_t dest, uint64_t addr);                                 \
	ssize_t name_arg(struct fid_ep *ep, void *buf, fi_addr_t dest, uint64_t addr)                                  \
	{                                                                                                              \
		return call_arg(ep, buf, len_arg, NULL, dest, addr, 0, NULL);                                          \
	}
#define INJECT(name_arg, len_arg)                                                                                      \
	ssize_t name_arg(struct fid_ep *ep, const void *buf, fi_addr_t dest, uint64_t addr);                           \
	ssize_t name_arg(struct fid_ep *ep, const void *buf, fi_addr_t dest, uint64_t addr)                            \
	{                                                                                                              \
		return fi_inject_write(ep, buf, len_arg, dest, addr, 0);                                               \
	}
#define AMO(name_arg, type_arg, op_arg)                                                                                \
	ssize_t name_arg(struct fid_ep *ep, const void *buf, fi_addr_t dest, uint64_t addr);                           \
	ssize_t name_arg(struct fid_ep *ep, const void *buf, fi_addr_t dest, uint64_t addr)                            \
	{                                                                                                              \
		return fi_inject_atomic(ep, buf, 1, dest, addr, 0, type_arg, op_arg);                                  \
	}
#define FETCH(name_arg, type_arg, op_arg)                                                                              \
	ssize_t name_arg(struct fid_ep *ep, const void *buf, void *result, fi_addr_t dest, uint64_t addr);             \
	ssize_t name_arg(struct fid_ep *ep, const void *buf, void *result, fi_addr_t dest, uint64_t addr)              \
	{                                                                                                              \
		return fi_fetch_atomic(ep, buf, 1, NULL, result, NULL, dest, addr, 0, type_arg, op_arg, NULL);         \
	}

/* inject_write_1 exits=1 atomics=0 calls=- */
INJECT(inject_write_1, 1)
/* inject_write_2 exits=1 atomics=0 calls=- */
INJECT(inject_write_2, 2)
/* inject_write_4 exits=1 atomics=0 calls=- */
INJECT(inject_write_4, 4)
/* inject_write_8 exits=1 atomics=0 calls=- */
INJECT(inject_write_8, 8)
/* inject_write_16 exits=1 atomics=0 calls=- */
INJECT(inject_write_16, 16)
/* write_8 exits=1 atomics=0 calls=- */
RMA(write_8, fi_write, 8)
/* write_16 exits=1 atomics=0 calls=- */
RMA(write_16, fi_write, 16)
/* read_4 exits=1 atomics=0 calls=- */
RMA(read_4, fi_read, 4)
/* read_8 exits=1 atomics=0 calls=- */
RMA(read_8, fi_read, 8)

/* inject_sum_64 exits=1 atomics=1 calls=- */
AMO(inject_sum_64, FI_INT64, FI_SUM)
/* inject_sum_32 exits=1 atomics=1 calls=- */
AMO(inject_sum_32, FI_UINT32, FI_SUM)
/* inject_bor_64 exits=1 atomics=1 calls=- */
AMO(inject_bor_64, FI_UINT64, FI_BOR)
/* inject_bxor_32 exits=1 atomics=1 calls=- */
AMO(inject_bxor_32, FI_UINT32, FI_BXOR)
/* inject_set_64 exits=1 atomics=0 calls=- */
AMO(inject_set_64, FI_INT64, FI_ATOMIC_WRITE)
/* fetch_sum_64 exits=1 atomics=1 calls=- */
FETCH(fetch_sum_64, FI_INT64, FI_SUM)
/* fetch_read_64 exits=1 atomics=0 calls=- */
FETCH(fetch_read_64, FI_INT64, FI_ATOMIC_READ)
/* fetch_swap_32 exits=1 atomics=1 calls=- */
FETCH(fetch_swap_32, FI_INT32, FI_ATOMIC_WRITE)

/* compare_swap_64 exits=1 atomics=1 calls=- */
ssize_t compare_swap_64(struct fid_ep *ep, const void *buf, const void *cmp, void *result, fi_addr_t dest,
			uint64_t addr);
ssize_t compare_swap_64(struct fid_ep *ep, const void *buf, const void *cmp, void *result, fi_addr_t dest,
			uint64_t addr)
{
	return fi_compare_atomic(ep, buf, 1, NULL, cmp, NULL, result, NULL, dest, addr, 0, FI_INT64, FI_CSWAP, NULL);
}

/* counter_read exits=1 atomics=0 calls=- */
uint64_t counter_read(struct fid_cntr *cntr);
uint64_t counter_read(struct fid_cntr *cntr)
{
	return fi_cntr_read(cntr);
}

/* queue_read exits=1 atomics=0 calls=- */
ssize_t queue_read(struct fid_cq *cq, void *entry);
ssize_t queue_read(struct fid_cq *cq, void *entry)
{
	return fi_cq_read(cq, entry, 1);
}

/* inject_8 exits=1 atomics=1 calls=pgas_door_ring */
ssize_t inject_8(struct fid_ep *ep, const void *buf, fi_addr_t dest);
ssize_t inject_8(struct fid_ep *ep, const void *buf, fi_addr_t dest)
{
	return fi_inject(ep, buf, 8, dest);
}

/* tagged_inject_8 exits=1 atomics=1 calls=pgas_door_ring */
ssize_t tagged_inject_8(struct fid_ep *ep, const void *buf, fi_addr_t dest, uint64_t tag);
ssize_t tagged_inject_8(struct fid_ep *ep, const void *buf, fi_addr_t dest, uint64_t tag)
{
	return fi_tinject(ep, buf, 8, dest, tag);
}

/* The length is not known: sizes beyond 16 may call memcpy. */
/* inject_write_any exits=1 atomics=0 calls=memcpy */
ssize_t inject_write_any(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr);
ssize_t inject_write_any(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest, uint64_t addr)
{
	return fi_inject_write(ep, buf, len, dest, addr, 0);
}

/* For the checker itself: code that breaks each rule once. */
#ifdef CODEGEN_BROKEN
uint64_t broken_word;
void broken_callee(void);
/* broken_atomic exits=0 atomics=0 calls=- */
void broken_atomic(void);
void broken_atomic(void)
{
	__atomic_fetch_add(&broken_word, 1, __ATOMIC_ACQ_REL);
}
/* broken_fence exits=0 atomics=0 calls=- */
void broken_fence(void);
void broken_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}
/* broken_call exits=0 atomics=0 calls=- */
int broken_call(void);
int broken_call(void)
{
	broken_callee();
	return 1;
}
/* broken_exits exits=1 atomics=0 calls=- */
int broken_exits(int (*first)(void), int (*second)(void));
int broken_exits(int (*first)(void), int (*second)(void))
{
	return first() + second();
}
/* broken_missing exits=1 atomics=1 calls=- */
int broken_missing(void);
int broken_missing(void)
{
	return 1;
}
#endif
