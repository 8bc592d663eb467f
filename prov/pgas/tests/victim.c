/* SPDX-License-Identifier: BSD-3-Clause */
/* See victim.h. */
#include "victim.h"

#include <dirent.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

struct scene *scene(void)
{
	return team_shared();
}

static void on_fault(int sig)
{
	(void)sig;
	__atomic_fetch_add(&scene()->trapped, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
}

char *trap_page(void)
{
	struct sigaction a = {.sa_handler = on_fault};
	sigaction(SIGSEGV, &a, NULL);
	sigaction(SIGBUS, &a, NULL);
	char *p = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED);
	return p;
}

void wait_trapped(struct node *n, uint32_t count)
{
	const double end = hang_end();
	while (__atomic_load_n(&scene()->trapped, __ATOMIC_SEQ_CST) < count) {
		node_poll(n);
		sleep_ms(1);
		CHECK(now_s() < end);
	}
}

void wait_for_death(void)
{
	for (;;)
		sleep_ms(1000);
}

/* --- traffic among the living ------------------------------------------------------------------------------------- */

void wait_entry(struct node *n, struct fid_cq *cq, const void *context)
{
	const double end = hang_end();
	for (;;) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err = {0};
		const ssize_t rc = fi_cq_read(cq, &e, 1);
		if (rc == 1 && e.op_context == context)
			return;
		if (rc == -FI_EAVAIL) {
			CHECK_EQ(fi_cq_readerr(cq, &err, 0), 1);
			CHECK(err.op_context != context);
		}
		node_poll(n);
		CHECK(now_s() < end);
	}
}

void converse(struct node *n, int rank, int source, int dest, int count, size_t len)
{
	unsigned char *buf = malloc(len + 8);
	for (int i = 0; i < count; i++) {
		if (rank == source) {
			fill(buf, len, (uint64_t)i);
			CHECK_OK(RETRY(n, fi_tsend(n->ep, buf, len, NULL, n->peer[dest], 4321, buf)));
			wait_entry(n, n->tx_cq, buf);
		} else if (rank == dest) {
			memset(buf, 0, len);
			CHECK_OK(fi_trecv(n->ep, buf, len, NULL, n->peer[source], 4321, 0, buf));
			wait_entry(n, n->rx_cq, buf);
			CHECK(filled(buf, len, (uint64_t)i));
		}
	}
	free(buf);
}

int leftovers(void)
{
	int n = 0;
	struct dirent *e;
	DIR *d = opendir("/dev/shm");
	while (d && (e = readdir(d)) != NULL)
		n += strstr(e->d_name, "pgas") != NULL;
	if (d)
		closedir(d);
	return n;
}

void expect_reset(struct node *n, fi_addr_t dest)
{
	const double end = now_s() + LIMIT_S;
	uint64_t v = 1;
	ssize_t rc;
	while ((rc = fi_inject(n->ep, &v, 8, dest)) == 0 || rc == -FI_EAGAIN) {
		node_poll(n);
		sleep_ms(2);
		CHECK(now_s() < end);
	}
	CHECK(rc == -FI_ECONNRESET || rc == -FI_EHOSTUNREACH);
}
