/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rawofi: the round trip of an 8-byte message between two hosts by a libfabric provider alone: what a library that uses
 * that provider cannot go below. The provider is the one that RAWOFI_PROVIDER names, else the first of tcp, net and
 * tcp;ofi_rxm, the order in which single layers come first.
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, MOST_NAME = 256, BUFFERS = 16, MOST_MESSAGE = 512 };

const char raw_name[] = "rawofi";
const struct raw_row raw_rows[] = {
	{"inner_spin", "inner", "ns", "message round trip 8 B", 0, WORD},
};
const size_t raw_row_count = sizeof raw_rows / sizeof raw_rows[0];

/* The first message of a sample; the others are words. count 0: the end. */
struct order {
	uint64_t count, name_bytes;
	char name[MOST_NAME];
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;
static struct fid_cq *cq;
static struct fid_ep *ep;
static char buffers[BUFFERS][MOST_MESSAGE];
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

/* Returns the first way that this provider offers and that leads to other hosts. */
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
	hints->caps = FI_MSG;
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
	for (size_t k = 0; k < BUFFERS; k++)
		if (!good((int)fi_recv(ep, buffers[k], MOST_MESSAGE, NULL, FI_ADDR_UNSPEC, buffers[k]), "receive"))
			return 0;
	return 1;
}

/* Waits for a message; returns it. Sends complete here too and are passed over. */
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

static int again(char *buffer)
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
		if (!got || (!first && !say(&word, WORD)) || !again(got))
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
	for (size_t i = 0; i < bytes; i++)
		printf("%02x", (unsigned char)name[i]);
	printf("\n");
	fflush(stdout);
	for (;;) {
		struct order o;
		char *got = next_message();
		if (!got)
			return 1;
		memcpy(&o, got, sizeof o);
		if (!again(got) || o.name_bytes > MOST_NAME)
			return 1;
		if (o.count == 0)
			return 0;
		if (peer == FI_ADDR_UNSPEC && fi_av_insert(av, o.name, 1, &peer, 0, NULL) != 1)
			return 1;
		if (!ping(o.count, 0))
			return 1;
	}
}

int raw_connect(const char *where)
{
	char name[MOST_NAME];
	const size_t bytes = strlen(where) / 2;
	if (bytes > sizeof name || !open_all())
		return 0;
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
	static struct order o; /* stays while it is sent */
	(void)row;
	o.count = count;
	o.name_bytes = sizeof o.name;
	if (!good(fi_getname(&ep->fid, o.name, &o.name_bytes), "name"))
		return 0;
	return say(&o, sizeof o) && ping(count, 1);
}

void raw_close(void)
{
	static struct order end;
	say(&end, sizeof end);
	/* it leaves by progress */
	for (int i = 0; i < 10000; i++)
		fi_cq_read(cq, NULL, 0);
	fi_close(&ep->fid);
	fi_close(&cq->fid);
	fi_close(&av->fid);
	fi_close(&domain->fid);
	fi_close(&fabric->fid);
	fi_freeinfo(info);
}
