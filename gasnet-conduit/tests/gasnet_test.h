/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the multi-process tests: a check that ends the whole job, and starting up. */
#ifndef GASNET_TEST_H
#define GASNET_TEST_H

#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_RANK ((int)gasnet_mynode())
#define CHECK_END(file_arg, line_arg) gasnet_exit(1)
#define CHECK_ERROR_TEXT(code_arg) gasnet_ErrorName(code_arg)
#include "check.h"

static gasnet_seginfo_t *test_segments;

static inline void test_barrier(void)
{
	gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
	CHECK_OK(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS));
}

/* Ends successfully, with all output printed: the others' exit would end a node that is still about to print. */
static inline void test_end(void)
{
	fflush(stdout);
	test_barrier();
	gasnet_exit(0);
}

static inline void test_start(int *argc, char ***argv, gasnet_handlerentry_t *table, int count, uintptr_t segment)
{
	CHECK_OK(gasnet_init(argc, argv));
	CHECK_OK(gasnet_attach(table, count, segment, 0));
	test_segments = calloc(gasnet_nodes(), sizeof *test_segments);
	CHECK(test_segments);
	CHECK_OK(gasnet_getSegmentInfo(test_segments, (int)gasnet_nodes()));
}

/* An address `off` bytes into a node's segment. */
static inline char *test_at(gasnet_node_t node, size_t off)
{
	return (char *)test_segments[node].addr + off;
}

#endif
