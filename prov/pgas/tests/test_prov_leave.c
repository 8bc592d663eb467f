/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a process keeps of its peers: nothing of peers that died or left, and nothing per registration of key 0.
 * Measured through /proc/self: address space, memory, number of mappings, descriptors. Built twice.
 */
#include "common.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define REGION (16u << 20)
#define LONG_MESSAGE (1u << 20)
#define CLIENTS 7
#define SETTLE_S (TEST_SLOW ? 60.0 : 20.0) /* death is noticed in milliseconds; this allows for busy machines */

struct usage {
	long vm_kb, rss_kb;
	int maps, fds;
};

static struct usage usage(void)
{
	struct usage u = {0};
	char line[512];
	FILE *f = fopen("/proc/self/status", "re");
	CHECK(f != NULL);
	while (fgets(line, sizeof line, f)) {
		sscanf(line, "VmSize: %ld", &u.vm_kb);
		sscanf(line, "VmRSS: %ld", &u.rss_kb);
	}
	fclose(f);
	f = fopen("/proc/self/maps", "re");
	CHECK(f != NULL);
	while (fgets(line, sizeof line, f))
		u.maps += strchr(line, '\n') != NULL;
	fclose(f);
	u.fds = open_fds();
	return u;
}

/* A second arena, for the watcher or the link's thread, would add 64 MiB of addresses and some maps at any time. */
static void one_arena(void)
{
	mallopt(M_ARENA_MAX, 1);
}

/* --- clients that come and go ------------------------------------------------------------------------------------- */

enum stay { STRANGER, INSERTED, REMOVED };
struct visit {
	enum stay stay;    /* what the survivor does with their address, after the message */
	bool killed;       /* otherwise they end by exit(), with everything open */
	bool same_process; /* they are endpoints of one process, which closes each */
	enum fi_threading threading;
};

struct scene {
	char survivor[ADDR_BYTES];
	char client[ADDR_BYTES];
	uint32_t open, sent, served, dead, seen; /* seen: the survivor has checked what the dead one left */
};

static struct scene *scene(void)
{
	return team_shared();
}

static void tell(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

static void await(struct node *n, uint32_t *word, uint32_t value)
{
	const double end = now_s() + 60 + SETTLE_S;
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) < value) {
		if (n)
			node_poll(n);
		sched_yield();
		CHECK(now_s() < end);
	}
	if (n) /* sees what the service thread wrote before the other process said so */
		node_poll(n);
}

static void client(const struct visit *v, uint32_t number)
{
	struct node n;
	struct mem m;
	fi_addr_t survivor;
	unsigned char *message = malloc(LONG_MESSAGE);
	node_open(&n, NULL);
	mem_open(&n, &m, MEM_MEMFD, v->same_process ? 65536 : REGION, 0);
	fill(m.base, m.len, number);
	fill(message, LONG_MESSAGE, number);
	CHECK_EQ(fi_av_insert(n.av, scene()->survivor, 1, &survivor, 0, NULL), 1);
	memcpy(scene()->client, n.name, ADDR_BYTES);
	CHECK_OK(RETRY(&n, fi_send(n.ep, message, LONG_MESSAGE, NULL, survivor, NULL)));
	tell(&scene()->sent, number);
	await(&n, &scene()->served, number);
	if (v->killed)
		kill(getpid(), SIGKILL);
	if (!v->same_process)
		_exit(0);
	mem_close(&m);
	node_close(&n);
	free(message);
}

static void bring_clients(const struct visit *v)
{
	await(NULL, &scene()->open, 1);
	for (uint32_t i = 1; i <= (v->same_process ? 6 : 1) * CLIENTS; i++) {
		await(NULL, &scene()->seen, i - 1); /* the next one may be connected before it sends anything */
		if (v->same_process) {
			client(v, i);
			tell(&scene()->dead, i);
			continue;
		}
		int status;
		const pid_t pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			client(v, i);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(v->killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
				: WIFEXITED(status) && !WEXITSTATUS(status));
		tell(&scene()->dead, i);
	}
}

/* Both ends and the state of a socket, as /proc shows them; "" for any other descriptor. */
static void describe_socket(const char *target, char *text, size_t room)
{
	unsigned long inode, addr;
	char line[256], local[64], remote[64], state[8];
	text[0] = 0;
	if (sscanf(target, "socket:[%lu]", &inode) != 1)
		return;
	FILE *f = fopen("/proc/self/net/tcp", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, " %*s %63s %63s %7s %*s %*s %*s %*s %*s %lu", local, remote, state, &addr) == 4 &&
		    addr == inode)
			snprintf(text, room, " %s -> %s state %s", local, remote, state);
	if (f)
		fclose(f);
}

static void show_descriptors(void)
{
	char path[64], dst[256], more[200];
	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		const ssize_t len = readlink(path, dst, sizeof dst - 1);
		if (len <= 0)
			continue;
		dst[len] = 0;
		describe_socket(dst, more, sizeof more);
		fprintf(stderr, "  %d %s%s\n", fd, dst, more);
	}
}

static void serve(struct node *n, const struct visit *v, uint32_t number, unsigned char *buf)
{
	struct fi_cq_tagged_entry e;
	fi_addr_t addr;
	CHECK_OK(fi_recv(n->ep, buf, LONG_MESSAGE, NULL, FI_ADDR_UNSPEC, buf));
	wait_cq(n, n->rx_cq, &e);
	CHECK(filled(buf, LONG_MESSAGE, number));
	if (v->stay == STRANGER)
		return;
	CHECK_EQ(fi_av_insert(n->av, scene()->client, 1, &addr, 0, NULL), 1);
	CHECK_OK(RETRY(n, fi_read(n->ep, buf, REGION, NULL, addr, 0, 0, NULL)));
	wait_cq(n, n->tx_cq, &e);
	CHECK(filled(buf, REGION, number));
	if (v->stay == REMOVED)
		CHECK_OK(fi_av_remove(n->av, &addr, 1, 0));
}

/* Memory is released in every case. Addresses stay with an endpoint shared by threads until fi_av_remove. */
static bool settled(const struct visit *v, const struct usage *first)
{
	const bool addresses = v->threading != FI_THREAD_SAFE || v->stay != INSERTED;
	const struct usage now = usage();
	return now.rss_kb < first->rss_kb + 6000 &&
	       (!addresses || (now.vm_kb < first->vm_kb + (v->same_process ? 700 << 10 : 60 << 10) &&
			       /* shadow memory */
			       now.maps < first->maps + (v->same_process ? 60 : 8) * (TEST_SLOW ? 4 : 1))) &&
	       now.fds <= first->fds + (v->same_process ? 1 : 0);
}

static void visited(int rank, void *arg)
{
	const struct visit *v = arg;
	if (rank == 1) {
		bring_clients(v);
		return;
	}
	const struct node_opts o = {.threading = v->threading, .two_cqs = true};
	struct node n;
	one_arena();
	struct usage first = {0};
	unsigned char *buf = malloc(REGION);
	memset(buf, 1, REGION);
	node_open(&n, &o);
	memcpy(scene()->survivor, n.name, ADDR_BYTES);
	tell(&scene()->open, 1);
	for (uint32_t i = 1; i <= (v->same_process ? 6 : 1) * CLIENTS; i++) {
		await(&n, &scene()->sent, i);
		serve(&n, v, i, buf);
		tell(&scene()->served, i);
		await(&n, &scene()->dead, i);
		if (i == 2)
			first = usage();
		const double end = now_s() + SETTLE_S;
		while (i >= 3 && !settled(v, &first)) {
			const struct usage now = usage();
			node_poll(&n);
			sleep_ms(5);
			if (now_s() > end) {
				show_descriptors();
				fprintf(stderr,
					"client %u: VmSize %ld kB (%ld), VmRSS %ld kB (%ld), %d maps (%d), %d "
					"descriptors (%d)\n",
					i, now.vm_kb, first.vm_kb, now.rss_kb, first.rss_kb, now.maps, first.maps,
					now.fds, first.fds);
			}
			CHECK(now_s() < end);
		}
		tell(&scene()->seen, i);
	}
	node_close(&n);
	free(buf);
}

static void test_leave_clients_are_let_go(void **state)
{
	(void)state;
	const struct visit visits[] = {
		{STRANGER, true, false, FI_THREAD_DOMAIN},  {STRANGER, true, false, FI_THREAD_SAFE},
		{STRANGER, false, false, FI_THREAD_DOMAIN}, {INSERTED, true, false, FI_THREAD_DOMAIN},
		{INSERTED, true, false, FI_THREAD_SAFE},    {REMOVED, true, false, FI_THREAD_SAFE},
		{REMOVED, false, false, FI_THREAD_DOMAIN},  {STRANGER, false, true, FI_THREAD_DOMAIN},
	};
	for (size_t i = 0; i < ARRAY_SIZE(visits); i++)
		team_run(2, visited, (void *)&visits[i]);
}

/* --- key 0 again and again ---------------------------------------------------------------------------------------- */

struct renewal {
	uint32_t count;
	bool sizes; /* 1 to 64 pages, otherwise one */
	bool alias; /* through an alias with FI_PGAS_PRIVATE */
	enum fi_threading threading;
};

/* Rank 1 stores into every registration and reads it back, and rank 0 checks that it arrived. */
static void touch(struct node *n, struct fid_ep *ep, uint32_t i, size_t len)
{
	uint64_t v = i, back = 0;
	struct fi_cq_tagged_entry e;
	/* a read with a completion takes the general path, which finds the new region; inline code alone would not
	 * check */
	CHECK_OK(RETRY(n, fi_read(ep, &back, 8, NULL, n->peer[0], len - 8, 0, NULL)));
	wait_cq(n, n->tx_cq, &e);
	CHECK_EQ(back, 0);
	CHECK_OK(RETRY(n, fi_inject_write(ep, &v, 8, n->peer[0], len - 8, 0)));
	CHECK_OK(RETRY(n, fi_inject_write(ep, &v, 8, n->peer[0], 0, 0)));
	CHECK_OK(RETRY(n, fi_read(ep, &back, 8, NULL, n->peer[0], len - 8, 0, NULL)));
	wait_cq(n, n->tx_cq, &e);
	CHECK_EQ(back, i);
}

static void renew(int rank, void *arg)
{
	const struct renewal *r = arg;
	const struct node_opts o = {.threading = r->threading};
	struct node n;
	struct usage first = {0};
	struct fid_ep *ep;
	one_arena();
	node_open(&n, &o);
	node_connect(&n);
	ep = n.ep;
	if (r->alias && rank == 1)
		CHECK_OK(fi_ep_alias(n.ep, &ep, FI_TRANSMIT | FI_PGAS_PRIVATE));
	for (uint32_t i = 1; i <= r->count; i++) {
		const size_t len = r->sizes ? (i * 7 % 64 + 1) * 4096 : 4096;
		if (rank == 0) {
			struct mem m;
			mem_open(&n, &m, MEM_MEMFD, len, 0);
			tell(&scene()->open, i);
			await(&n, &scene()->served, i);
			CHECK_EQ(*(uint64_t *)(m.base + len - 8), i);
			CHECK_EQ(*(uint64_t *)m.base, i);
			mem_close(&m);
			tell(&scene()->dead, i);
		} else {
			await(&n, &scene()->open, i);
			touch(&n, ep, i, len);
			tell(&scene()->served, i);
			await(&n, &scene()->dead, i);
			if (i == r->count / 4)
				first = usage();
		}
	}
	if (rank == 1) {
		const struct usage last = usage();
		if (last.maps > first.maps + 4 || last.vm_kb > first.vm_kb + (32 << 20))
			fprintf(stderr, "%u registrations: VmSize %ld kB (%ld), %d maps (%d)\n", r->count, last.vm_kb,
				first.vm_kb, last.maps, first.maps);
		CHECK(last.maps <= first.maps + 4);
		CHECK(last.vm_kb <= first.vm_kb + (32 << 20)); /* a few places, not thousands */
		CHECK(last.rss_kb <= first.rss_kb + 4096);
		if (ep != n.ep)
			CHECK_OK(fi_close(&ep->fid));
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_leave_windows_of_key_0_do_not_pile_up(void **state)
{
	(void)state;
	const struct renewal ways[] = {
		{3000, false, false, FI_THREAD_DOMAIN},
		{600, true, false, FI_THREAD_SAFE},
		{300, true, true, FI_THREAD_DOMAIN},
		{300, true, false, FI_THREAD_COMPLETION},
	};
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		team_run(2, renew, (void *)&ways[i]);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_leave_clients_are_let_go),
	cmocka_unit_test(test_leave_windows_of_key_0_do_not_pile_up),
};

TEST_MAIN(tests)
