/* SPDX-License-Identifier: BSD-3-Clause */
/* See node.h. Compiled twice: for programs that call through libfabric's ops tables, and with FABRIC_DIRECT. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "node.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANARY 0xC5
#define CANARY_BYTES 65536 /* whole pages on every machine */

const char *const mem_names[MEM_KINDS] = {"memfd", "private", "whole address space"};

/* --- objects ------------------------------------------------------------------------------------------------------ */

struct fi_info *hints_new(void)
{
	struct fi_info *h = fi_allocinfo();
	CHECK(h != NULL);
	h->fabric_attr->prov_name = strdup("pgas");
	h->ep_attr->type = FI_EP_RDM;
	return h;
}

struct fi_info *info_get(const struct node_opts *o)
{
	struct fi_info *h = hints_new(), *list = NULL, *found = NULL;
	h->caps = o->caps;
	h->domain_attr->threading = o->threading ? o->threading : FI_THREAD_DOMAIN;
	h->domain_attr->data_progress = o->progress ? o->progress : FI_PROGRESS_MANUAL;
	h->domain_attr->av_type = o->av_type;
	h->domain_attr->mr_mode = o->mr_mode;
	h->domain_attr->mr_key_size = o->key_size;
	h->tx_attr->op_flags = o->tx_flags;
	h->rx_attr->op_flags = o->rx_flags;
	h->tx_attr->msg_order = h->rx_attr->msg_order = o->order;
	h->tx_attr->inject_size = o->inject_size;
	CHECK_OK(
		fi_getinfo(o->version ? o->version : TEST_API, NULL, o->service, o->service ? FI_SOURCE : 0, h, &list));
	for (struct fi_info *i = list; i; i = i->next) {
		if (i->domain_attr->mr_mode == o->mr_mode) {
			found = fi_dupinfo(i);
			break;
		}
	}
	CHECK(found != NULL);
	fi_freeinfo(list);
	fi_freeinfo(h);
	return found;
}

static void open_counter(struct node *n, const struct node_opts *o, uint64_t flag, struct fid_cntr **out)
{
	struct fi_cntr_attr attr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = o->wait};
	if (!(o->counters & flag))
		return;
	CHECK_OK(fi_cntr_open(n->domain, &attr, out, NULL));
	CHECK_OK(fi_ep_bind(n->ep, &(*out)->fid, flag));
}

void node_open_ep(struct node *n, const struct node_opts *o)
{
	struct fi_av_attr av = {.type = o->av_type ? o->av_type : FI_AV_TABLE};
	struct fi_cq_attr cq = {
		.size = o->cq_size, .format = o->format ? o->format : FI_CQ_FORMAT_TAGGED, .wait_obj = o->wait};
	const uint64_t selective = o->selective ? FI_SELECTIVE_COMPLETION : 0;
	CHECK_OK(fi_av_open(n->domain, &av, &n->av, NULL));
	CHECK_OK(fi_endpoint(n->domain, n->info, &n->ep, NULL));
	CHECK_OK(fi_ep_bind(n->ep, &n->av->fid, 0));
	if (!o->no_cq) {
		CHECK_OK(fi_cq_open(n->domain, &cq, &n->tx_cq, NULL));
		n->rx_cq = n->tx_cq;
		if (o->two_cqs) {
			CHECK_OK(fi_cq_open(n->domain, &cq, &n->rx_cq, NULL));
			CHECK_OK(fi_ep_bind(n->ep, &n->tx_cq->fid, FI_TRANSMIT | selective));
			CHECK_OK(fi_ep_bind(n->ep, &n->rx_cq->fid, FI_RECV | selective));
		} else {
			CHECK_OK(fi_ep_bind(n->ep, &n->tx_cq->fid, FI_TRANSMIT | FI_RECV | selective));
		}
	}
	open_counter(n, o, FI_SEND, &n->c_send);
	open_counter(n, o, FI_RECV, &n->c_recv);
	open_counter(n, o, FI_READ, &n->c_read);
	open_counter(n, o, FI_WRITE, &n->c_write);
	open_counter(n, o, FI_REMOTE_READ, &n->c_rem_read);
	open_counter(n, o, FI_REMOTE_WRITE, &n->c_rem_write);
	if (o->no_enable)
		return;
	CHECK_OK(fi_enable(n->ep));
	size_t len = sizeof n->name;
	CHECK_OK(fi_getname(&n->ep->fid, n->name, &len));
	CHECK_EQ(len, ADDR_BYTES);
}

void node_open(struct node *n, const struct node_opts *o)
{
	static const struct node_opts plain;
	memset(n, 0, sizeof *n);
	if (!o)
		o = &plain;
	n->info = info_get(o);
	CHECK_OK(fi_fabric(n->info->fabric_attr, &n->fabric, NULL));
	CHECK_OK(fi_domain(n->fabric, n->info, &n->domain, NULL));
	if (o->peers_watched) {
		struct fi_pgas_ops *ops;
		CHECK_OK(fi_open_ops(&n->domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL));
		CHECK_OK(ops->peers_watched(n->domain));
	}
	node_open_ep(n, o);
}

void node_connect(struct node *n)
{
	char names[TEAM_MAX][ADDR_BYTES];
	team_exchange(n, n->name, ADDR_BYTES, names);
	for (int i = 0; i < team_size(); i++)
		CHECK_EQ(fi_av_insert(n->av, names[i], 1, &n->peer[i], 0, NULL), 1);
	n->self = n->peer[team_rank()];
	team_barrier(n);
}

static void close_fid(struct fid *f)
{
	if (f)
		CHECK_OK(fi_close(f));
}

void node_close(struct node *n)
{
	close_fid(n->ep ? &n->ep->fid : NULL);
	struct fid_cntr *const counters[] = {n->c_send,  n->c_recv,     n->c_read,
					     n->c_write, n->c_rem_read, n->c_rem_write};
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		close_fid(counters[i] ? &counters[i]->fid : NULL);
	if (n->rx_cq != n->tx_cq)
		close_fid(n->rx_cq ? &n->rx_cq->fid : NULL);
	close_fid(n->tx_cq ? &n->tx_cq->fid : NULL);
	close_fid(n->av ? &n->av->fid : NULL);
	close_fid(n->domain ? &n->domain->fid : NULL);
	close_fid(n->fabric ? &n->fabric->fid : NULL);
	if (n->info)
		fi_freeinfo(n->info);
	memset(n, 0, sizeof *n);
}

void node_poll(struct node *n)
{
#if defined(__SANITIZE_THREAD__)
	/* A message that came through a barrier of processes is ordered after the stores of a provider thread, but the
	 * sanitizer cannot know; it sees the lock that progress takes. */
	struct fi_pgas_ops *ops;
	if (fi_open_ops(&n->domain->fid, FI_PGAS_OPS, 0, (void **)&ops, NULL) == 0)
		ops->progress(n->domain);
#endif
	if (n->tx_cq)
		fi_cq_read(n->tx_cq, NULL, 0);
	if (n->rx_cq && n->rx_cq != n->tx_cq)
		fi_cq_read(n->rx_cq, NULL, 0);
	if (!n->tx_cq) {
		struct fid_cntr *const counters[] = {n->c_send, n->c_recv, n->c_read, n->c_write};
		for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
			if (counters[i])
				fi_cntr_read(counters[i]);
	}
}

/* --- memory ------------------------------------------------------------------------------------------------------- */

void mem_alloc(struct mem *m, enum mem_kind kind, size_t len)
{
	memset(m, 0, sizeof *m);
	const size_t body = (len + CANARY_BYTES - 1) / CANARY_BYTES * CANARY_BYTES;
	m->kind = kind;
	m->len = len;
	m->alloc_len = body + 2 * CANARY_BYTES;
	if (kind == MEM_MEMFD) {
		const int fd = memfd_create("test", MFD_CLOEXEC);
		CHECK(fd >= 0);
		CHECK_OK(ftruncate(fd, (off_t)m->alloc_len));
		m->alloc = mmap(NULL, m->alloc_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		m->mr = NULL;
		m->key = (uint64_t)fd; /* until it is registered: the provider keeps its own descriptor */
	} else {
		m->alloc = mmap(NULL, m->alloc_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	CHECK(m->alloc != MAP_FAILED);
	memset(m->alloc, CANARY, m->alloc_len);
	m->base = (unsigned char *)m->alloc + CANARY_BYTES;
	memset(m->base, 0, len);
}

void mem_register(struct node *n, struct mem *m, uint64_t key, uint64_t access)
{
	const int fd = m->kind == MEM_MEMFD ? (int)m->key : -1;
	const bool whole = m->kind == MEM_WHOLE;
	CHECK_OK(fi_mr_reg(n->domain, whole ? NULL : m->base, whole ? SIZE_MAX : m->len, access, 0, key, 0, &m->mr,
			   NULL));
	if (fd >= 0)
		close(fd);
	m->key = fi_mr_key(m->mr);
	const bool virtual = n->info->domain_attr->mr_mode == API_MR_BASIC ||
			     (n->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR);
	m->start = whole || virtual ? (uintptr_t)m->base : 0;
}

void mem_open(struct node *n, struct mem *m, enum mem_kind kind, size_t len, uint64_t key)
{
	mem_alloc(m, kind, len);
	mem_register(n, m, key, ACCESS_ALL);
}

void mem_check_canaries(const struct mem *m)
{
	const unsigned char *p = (const unsigned char *)m->alloc;
	const size_t before = (size_t)(m->base - p);
	for (size_t i = 0; i < m->alloc_len; i++)
		if (i < before || i >= before + m->len)
			if (p[i] != CANARY) {
				fprintf(stderr, "byte %zd beside the region was written\n", (ssize_t)(i - before));
				CHECK(!"canary");
			}
}

void mem_close(struct mem *m)
{
	mem_check_canaries(m);
	if (m->mr)
		CHECK_OK(fi_close(&m->mr->fid));
	munmap(m->alloc, m->alloc_len);
	memset(m, 0, sizeof *m);
}

void mem_exchange(struct node *n, const struct mem *m, struct remote_mem *all)
{
	const struct remote_mem mine = {m->key, m->start, m->len};
	team_exchange(n, &mine, sizeof mine, all);
}

static unsigned char byte_of(uint64_t seed, size_t i)
{
	const uint64_t x = (seed + i / 8 + 1) * 0x9E3779B97F4A7C15u;
	return (unsigned char)(x >> (8 * (i % 8)));
}

void fill(void *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++)
		((unsigned char *)p)[i] = byte_of(seed, i);
}

bool filled(const void *p, size_t len, uint64_t seed)
{
	for (size_t i = 0; i < len; i++) {
		if (((const unsigned char *)p)[i] != byte_of(seed, i)) {
			fprintf(stderr, "byte %zu of %zu is %02x, expected %02x\n", i, len,
				((const unsigned char *)p)[i], byte_of(seed, i));
			return false;
		}
	}
	return true;
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static void give_way(int polls)
{
	if (polls < 1000)
		sched_yield();
	else
		usleep(20);
}

void wait_cntr(struct node *n, struct fid_cntr *c, uint64_t value)
{
	const double end = hang_end();
	for (int polls = 0; fi_cntr_read(c) < value; polls++) {
		CHECK_EQ(fi_cntr_readerr(c), 0);
		node_poll(n);
		give_way(polls);
		CHECK(now_s() < end);
	}
}

static ssize_t next_entry(struct node *n, struct fid_cq *cq, struct fi_cq_tagged_entry *e)
{
	const double end = hang_end();
	for (int polls = 0;; polls++) {
		const ssize_t rc = fi_cq_read(cq, e, 1);
		if (rc != -FI_EAGAIN)
			return rc;
		node_poll(n);
		give_way(polls);
		CHECK(now_s() < end);
	}
}

void wait_cq(struct node *n, struct fid_cq *cq, struct fi_cq_tagged_entry *e)
{
	const ssize_t rc = next_entry(n, cq, e);
	if (rc == -FI_EAVAIL) {
		struct fi_cq_err_entry err = {0};
		fi_cq_readerr(cq, &err, 0);
		fprintf(stderr, "error entry: %s (flags %llx)\n", fi_strerror(err.err), (unsigned long long)err.flags);
	}
	CHECK_EQ(rc, 1);
}

void wait_cq_error(struct node *n, struct fid_cq *cq, struct fi_cq_err_entry *e)
{
	struct fi_cq_tagged_entry good;
	CHECK_EQ(next_entry(n, cq, &good), -FI_EAVAIL);
	memset(e, 0, sizeof *e);
	CHECK_EQ(fi_cq_readerr(cq, e, 0), 1);
}

void wait_tx(struct node *n, int count)
{
	struct fi_cq_tagged_entry e;
	while (count-- > 0) {
		wait_cq(n, n->tx_cq, &e);
		CHECK(e.flags & (FI_SEND | FI_READ | FI_WRITE));
	}
}
