/* SPDX-License-Identifier: BSD-3-Clause */
/* gasnet_am_medium0.c: active message request with as many bytes as the argument says; the default is 8. */
#include "gasnet_driver.h"

static size_t bytes = 8;

static DRIVER_NOINLINE void op(gasnet_node_t peer, void *remote)
{
	static char local[4096];
	PGAS_MARK_BEGIN(op);
	gasnet_AMRequestMedium0(peer, GASNET_DRIVER_HANDLER + 2, local, bytes);
	PGAS_MARK_END(op);
	(void)remote;
}

int main(int argc, char **argv)
{
	if (argc > 1 && atoi(argv[1]) > 0)
		bytes = (size_t)atoi(argv[1]);
	return bytes <= 4096 ? gasnet_driver_run(&argc, &argv, NULL, op) : 1;
}
