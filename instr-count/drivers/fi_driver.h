/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_driver.h: for drivers of one libfabric call. fi_driver.c starts a second
 * process as the target, opens an endpoint on both sides and exchanges
 * addresses; a driver adds the call itself between two marks:
 *
 *	static DRIVER_NOINLINE ssize_t op(operands)
 *	{
 *		PGAS_MARK_BEGIN(op);
 *		ssize_t ret = one_call(operands);
 *		PGAS_MARK_USE(ret);
 *		PGAS_MARK_END(op);
 *		return ret;
 *	}
 *	static ssize_t call(struct fi_side *s) { return op(operands of s); }
 *	FI_DRIVER_MAIN(call, 0, 1)
 *
 * The provider's name is the program's argument. Compiled with
 * -DFABRIC_DIRECT and the provider's headers, the same source is the direct
 * form of the path.
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

/* One end of the pair, and what it knows of the other. */
struct fi_side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_cntr *writes, *reads;
	struct fid_mr *mr, *local_mr;
	void *desc;           /* of local */
	long *local;          /* operands and results */
	char *region;         /* what the peer may touch: key 0, addressed by offset */
	fi_addr_t peer;
	int to_peer, from_peer;
};

/*
 * Runs call(side) as often as the engine wants. The last call must have
 * returned what is expected, or we counted something else. A call that starts
 * an operation is waited for, outside the marks.
 */
int fi_driver_run(int argc, char **argv, ssize_t (*call)(struct fi_side *), ssize_t expected, int starts);

#define FI_DRIVER_MAIN(_call, _expected, _starts)                              \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		return fi_driver_run(argc, argv, _call, _expected, _starts);   \
	}

#endif /* INSTR_COUNT_FI_DRIVER_H */
