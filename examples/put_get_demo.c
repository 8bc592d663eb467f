/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes, one libfabric provider: put, get, atomic, message, and the values of the counters. An ordinary
 * libfabric program: it depends on this project only by the default name of the provider. Rank 0 acts, rank 1 only
 * exposes its memory and replies to one message. Exits nonzero when any value is wrong.
 *
 *   put_get_demo [PROVIDER]
 */
#define _GNU_SOURCE 1
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum {
	WORD_OFF = 0,      /* rank 0 puts a word here */
	COUNT_OFF = 64,    /* rank 0 adds here */
	BLOCK_OFF = 4096,  /* rank 0 puts a block here */
	TEXT_OFF = 131072, /* rank 1 has written a text here, rank 0 gets it */
	MEM_BYTES = 1 << 20,
	BLOCK_BYTES = 65536,
	NAME_BYTES = 256,
	PATIENCE_S = 10,
};
static const char greeting[] = "hello from the memory of rank 1";

static int rank;
static int wrong;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
/* remote: puts that arrived here; NULL if the provider has no such counter */
static struct fid_cntr *written, *got, *remote;
static struct fid_ep *ep;
static struct fid_mr *mr;
static char *mem;
static fi_addr_t peer;

/* What rank 1 saw when the message came; sent in its reply. */
struct answer {
	uint64_t word, sum, block_sum, remote_writes, has_remote;
};

static void check(long rc, const char *what)
{
	if (rc >= 0)
		return;
	fflush(stdout);
	fprintf(stderr, "put_get_demo: rank %d: %s: %s\n", rank, what, fi_strerror((int)-rc));
	_exit(1);
}

static uint64_t now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec;
}

/* --- setting up --------------------------------------------------------------------------------------------------- */

static int find(const char *provider, uint64_t more_caps)
{
	struct fi_info *hints = fi_allocinfo();
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | more_caps;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mr_mode = 0; /* our keys, offsets as addresses */
	hints->fabric_attr->prov_name = strdup(provider);
	const int rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	return rc;
}

/* Memory from a memfd: a provider can map it in the other process and store to it directly. */
static void lend_memory(void)
{
	const int fd = memfd_create("demo", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, MEM_BYTES))
		check(-FI_ENOMEM, "memfd_create");
	mem = mmap(NULL, MEM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED)
		check(-FI_ENOMEM, "mmap");
	check(fi_mr_reg(domain, mem, MEM_BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL), "fi_mr_reg");
}

static void open_all(const char *provider)
{
	struct fi_av_attr table = {.type = FI_AV_TABLE, .count = 2};
	struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE};
	struct fi_cntr_attr counter = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	if (find(provider, FI_RMA_EVENT) && find(provider, 0)) {
		if (rank == 0)
			fprintf(stderr,
				"put_get_demo: libfabric has no provider %s here; FI_PROVIDER_PATH names the folder of "
				"libpgas-fi.so\n",
				provider);
		_exit(1);
	}
	check(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	check(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	check(fi_av_open(domain, &table, &av, NULL), "fi_av_open");
	check(fi_cq_open(domain, &queue, &cq, NULL), "fi_cq_open");
	check(fi_cntr_open(domain, &counter, &written, NULL), "fi_cntr_open");
	check(fi_cntr_open(domain, &counter, &got, NULL), "fi_cntr_open");
	check(fi_endpoint(domain, info, &ep, NULL), "fi_endpoint");
	check(fi_ep_bind(ep, &av->fid, 0), "bind av");
	check(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "bind cq");
	check(fi_ep_bind(ep, &cq->fid, FI_RECV), "bind cq");
	check(fi_ep_bind(ep, &written->fid, FI_WRITE), "bind counter");
	check(fi_ep_bind(ep, &got->fid, FI_READ), "bind counter");
	if (info->caps & FI_RMA_EVENT && !fi_cntr_open(domain, &counter, &remote, NULL) &&
	    fi_ep_bind(ep, &remote->fid, FI_REMOTE_WRITE)) {
		fi_close(&remote->fid);
		remote = NULL;
	}
	check(fi_enable(ep), "fi_enable");
	lend_memory();
}

/* Each process sends its address through a pipe. Both insert rank 0 first: in an address table a rank is an index. */
static void exchange(int to_peer, int from_peer)
{
	char name[2][NAME_BYTES] = {{0}};
	size_t len = NAME_BYTES;
	check(fi_getname(&ep->fid, name[rank], &len), "fi_getname");
	if (write(to_peer, name[rank], NAME_BYTES) != NAME_BYTES ||
	    read(from_peer, name[!rank], NAME_BYTES) != NAME_BYTES)
		check(-FI_EIO, "exchange of addresses");
	for (int r = 0; r < 2; r++) {
		fi_addr_t place;
		check(fi_av_insert(av, name[r], 1, &place, 0, NULL) == 1 ? 0 : -FI_EINVAL, "fi_av_insert");
		if (r != rank)
			peer = place;
	}
}

static void close_all(void)
{
	struct fid *const all[] = {&ep->fid,      &mr->fid,     remote ? &remote->fid : NULL,
				   &written->fid, &got->fid,    &cq->fid,
				   &av->fid,      &domain->fid, &fabric->fid};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i])
			check(fi_close(all[i]), "fi_close");
	fi_freeinfo(info);
}

/* --- waiting, always with an end ---------------------------------------------------------------------------------- */

static void wait_counter(struct fid_cntr *counter, uint64_t value, const char *what)
{
	const uint64_t give_up = now_s() + PATIENCE_S;
	while (fi_cntr_read(counter) < value)
		if (now_s() > give_up)
			check(-FI_ETIMEDOUT, what);
}

static size_t wait_message(void)
{
	const uint64_t give_up = now_s() + PATIENCE_S;
	struct fi_cq_msg_entry e;
	ssize_t n;
	while ((n = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN)
		if (now_s() > give_up)
			check(-FI_ETIMEDOUT, "a message");
	check(n, "fi_cq_read");
	return e.len;
}

/* Repeats a call that finds no room; reading the queue makes room. */
#define TRY(call_arg)                                                                                                  \
	do {                                                                                                           \
		const uint64_t give_up_ = now_s() + PATIENCE_S;                                                        \
		ssize_t rc_;                                                                                           \
		while ((rc_ = (call_arg)) == -FI_EAGAIN && now_s() <= give_up_)                                        \
			fi_cq_read(cq, NULL, 0);                                                                       \
		check(rc_, #call_arg);                                                                                 \
	} while (0)

/* --- the two ranks ------------------------------------------------------------------------------------------------ */

static void line(const char *call, const char *what, int good)
{
	char counters[64];
	snprintf(counters, sizeof counters, "%" PRIu64 " / %" PRIu64, fi_cntr_read(written), fi_cntr_read(got));
	printf("  %-16s  %-42s  %-13s  %s\n", call, what, counters, good ? "ok" : "WRONG");
	wrong |= !good;
}

static uint64_t sum_of(const char *bytes, size_t n)
{
	uint64_t sum = 0;
	while (n--)
		sum = sum * 31 + (unsigned char)*bytes++;
	return sum;
}

static void act(void)
{
	static char block[BLOCK_BYTES];
	char text[96], back[sizeof greeting];
	const uint64_t word = 0x0123456789abcdef;
	uint64_t old = 0, seven = 7;
	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (char)(i * 7);
	printf("two processes over provider %s; rank 0 acts on the memory of rank 1\n\n", info->fabric_attr->prov_name);
	printf("  %-16s  %-42s  %-13s\n", "call", "what happened", "writes/reads");

	TRY(fi_inject_write(ep, &word, sizeof word, peer, WORD_OFF, 0));
	wait_counter(written, 1, "the put");
	line("fi_inject_write", "put 8 bytes at offset 0, key 0", 1);

	TRY(fi_write(ep, block, sizeof block, NULL, peer, BLOCK_OFF, 0, NULL));
	wait_counter(written, 2, "the large put");
	line("fi_write", "put 64 KiB at offset 4096", 1);

	TRY(fi_read(ep, back, sizeof back, NULL, peer, TEXT_OFF, 0, NULL));
	wait_counter(got, 1, "the get");
	snprintf(text, sizeof text, "get \"%.31s\"", back);
	line("fi_read", text, !strcmp(back, greeting));

	TRY(fi_fetch_atomic(ep, &seven, 1, NULL, &old, NULL, peer, COUNT_OFF, 0, FI_UINT64, FI_SUM, NULL));
	wait_counter(got, 2, "the atomic");
	snprintf(text, sizeof text, "add 7, it was %" PRIu64, old);
	line("fi_fetch_atomic", text, old == 35);

	struct answer a = {0};
	TRY(fi_recv(ep, &a, sizeof a, NULL, peer, NULL));
	TRY(fi_inject(ep, "tell me", 8, peer));
	const size_t len = wait_message();
	line("fi_inject, recv", "message to rank 1, and its answer", len == sizeof a);

	printf("\n  rank 1 saw: word 0x%016" PRIx64 " (%s), counter %" PRIu64 " (%s), block %s\n", a.word,
	       a.word == word ? "ok" : "WRONG", a.sum, a.sum == 42 ? "ok" : "WRONG",
	       a.block_sum == sum_of(block, sizeof block) ? "ok" : "WRONG");
	if (a.has_remote)
		printf("  its remote-write counter: %" PRIu64 " (%s)\n", a.remote_writes,
		       a.remote_writes >= 2 ? "ok" : "WRONG");
	else
		printf("  its remote-write counter: this provider has none\n");
	wrong |= a.word != word || a.sum != 42 || a.block_sum != sum_of(block, sizeof block) ||
		 (a.has_remote && a.remote_writes < 2);
	printf("\n%s\n", wrong ? "something is WRONG" : "all values are right");
}

static void lend(void)
{
	char message[8] = "";
	TRY(fi_recv(ep, message, sizeof message, NULL, peer, NULL));
	wait_message(); /* until then rank 1 only polls its queue */
	struct answer a = {.has_remote = remote != NULL};
	memcpy(&a.word, mem + WORD_OFF, sizeof a.word);
	memcpy(&a.sum, mem + COUNT_OFF, sizeof a.sum);
	a.block_sum = sum_of(mem + BLOCK_OFF, BLOCK_BYTES);
	if (remote)
		a.remote_writes = fi_cntr_read(remote);
	wrong |= strcmp(message, "tell me") != 0;
	TRY(fi_inject(ep, &a, sizeof a, peer));
}

/* Neither process closes while the other still uses its memory, or waits for a message that needs its progress. */
static void finish(int to_peer, int from_peer)
{
	char byte = 0;
	struct pollfd input = {.fd = from_peer, .events = POLLIN};
	if (write(to_peer, &byte, 1) != 1)
		wrong = 1;
	while (poll(&input, 1, 1) == 0)
		fi_cq_read(cq, NULL, 0);
	if (read(from_peer, &byte, 1) != 1)
		wrong = 1;
}

int main(int argc, char **argv)
{
	const char *provider = argc > 1 ? argv[1] : "pgas";
	int pipes[2][2];
	setenv("IPATH_NO_BACKTRACE", "1", 0); /* otherwise a library below libfabric would catch our signals */
	signal(SIGPIPE, SIG_IGN);
	if (pipe(pipes[0]) || pipe(pipes[1])) {
		perror("put_get_demo: pipe");
		return 1;
	}
	const pid_t child = fork();
	rank = child == 0;
	close(pipes[rank][0]);
	close(pipes[!rank][1]);
	const int to_peer = pipes[rank][1], from_peer = pipes[!rank][0];
	alarm(3 * PATIENCE_S); /* if anything hangs, the demo still ends */
	open_all(provider);
	if (rank == 1) { /* before the addresses go out: afterwards rank 0 may read it at any time */
		const uint64_t start = 35;
		memcpy(mem + COUNT_OFF, &start, sizeof start);
		memcpy(mem + TEXT_OFF, greeting, sizeof greeting);
	}
	exchange(to_peer, from_peer);
	if (rank == 0)
		act();
	else
		lend();
	finish(to_peer, from_peer);
	close_all();
	int status = 0;
	if (rank == 0 && (waitpid(child, &status, 0) != child || status))
		wrong = 1;
	return wrong;
}
