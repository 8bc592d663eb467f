/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_driver.h: for drivers of one libfabric call. fi_driver.c starts a second process as the target, opens an endpoint
 * on both sides and exchanges addresses; a driver adds a function op with the arguments of the call, in their order,
 * and the call itself:
 *
 *	static DRIVER_NOINLINE ssize_t op(arguments of the call)
 *	{
 *		FI_DRIVER_RETURN(fi_call(ep, buf, FI_DRIVER_CONSTANT(len, 8), ...), 0);
 *	}
 *	static ssize_t call(struct fi_side *s) { return op(operands of s); }
 *	FI_DRIVER_MAIN(call, 0, 1)
 *
 * Through the table op is only the call: its arguments are already where the ABI wants them, so the compiler jumps into
 * the provider, and counting op from its first instruction to its return (entry op) counts the call without any work of
 * its caller.
 *
 * Compiled with -DFABRIC_DIRECT and the provider's headers, the same source is
 * the direct form: the call is inlined between two marks (entry mark:op), its
 * constants are known to the compiler, and the result is tested, as programs
 * do, and so costs nothing where it is known.
 *
 * The provider's name is the program's first argument; "far" or "linked" may follow it, as in driver.h.
 */
#ifndef INSTR_COUNT_FI_DRIVER_H
#define INSTR_COUNT_FI_DRIVER_H

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdint.h>

#include "driver.h"

enum { FI_DRIVER_BYTES = 4096 };

/* One end of the pair, and what it knows about the other end. */
struct fi_side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *writes, *reads, *sends;
	struct fid_mr *mr, *local_mr;
	void *desc;   /* of local */
	long *local;  /* operands and results */
	char *region; /* memory that the peer may access: key 0, addressed by offset */
	fi_addr_t peer;
};

#ifdef FABRIC_DIRECT
#define FI_DRIVER_CONSTANT(_argument, _value) ((void)(_argument), (_value))
#define FI_DRIVER_RETURN(_call, _expected)                                                                             \
	do {                                                                                                           \
		PGAS_MARK_BEGIN(op);                                                                                   \
		ssize_t ret_ = (ssize_t)(_call);                                                                       \
		if (ret_ != (_expected)) {                                                                             \
			PGAS_MARK_END(op);                                                                             \
			return fi_driver_other(ret_);                                                                  \
		}                                                                                                      \
		PGAS_MARK_END(op);                                                                                     \
		return (_expected);                                                                                    \
	} while (0)
#else
#define FI_DRIVER_CONSTANT(_argument, _value) (_argument)
#define FI_DRIVER_RETURN(_call, _expected) return (ssize_t)(_call)
#endif

/* For any result other than the expected one: -FI_EAGAIN is not an error, every other one ends the program. */
ssize_t fi_driver_other(ssize_t ret) __attribute__((cold));

/*
 * Runs call(side) as often as the engine requires. The last call must have returned the expected result, or something
 * else was counted. If a call starts an operation, its completion is awaited outside the marks; in far runs that of all
 * together, at the end.
 */
int fi_driver_run(int argc, char **argv, ssize_t (*call)(struct fi_side *), ssize_t expected, int starts);

#define FI_DRIVER_MAIN(_call, _expected, _starts)                                                                      \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		return fi_driver_run(argc, argv, _call, _expected, _starts);                                           \
	}

#endif /* INSTR_COUNT_FI_DRIVER_H */
