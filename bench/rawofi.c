/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rawofi: the round trip of an 8-byte message, and streams of writes and reads, between two hosts with a libfabric
 * provider alone: a bound for any library that uses that provider. The provider is the one that RAWOFI_PROVIDER names,
 * else the first of tcp, net and tcp;ofi_rxm; single layers come first.
 */
#define _GNU_SOURCE 1
#include "raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, MOST_NAME = 256, BUFFERS = 16, MOST_MESSAGE = 512 };
enum { K64 = 64 << 10, M1 = 1 << 20, UNDER_WAY = 8 };
enum kind { PING, WRITES, READS };

const char raw_name[] = "rawofi";
const struct raw_row raw_rows[] = {
	{"inner_spin", "inner", BENCH_NS, "message round trip 8 B", PING, WORD},
	{"inner_write_64k", "inner", BENCH_MBS, "stream of writes of 64 KiB", WRITES, K64},
	{"inner_write_1m", "inner", BENCH_MBS, "stream of writes of 1 MiB", WRITES, M1},
	{"inner_read_64k", "inner", BENCH_MBS, "stream of reads of 64 KiB", READS, K64},
	{"inner_read_1m", "inner", BENCH_MBS, "stream of reads of 1 MiB", READS, M1},
};
const size_t raw_row_count = sizeof raw_rows / sizeof raw_rows[0];

/* The first message of a sample; the others are single words. count 0: the end. */
struct order {
	uint64_t kind, count, name_bytes;
	char name[MOST_NAME];
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static char buffers[BUFFERS][MOST_MESSAGE];
static struct fid_mr *mr;
static _Alignas(4096) char memory[UNDER_WAY][M1];
static struct {
	uint64_t addr, key;
} far; /* the other side's memory */
static fi_addr_t peer = FI_ADDR_UNSPEC;

static int good(int rc, const char *what)
{
	if (rc == 0)
		return 1;
	fprintf(stderr, "rawofi: %s: %s\n", what, fi_strerror(-rc));
	return 0;
}

static int is_loopback(const struct fi_info *i)
{
	const struct sockaddr *a = i->src_addr;
	if (a && a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)i->src_addr)->sin_addr.s_addr) >> 24 == 127;
	if (!a || a->sa_family != AF_INET6)
		return 0;
	const struct in6_addr *six = &((const struct sockaddr_in6 *)i->src_addr)->sin6_addr;
	return IN6_IS_ADDR_LOOPBACK(six) || IN6_IS_ADDR_LINKLOCAL(six);
}

/* Returns the provider's first entry that leads to other hosts. */
static struct fi_info *choose(struct fi_info *all, const char *provider)
{
	for (struct fi_info *i = all; i; i = i->next)
		if (!strcmp(i->fabric_attr->prov_name, provider) && !is_loopback(i))
			return i;
	return NULL;
}

static struct fi_info *look(void)
{
	static const char *const order[] = {"tcp", "net", "tcp;ofi_rxm"};
	struct fi_info *hints = fi_allocinfo(), *all = NULL, *found = NULL;
	if (!hints)
		return NULL;
	hints->caps = FI_MSG | FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	const char *name = getenv("RAWOFI_PROVIDER");
	if (name)
		hints->fabric_attr->prov_name = strdup(name);
	if (fi_getinfo(FI_VERSION(1, 14), NULL, NULL, 0, hints, &all) == 0) {
		if (name)
			found = choose(all, all->fabric_attr->prov_name);
		for (size_t k = 0; !name && !found && k < sizeof order / sizeof order[0]; k++)
			found = choose(all, order[k]);
		found = found ? fi_dupinfo(found) : NULL;
		fi_freeinfo(all);
	}
	fi_freeinfo(hints);
	return found;
}

static int open_all(void)
{
	info = look();
	if (!info) {
		fprintf(stderr, "rawofi: no provider that leads to other hosts\n");
		return 0;
	}
	struct fi_av_attr av_attr = {.type = FI_AV_TABLE};
	struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG};
	if (!good(fi_fabric(info->fabric_attr, &fabric, NULL), "fabric") ||
	    !good(fi_domain(fabric, info, &domain, NULL), "domain") ||
	    !good(fi_av_open(domain, &av_attr, &av, NULL), "address vector") ||
	    !good(fi_cq_open(domain, &cq_attr, &cq, NULL), "queue") ||
	    !good(fi_endpoint(domain, info, &ep, NULL), "endpoint") || !good(fi_ep_bind(ep, &av->fid, 0), "bind") ||
	    !good(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind") || !good(fi_enable(ep), "enable"))
		return 0;
	if (!good(fi_mr_reg(domain, memory, sizeof memory, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1,
			    0, &mr, NULL),
		  "memory") ||
	    (info->domain_attr->mr_mode & FI_MR_ENDPOINT &&
	     (!good(fi_mr_bind(mr, &ep->fid, 0), "memory") || !good(fi_mr_enable(mr), "memory"))))
		return 0;
	for (size_t k = 0; k < BUFFERS; k++)
		if (!good((int)fi_recv(ep, buffers[k], MOST_MESSAGE, NULL, FI_ADDR_UNSPEC, buffers[k]), "receive"))
			return 0;
	return 1;
}

/* Waits for a message and returns it. Send completions are skipped. */
static char *next_message(void)
{
	for (;;) {
		struct fi_cq_msg_entry entry;
		const ssize_t n = fi_cq_read(cq, &entry, 1);
		if (n == 1 && entry.flags & FI_RECV)
			return entry.op_context;
		if (n < 0 && n != -FI_EAGAIN)
			return NULL;
	}
}

/*
 * Takes completions; returns how many transfers have completed, or -1. A message is not a transfer and must not arrive
 * now.
 */
static int transfers_over(void)
{
	struct fi_cq_msg_entry entry[UNDER_WAY];
	const ssize_t n = fi_cq_read(cq, entry, UNDER_WAY);
	int over = 0;
	for (ssize_t i = 0; i < n; i++)
		over += !!(entry[i].flags & FI_RMA);
	return n < 0 && n != -FI_EAGAIN ? -1 : over;
}

/* Runs `count` transfers, UNDER_WAY at a time. */
static int transfers(enum kind kind, uint64_t count, size_t bytes)
{
	uint64_t begun = 0, over = 0;
	while (over < count) {
		while (begun < count && begun - over < UNDER_WAY) {
			char *pos = memory[begun % UNDER_WAY];
			const uint64_t dest = far.addr + (begun % UNDER_WAY) * M1;
			const ssize_t rc = kind == WRITES
						   ? fi_write(ep, pos, bytes, fi_mr_desc(mr), peer, dest, far.key, pos)
						   : fi_read(ep, pos, bytes, fi_mr_desc(mr), peer, dest, far.key, pos);
			if (rc == -FI_EAGAIN)
				break;
			if (!good((int)rc, "transfer"))
				return 0;
			begun++;
		}
		const int more = transfers_over();
		if (more < 0)
			return 0;
		over += (uint64_t)more;
	}
	return 1;
}

static int post_receive(char *buffer)
{
	return fi_recv(ep, buffer, MOST_MESSAGE, NULL, FI_ADDR_UNSPEC, buffer) == 0;
}

static int say(const void *what, size_t bytes)
{
	ssize_t rc;
	while ((rc = bytes <= info->tx_attr->inject_size ? fi_inject(ep, what, bytes, peer)
							 : fi_send(ep, what, bytes, NULL, peer, NULL)) == -FI_EAGAIN)
		fi_cq_read(cq, NULL, 0);
	return rc == 0;
}

static int ping(uint64_t count, int first)
{
	uint64_t word = 1;
	for (uint64_t i = 0; i < count; i++) {
		if (first && !say(&word, WORD))
			return 0;
		char *got = next_message();
		if (!got || (!first && !say(&word, WORD)) || !post_receive(got))
			return 0;
	}
	return 1;
}

int raw_serve(void)
{
	char name[MOST_NAME];
	size_t bytes = sizeof name;
	if (!open_all() || !good(fi_getname(&ep->fid, name, &bytes), "name"))
		return 1;
	far.addr = info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)memory : 0;
	far.key = fi_mr_key(mr);
	for (size_t i = 0; i < bytes; i++)
		printf("%02x", (unsigned char)name[i]);
	printf(":%llx:%llx\n", (unsigned long long)far.addr, (unsigned long long)far.key);
	fflush(stdout);
	for (;;) {
		struct order o;
		char *got = next_message();
		if (!got)
			return 1;
		memcpy(&o, got, sizeof o);
		if (!post_receive(got) || o.name_bytes > MOST_NAME)
			return 1;
		if (o.count == 0)
			return 0;
		if (peer == FI_ADDR_UNSPEC && fi_av_insert(av, o.name, 1, &peer, 0, NULL) != 1)
			return 1;
		if (!ping(o.kind == PING ? o.count : 1, 0)) /* of transfers the server sees only the end */
			return 1;
	}
}

int raw_connect(const char *where)
{
	char name[MOST_NAME];
	const size_t bytes = strcspn(where, ":") / 2;
	unsigned long long addr, key;
	if (bytes > sizeof name || sscanf(where + 2 * bytes, ":%llx:%llx", &addr, &key) != 2 || !open_all())
		return 0;
	far.addr = addr;
	far.key = key;
	for (size_t i = 0; i < bytes; i++) {
		unsigned byte;
		if (sscanf(where + 2 * i, "%2x", &byte) != 1)
			return 0;
		name[i] = (char)byte;
	}
	fprintf(stderr, "rawofi: %s\n", info->fabric_attr->prov_name);
	return fi_av_insert(av, name, 1, &peer, 0, NULL) == 1;
}

int raw_run(const struct raw_row *row, uint64_t count)
{
	static struct order o; /* must stay valid while it is sent */
	o.kind = (uint64_t)row->kind;
	o.count = count;
	o.name_bytes = sizeof o.name;
	if (!good(fi_getname(&ep->fid, o.name, &o.name_bytes), "name"))
		return 0;
	if (!say(&o, sizeof o))
		return 0;
	if (row->kind == PING)
		return ping(count, 1);
	return transfers((enum kind)row->kind, count, row->bytes) && ping(1, 1);
}

void raw_close(void)
{
	static struct order end;
	say(&end, sizeof end);
	/* progress makes it leave */
	for (int i = 0; i < 10000; i++)
		fi_cq_read(cq, NULL, 0);
	fi_close(&ep->fid);
	fi_close(&mr->fid);
	fi_close(&cq->fid);
	fi_close(&av->fid);
	fi_close(&domain->fid);
	fi_close(&fabric->fid);
	fi_freeinfo(info);
}
