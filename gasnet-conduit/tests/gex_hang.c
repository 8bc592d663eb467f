/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gex_hang FILE: four nodes that wait in three places until FILE exists. Node 3 is in no call; then it ends the wait of
 * node 2 with a message, and both enter the barrier where the others wait. gex_hang FILE gasnet1: the barrier is
 * GASNet-1's.
 */
#include "gex_test.h"
#include <gasnet_coll.h>

#include <sched.h>
#include <unistd.h>

enum { kGo = 200 };

static volatile int told;

static void go(gex_Token_t token)
{
	(void)token;
	told = 1;
}

__attribute__((noinline)) static void until_there(const char *file)
{
	while (access(file, F_OK) != 0)
		sched_yield();
}

__attribute__((noinline)) static void until_told(void)
{
	GASNET_BLOCKUNTIL(told);
}

int main(int argc, char **argv)
{
	typedef void (*fn)();
	gex_AM_Entry_t table[] = {{kGo, (fn)(void *)go, GEX_FLAG_AM_REQUEST | GEX_FLAG_AM_SHORT, 0, NULL, "go"}};
	test_start(1 << 20);
	CHECK(argc >= 2 && nodes == 4);
	CHECK_OK(gex_EP_RegisterHandlers(test_ep, table, 1));
	test_barrier();
	if (me == 2)
		until_told();
	if (me == 3) {
		until_there(argv[1]);
		gex_AM_RequestShort(test_tm, 2, kGo, 0);
	}
	if (argc > 2)
		test_barrier();
	else
		gex_Event_Wait(gex_Coll_BarrierNB(test_tm, 0));
	if (me == 0)
		printf("gex_hang: ok\n");
	test_end();
}
