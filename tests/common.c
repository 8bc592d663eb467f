/* SPDX-License-Identifier: BSD-3-Clause */
/* The shared half of the provider's tests; see common.h. Built twice: for table and for FABRIC_DIRECT programs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEAM_SHARED_BYTES (4u << 20)
#define HANG_SECONDS 60
#define CANARY 0xC5
#define CANARY_BYTES 65536 /* whole pages on every machine */

struct team {
	uint32_t members; /* ranks that barriers wait for */
	uint32_t arrived;
	uint32_t generation;
	uint32_t victim[TEAM_MAX];
	pid_t pid[TEAM_MAX];
	char name[TEAM_MAX][ADDR_BYTES];
	struct remote_mem mem[TEAM_MAX];
	char shared[TEAM_SHARED_BYTES];
};

static struct team *g_team;
static int g_size, g_rank = -1;
static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS};
static struct sigaction g_fatal[ARRAY_SIZE(fatal_signals)]; /* as they were before CMocka took them */

const char *const mem_names[MEM_KINDS] = {"memfd", "private", "whole address space"};

/* --- checks ------------------------------------------------------------------------------------------------------- */

static void __attribute__((noreturn)) check_failed(const char *file, int line)
{
	if (g_rank < 0) {
		_fail(file, line);
		abort();
	}
	_exit(9);
}

void check_true(bool ok, const char *what, const char *file, int line)
{
	if (ok)
		return;
	fprintf(stderr, "[rank %d] %s:%d: not true: %s\n", g_rank, file, line, what);
	check_failed(file, line);
}

void check_equal(long long a, long long b, const char *wa, const char *wb, const char *file, int line)
{
	if (a == b)
		return;
	fprintf(stderr, "[rank %d] %s:%d: %s is %lld (0x%llx), expected %s = %lld\n", g_rank, file, line, wa, a,
		(unsigned long long)a, wb, b);
	check_failed(file, line);
}

void check_ok(long long rc, const char *what, const char *file, int line)
{
	if (rc == 0)
		return;
	fprintf(stderr, "[rank %d] %s:%d: %s answers %lld (%s)\n", g_rank, file, line, what, rc, fi_strerror((int)-rc));
	check_failed(file, line);
}

void check_bytes(const void *a, const void *b, size_t len, const char *file, int line)
{
	const unsigned char *p = a, *q = b;
	for (size_t i = 0; i < len; i++) {
		if (p[i] == q[i])
			continue;
		fprintf(stderr, "[rank %d] %s:%d: byte %zu of %zu is %02x, expected %02x\n", g_rank, file, line, i, len,
			p[i], q[i]);
		check_failed(file, line);
	}
}

/* --- time --------------------------------------------------------------------------------------------------------- */

static double seconds(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double now_s(void)
{
	return seconds(CLOCK_MONOTONIC);
}

/* What TEST_SLOW in the environment says: a limit against hangs is that many times what an idle machine needs at
 * most. */
static int slowness(void)
{
	const char *text = getenv("TEST_SLOW");
	const int times = text ? atoi(text) : 0;
	return times < 1 ? 5 : times > 1000 ? 1000 : times;
}

int hang_ms(void)
{
	return HANG_SECONDS * 1000 * slowness();
}

double hang_end(void)
{
	return now_s() + hang_ms() / 1000.0;
}

double patience(void)
{
	const char *text = getenv("TEST_SLOW");
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	double average = 0, most = text && atoi(text) > 5 ? atoi(text) / 5.0 : 1; /* a machine that is slow by itself */
	int running = 0;
	FILE *f = fopen("/proc/loadavg", "r");
	if (f) { /* the average of the last minute, and what runs at this moment */
		if (fscanf(f, "%lf %*f %*f %d", &average, &running) != 2)
			average = 0;
		fclose(f);
	}
	if (running > average)
		average = running;
	if (cpus > 0 && average / (double)cpus > most)
		most = average / (double)cpus;
	return TEST_SLOW ? 2 * most : most;
}

double cpu_s(void)
{
	return seconds(CLOCK_PROCESS_CPUTIME_ID);
}

void sleep_ms(int ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
	while (nanosleep(&t, &t) != 0 && errno == EINTR) {}
}

int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;
	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* ".", "..", and the directory itself */
}

/* --- team --------------------------------------------------------------------------------------------------------- */

int team_size(void)
{
	return g_size;
}

void *team_shared(void)
{
	return g_team->shared;
}

pid_t team_pid(int rank)
{
	return g_team->pid[rank];
}

void team_mark_victim(int rank)
{
	if (!__atomic_exchange_n(&g_team->victim[rank], 1, __ATOMIC_SEQ_CST))
		__atomic_fetch_sub(&g_team->members, 1, __ATOMIC_SEQ_CST);
}

static bool process_gone(pid_t pid)
{
	char path[64], text[256] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	const ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	const char *p = n > 0 ? strrchr(text, ')') : NULL;
	return !p || p[2] == 'Z' || p[2] == 'X';
}

void team_kill(int rank)
{
	team_mark_victim(rank);
	kill(g_team->pid[rank], SIGKILL);
	while (!process_gone(g_team->pid[rank]))
		sleep_ms(1);
}

void team_barrier(struct node *progress)
{
	struct team *t = g_team;
	const uint32_t generation = __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE);
	__atomic_fetch_add(&t->arrived, 1, __ATOMIC_ACQ_REL);
	for (int polls = 0; __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) == generation; polls++) {
		/* whoever sees everybody there opens; a member may leave by death while the others wait */
		uint32_t here = __atomic_load_n(&t->arrived, __ATOMIC_ACQUIRE);
		if (here >= __atomic_load_n(&t->members, __ATOMIC_ACQUIRE) &&
		    __atomic_load_n(&t->generation, __ATOMIC_ACQUIRE) == generation &&
		    __atomic_compare_exchange_n(&t->arrived, &here, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
			__atomic_fetch_add(&t->generation, 1, __ATOMIC_ACQ_REL);
			return;
		}
		if (progress)
			node_poll(progress);
		if (polls < 1000)
			sched_yield();
		else
			usleep(50);
	}
}

static void child(int rank, pid_t parent, team_fn fn, void *arg, const char *const *env)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		/* a child that crashes ends, and runs no further case */
		sigaction(fatal_signals[i], &g_fatal[i], NULL);
	g_rank = rank;
	g_team->pid[rank] = getpid();
	alarm((unsigned)(2 * hang_ms() / 1000)); /* a wait says by itself where it hangs; this is for who cannot */
	for (; env && *env; env++) {
		char *copy = strdup(*env);
		char *eq = strchr(copy, '=');
		*eq = 0;
		setenv(copy, eq + 1, 1);
		free(copy);
	}
	team_barrier(NULL); /* every pid is known */
	fn(rank, arg);
	fflush(NULL);
	exit(0); /* leak checkers run at exit */
}

void team_run(int size, team_fn fn, void *arg)
{
	team_run_env(size, fn, arg, NULL);
}

void team_run_env(int size, team_fn fn, void *arg, const char *const *env)
{
	struct team *const outer = g_team; /* a child may start a team of its own */
	const int outer_size = g_size;
	const pid_t parent = getpid();
	pid_t pids[TEAM_MAX];
	CHECK(size >= 1 && size <= TEAM_MAX);
	g_team = mmap(NULL, sizeof *g_team, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(g_team != MAP_FAILED);
	g_team->members = (uint32_t)size;
	g_size = size;
	fflush(NULL);
	for (int i = 0; i < size; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (pids[i] == 0)
			child(i, parent, fn, arg, env);
	}
	int bad = 0;
	for (int left = size; left > 0;) {
		int status, rank = -1;
		const pid_t pid = waitpid(-1, &status, 0);
		if (pid < 0)
			break;
		for (int i = 0; i < size; i++)
			if (pids[i] == pid)
				rank = i;
		if (rank < 0)
			continue;
		left--;
		pids[rank] = 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			continue;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL &&
		    __atomic_load_n(&g_team->victim[rank], __ATOMIC_ACQUIRE))
			continue;
		if (!bad) {
			if (WIFSIGNALED(status))
				fprintf(stderr, "rank %d ended by signal %d%s\n", rank, WTERMSIG(status),
					WTERMSIG(status) == SIGALRM ? " (it took too long)" : "");
			else
				fprintf(stderr, "rank %d ended with status %d\n", rank, WEXITSTATUS(status));
			for (int i = 0; i < size; i++) /* the others would wait for it */
				if (pids[i])
					kill(pids[i], SIGKILL);
		}
		bad++;
	}
	munmap(g_team, sizeof *g_team);
	g_team = outer;
	g_size = outer_size;
	CHECK_EQ(bad, 0);
}

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
	node_open_ep(n, o);
}

void node_connect(struct node *n)
{
	memcpy(g_team->name[g_rank], n->name, ADDR_BYTES);
	team_barrier(n);
	for (int i = 0; i < g_size; i++)
		CHECK_EQ(fi_av_insert(n->av, g_team->name[i], 1, &n->peer[i], 0, NULL), 1);
	n->self = n->peer[g_rank];
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
		m->key = (uint64_t)fd; /* until it is registered: the provider keeps a descriptor of its own */
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
	g_team->mem[g_rank] = (struct remote_mem){m->key, m->start, m->len};
	team_barrier(n);
	memcpy(all, g_team->mem, sizeof *all * (size_t)g_size);
	team_barrier(n);
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

void common_init(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(fatal_signals); i++)
		sigaction(fatal_signals[i], NULL, &g_fatal[i]);
	setenv("FI_PROVIDER_PATH", TEST_PROVIDER_PATH, 0);
	setenv("IPATH_NO_BACKTRACE", "1", 1);
	/* libfabric loads its providers once, here; none of them starts a thread for that, so children fork cleanly */
	struct fi_info *h = hints_new(), *i = NULL;
	const int rc = fi_getinfo(TEST_API, NULL, NULL, 0, h, &i);
	fi_freeinfo(h);
	if (rc) {
		fprintf(stderr, "provider pgas is not found in %s: %s\n", getenv("FI_PROVIDER_PATH"), fi_strerror(-rc));
		exit(1);
	}
	fi_freeinfo(i);
}
