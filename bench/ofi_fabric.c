/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens every provider in the same way: RDM endpoint, address table, key 0, offset addressing, counters for writes and
 * reads, one completion queue that gets an entry only on request, manual progress, one thread. ":virt" after the name
 * selects the provider's own keys and virtual addresses instead of offsets.
 */
#define _GNU_SOURCE 1
#include "ofi_fabric.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

uint64_t bench_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void bench_check(const struct bench_side *s, ssize_t rc, const char *call)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "ofi_bench: rank %d: %.60s: %s\n", s->rank, call, fi_strerror((int)-rc));
	_exit(BENCH_FAILED);
}

void bench_bound(struct bench_side *s, uint64_t timeout_ns, uint64_t patience_ns)
{
	const uint64_t now = bench_now_ns();
	s->deadline_ns = timeout_ns == UINT64_MAX ? UINT64_MAX : now + timeout_ns;
	s->patience_ns = patience_ns;
	s->yield_ns = now + patience_ns;
}

void bench_idle(struct bench_side *s)
{
	if (++s->idle % 256)
		return;
	const uint64_t now = bench_now_ns();
	if (now > s->deadline_ns)
		_exit(BENCH_TIMEOUT);
	if (now > s->yield_ns) {
		sched_yield();
		s->yield_ns = bench_now_ns() + s->patience_ns;
	}
}

static void report_error(struct bench_side *s)
{
	struct fi_cq_err_entry e = {0};
	const ssize_t n = fi_cq_readerr(s->cq, &e, 0);
	fprintf(stderr, "ofi_bench: rank %d: completion with error: %s\n", s->rank,
		n == 1 ? fi_strerror(e.err) : "unknown");
	_exit(BENCH_FAILED);
}

void bench_poll(struct bench_side *s)
{
	struct fi_cq_msg_entry e[16];
	const ssize_t n = fi_cq_read(s->cq, e, 16);
	if (n == -FI_EAVAIL)
		report_error(s);
	if (n != -FI_EAGAIN)
		bench_check(s, n, "fi_cq_read");
	for (ssize_t i = 0; i < n; i++) {
		if (e[i].flags & FI_RECV)
			s->received++;
		else
			s->sent++;
		if (e[i].op_context)
			++*(uint64_t *)e[i].op_context;
	}
}

void bench_wait_counter(struct bench_side *s, struct fid_cntr *counter, uint64_t value)
{
	while (fi_cntr_read(counter) < value)
		bench_idle(s);
}

void bench_wait_word(struct bench_side *s, const uint64_t *word, uint64_t value)
{
	while (bench_load(word) != value) {
		bench_poll(s);
		bench_idle(s);
	}
}

static struct fi_info *find_provider(const char *name, int virt)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = FI_AV_TABLE;
	hints->domain_attr->mr_mode = virt ? FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY : 0;
	hints->tx_attr->msg_order = FI_ORDER_SAS;
	hints->rx_attr->msg_order = FI_ORDER_SAS;
	hints->fabric_attr->prov_name = strdup(name);
	const int rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	return rc ? NULL : info;
}

static void open_memory(struct bench_side *s)
{
	const size_t bytes = BENCH_MEM_BYTES;
	s->mem_fd = memfd_create("bench", MFD_CLOEXEC);
	if (s->mem_fd < 0 || ftruncate(s->mem_fd, (off_t)bytes)) {
		perror("ofi_bench: memfd");
		_exit(BENCH_FAILED);
	}
	s->mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, s->mem_fd, 0);
	s->out = aligned_alloc(4096, bytes);
	s->input = aligned_alloc(4096, bytes);
	if (s->mem == MAP_FAILED || !s->out || !s->input) {
		fprintf(stderr, "ofi_bench: out of memory\n");
		_exit(BENCH_FAILED);
	}
	memset(s->mem, 0, bytes);
	memset(s->out, 0, bytes);
	memset(s->input, 0, bytes);
	bench_check(s, fi_mr_reg(s->domain, s->mem, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &s->mr, NULL),
		    "fi_mr_reg");
}

static void open_endpoint(struct bench_side *s)
{
	struct fi_av_attr av = {.type = FI_AV_TABLE, .count = 2};
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_NONE, .size = 4096};
	struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_UNSPEC};
	bench_check(s, fi_fabric(s->info->fabric_attr, &s->fabric, NULL), "fi_fabric");
	bench_check(s, fi_domain(s->fabric, s->info, &s->domain, NULL), "fi_domain");
	bench_check(s, fi_av_open(s->domain, &av, &s->av, NULL), "fi_av_open");
	bench_check(s, fi_cq_open(s->domain, &cq, &s->cq, NULL), "fi_cq_open");
	bench_check(s, fi_cntr_open(s->domain, &cntr, &s->written, NULL), "fi_cntr_open");
	bench_check(s, fi_cntr_open(s->domain, &cntr, &s->got, NULL), "fi_cntr_open");
	bench_check(s, fi_endpoint(s->domain, s->info, &s->ep, NULL), "fi_endpoint");
	bench_check(s, fi_ep_bind(s->ep, &s->av->fid, 0), "bind av");
	bench_check(s, fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION), "bind cq");
	bench_check(s, fi_ep_bind(s->ep, &s->cq->fid, FI_RECV), "bind cq");
	bench_check(s, fi_ep_bind(s->ep, &s->written->fid, FI_WRITE), "bind counter");
	bench_check(s, fi_ep_bind(s->ep, &s->got->fid, FI_READ), "bind counter");
	bench_check(s, fi_enable(s->ep), "fi_enable");
}

static void meet(struct bench_side *s)
{
	struct bench_control *c = s->control;
	size_t len = sizeof c->side[0].name;
	bench_check(s, fi_getname(&s->ep->fid, c->side[s->rank].name, &len), "fi_getname");
	c->side[s->rank].name_len = len;
	c->side[s->rank].base = s->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uint64_t)(uintptr_t)s->mem : 0;
	c->side[s->rank].key = fi_mr_key(s->mr);
	bench_store(&c->side[s->rank].ready, 1);
	bench_wait_word(s, &c->side[!s->rank].ready, 1);
	/* both sides insert both addresses, in the order of their ranks: the rank is the index */
	for (int r = 0; r < 2; r++) {
		fi_addr_t place;
		const int n = fi_av_insert(s->av, c->side[r].name, 1, &place, 0, NULL);
		bench_check(s, n == 1 ? 0 : n < 0 ? n : -FI_EINVAL, "fi_av_insert");
		if (r != s->rank)
			s->peer = place;
	}
	s->peer_base = c->side[!s->rank].base;
	s->peer_key = c->side[!s->rank].key;
}

void bench_open(struct bench_side *s, const char *provider, int rank, struct bench_control *control)
{
	char name[64];
	snprintf(name, sizeof name, "%s", provider);
	char *colon = strchr(name, ':');
	if (colon)
		*colon = 0;
	s->rank = rank;
	s->control = control;
	s->info = find_provider(name, colon != NULL);
	if (!s->info) {
		if (rank == 0)
			fprintf(stderr, "ofi_bench: no provider %s with messages, tagged messages, RMA and atomics\n",
				provider);
		_exit(BENCH_ABSENT);
	}
	open_endpoint(s);
	open_memory(s);
	meet(s);
}

void bench_close(struct bench_side *s)
{
	struct fid *const all[] = {&s->ep->fid, &s->mr->fid, &s->written->fid, &s->got->fid,
				   &s->cq->fid, &s->av->fid, &s->domain->fid,  &s->fabric->fid};
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		fi_close(all[i]);
	fi_freeinfo(s->info);
	munmap(s->mem, BENCH_MEM_BYTES);
	close(s->mem_fd);
	free(s->out);
	free(s->input);
}
