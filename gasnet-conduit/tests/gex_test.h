/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the multi-process tests of GASNet-EX: a check that ends the whole job, and starting up. */
#ifndef GEX_TEST_H
#define GEX_TEST_H

#include <gasnetex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_RANK ((int)gex_System_QueryJobRank())
#define CHECK_END(file_arg, line_arg) gasnet_exit(1)
#define CHECK_ERROR_TEXT(code_arg) gasnet_ErrorName(code_arg)
#include "check.h"

static gex_Client_t test_client;
static gex_EP_t test_ep;
static gex_TM_t test_tm;
static gex_Segment_t test_segment;
static gex_Rank_t me, nodes;

PGAS_EXPORT int gasnet_barrier(int id, int flags) PGAS_NOEXCEPT;
static inline void test_barrier(void)
{
	CHECK_OK(gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

/* Ends successfully, with all output printed: the others' exit would end a node that is still about to print. */
static inline void test_end(void)
{
	fflush(stdout);
	test_barrier();
	gasnet_exit(0);
}

static inline void test_start(uintptr_t segment)
{
	CHECK_OK(gex_Client_Init(&test_client, &test_ep, &test_tm, "TEST", NULL, NULL, 0));
	CHECK_OK(gex_Segment_Attach(&test_segment, test_tm, segment));
	me = gex_TM_QueryRank(test_tm);
	nodes = gex_TM_QuerySize(test_tm);
}

/* An address `off` bytes into a member's segment. */
static inline char *test_at(gex_Rank_t rank, size_t off)
{
	void *base = NULL;
	uintptr_t size = 0;
	gex_Event_Wait(gex_EP_QueryBoundSegmentNB(test_tm, rank, &base, NULL, &size, 0));
	CHECK(base && off < size);
	return (char *)base + off;
}

#endif
