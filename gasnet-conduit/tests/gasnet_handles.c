/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handles of transfers to a node that does nothing: node 0 stops node 1, and no handle may be complete before node 1
 * runs again. For nodes on different hosts, real or simulated: a mapped segment needs no help from its node.
 */
#include "gasnet_test.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#define SEGMENT (1u << 20)
#define BYTES 65536u /* more than a packet: the network provider moves it */

static char source[BYTES], back[BYTES];

/* The process state as the kernel shows it: T for stopped. */
static char state_of(long pid)
{
	char path[64], line[256] = "";
	snprintf(path, sizeof path, "/proc/%ld/stat", pid);
	FILE *f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof line, f));
	fclose(f);
	const char *behind_name = strrchr(line, ')');
	CHECK(behind_name && behind_name[1] == ' ');
	return behind_name[2];
}

static void stop(long pid)
{
	const struct timespec nap = {0, 1000000};
	CHECK_OK(kill((pid_t)pid, SIGSTOP));
	while (state_of(pid) != 'T')
		nanosleep(&nap, NULL);
}

/* However often it is tried, the transfer is not complete. */
static void not_yet(gasnet_handle_t h)
{
	CHECK(h != GASNET_INVALID_HANDLE);
	for (int i = 0; i < 200; i++) {
		CHECK(gasnet_try_syncnb(h) == GASNET_ERR_NOT_READY);
		CHECK(gasnet_try_syncnb_all(&h, 1) == GASNET_ERR_NOT_READY);
		CHECK(gasnet_try_syncnb_some(&h, 1) == GASNET_ERR_NOT_READY);
	}
}

static void put_to_stopped(long pid, size_t n)
{
	char *pos = test_at(1, 0);
	memset(source, (int)n % 100 + 1, n);
	stop(pid);
	gasnet_handle_t h = gasnet_put_nb_bulk(1, pos, source, n);
	not_yet(h);
	CHECK_OK(kill((pid_t)pid, SIGCONT));
	while (gasnet_try_syncnb(h) != GASNET_OK)
		;
	memset(back, 0, n);
	gasnet_get_bulk(back, 1, pos, n);
	CHECK(memcmp(back, source, n) == 0);
}

static void get_from_stopped(long pid, size_t n)
{
	gasnet_put_bulk(1, test_at(1, 0), source, n);
	memset(back, 0, n);
	stop(pid);
	gasnet_handle_t h = gasnet_get_nb_bulk(back, 1, test_at(1, 0), n);
	not_yet(h);
	CHECK_OK(kill((pid_t)pid, SIGCONT));
	gasnet_wait_syncnb(h);
	CHECK(memcmp(back, source, n) == 0);
}

static void implicit_to_stopped(long pid)
{
	stop(pid);
	gasnet_put_nbi(1, test_at(1, 8), source, 8);
	for (int i = 0; i < 200; i++) {
		CHECK(gasnet_try_syncnbi_puts() == GASNET_ERR_NOT_READY);
		CHECK(gasnet_try_syncnbi_all() == GASNET_ERR_NOT_READY);
	}
	CHECK_OK(kill((pid_t)pid, SIGCONT));
	gasnet_wait_syncnbi_puts();
	CHECK(gasnet_try_syncnbi_all() == GASNET_OK);
}

int main(int argc, char **argv)
{
	test_start(&argc, &argv, NULL, 0, SEGMENT);
	gasnet_nodeinfo_t nodes[2];
	CHECK(gasnet_nodes() == 2);
	CHECK_OK(gasnet_getNodeInfo(nodes, 2));
	CHECK(nodes[0].supernode != nodes[1].supernode);
	if (gasnet_mynode() == 1)
		gasnet_put_val(0, test_at(0, 0), (gasnet_register_value_t)getpid(), 8);
	test_barrier();
	if (gasnet_mynode() == 0) {
		const long pid = *(volatile long *)test_at(0, 0);
		const size_t sizes[] = {8, 1000, BYTES};
		for (int i = 0; i < 3; i++) {
			put_to_stopped(pid, sizes[i]);
			get_from_stopped(pid, sizes[i]);
		}
		implicit_to_stopped(pid);
	}
	test_barrier();
	if (gasnet_mynode() == 0)
		printf("handles: 2 nodes: ok\n");
	test_end();
}
