/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gasnet_driver.h: for drivers of one GASNet call. Node 0 makes the calls
 * between two marks (GASNet names may be macros or inlined); the last node is
 * the target and polls. Public names of GASNet-1 only, and of GASNet-EX where
 * a driver of one of its calls asks for them.
 */
#ifndef INSTR_COUNT_GASNET_DRIVER_H
#define INSTR_COUNT_GASNET_DRIVER_H

#include <gasnet.h>

#include "driver.h"

enum { GASNET_DRIVER_HANDLER = 201, GASNET_DRIVER_SEGMENT = 1 << 16 };

/* Handlers that discard what the AM drivers send; one of each shape. */
static void take_short0(gasnet_token_t token)
{
	(void)token;
}
static void take_short4(gasnet_token_t token, gasnet_handlerarg_t a, gasnet_handlerarg_t b, gasnet_handlerarg_t c,
			gasnet_handlerarg_t d)
{
	(void)token, (void)a, (void)b, (void)c, (void)d;
}
static void take_medium0(gasnet_token_t token, void *buf, size_t bytes)
{
	(void)token, (void)buf, (void)bytes;
}

static gasnet_handlerentry_t gasnet_driver_handlers[] = {
	{GASNET_DRIVER_HANDLER, (void (*)())take_short0},
	{GASNET_DRIVER_HANDLER + 1, (void (*)())take_short4},
	{GASNET_DRIVER_HANDLER + 2, (void (*)())take_medium0},
};

static void gasnet_driver_barrier(void)
{
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
}

/* Checks that the hosts are as the argument says, and opens the link. */
static inline void gasnet_driver_open_link(enum driver_place place, gasnet_node_t peer, gasnet_seginfo_t *segments)
{
	static gasnet_nodeinfo_t nodes[1024];
	static long local = 7;
	gasnet_node_t far = place == DRIVER_FAR ? peer : 1;
	if (place == DRIVER_HERE || gasnet_mynode() != 0)
		return;
	gasnet_getNodeInfo(nodes, (int)gasnet_nodes());
	if (nodes[far].supernode == nodes[0].supernode ||
	    (place == DRIVER_LINKED && nodes[peer].supernode != nodes[0].supernode)) {
		fprintf(stderr, "gasnet_driver: the nodes are not on the hosts that they play\n");
		gasnet_exit(1);
	}
	gasnet_put(far, (char *)segments[far].addr + 64, &local, sizeof local);
	for (int i = 0; place == DRIVER_LINKED && i < DRIVER_QUIET_POLLS; i++)
		gasnet_AMPoll();
}

/* call(peer, remote): remote is the start of the peer's segment. Every node runs `prepare` first, if it is not null. */
static inline int gasnet_driver_run(int *argc, char ***argv, void (*prepare)(void),
				    void (*call)(gasnet_node_t peer, void *remote))
{
	static gasnet_seginfo_t segments[1024];
	enum driver_place place = driver_place(*argc, *argv);
	driver_take_place(place, driver_rank());
	if (gasnet_init(argc, argv) != GASNET_OK || gasnet_nodes() > 1024)
		return 1;
	if (gasnet_attach(gasnet_driver_handlers, 3, GASNET_DRIVER_SEGMENT, 0) != GASNET_OK)
		return 1;
	gasnet_getSegmentInfo(segments, (int)gasnet_nodes());
	gasnet_driver_barrier();
	gasnet_node_t peer = gasnet_nodes() - 1;
	gasnet_driver_open_link(place, peer, segments);
	if (prepare)
		prepare();
	volatile long *told = (volatile long *)((char *)segments[gasnet_mynode()].addr + 128);
	long over = 1;
	if (gasnet_mynode() == 0) {
		for (unsigned n = driver_calls(); n > 0; n--)
			call(peer, segments[peer].addr);
		DRIVER_TIME(1, call(peer, segments[peer].addr));
		gasnet_put(peer, (char *)segments[peer].addr + 128, &over, sizeof over);
	}
	/* a peer asleep in a barrier would have to be woken */
	while (gasnet_mynode() == peer && !*told)
		gasnet_AMPoll();
	gasnet_driver_barrier();
	gasnet_exit(0);
	return 0;
}

#define GASNET_DRIVER_MAIN_PREPARED(_prepare, _call)                                                                   \
	int main(int argc, char **argv)                                                                                \
	{                                                                                                              \
		return gasnet_driver_run(&argc, &argv, _prepare, _call);                                               \
	}
#define GASNET_DRIVER_MAIN(_call) GASNET_DRIVER_MAIN_PREPARED(NULL, _call)

/* For calls of GASNet-EX: call(tm, peer, remote). */
#define GASNET_DRIVER_CALL_GEX(_call)                                                                                  \
	static void call_gex(gasnet_node_t peer, void *remote)                                                         \
	{                                                                                                              \
		gex_TM_t tm;                                                                                           \
		gasnet_QueryGexObjects(NULL, NULL, &tm, NULL);                                                         \
		_call(tm, peer, remote);                                                                               \
	}
#define GASNET_DRIVER_MAIN_GEX(_call)                                                                                  \
	GASNET_DRIVER_CALL_GEX(_call)                                                                                  \
	GASNET_DRIVER_MAIN(call_gex)

#endif /* INSTR_COUNT_GASNET_DRIVER_H */
