/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every wrong use gets the right code, from the call or as an error entry, and touches no memory: keys, rights, bounds,
 * addresses, sizes, and segments that are not what their address says. Built twice; the direct build trusts key 0 by
 * design, so all cases use other keys.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "common.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

/* --- target errors: every one-sided call answers alike ------------------------------------------------------------ */

enum {
	C_WRITE,
	C_WRITEV,
	C_WRITEMSG,
	C_WRITEDATA,
	C_READ,
	C_READV,
	C_READMSG,
	C_ATOMIC,
	C_FETCH,
	C_COMPARE,
	C_ENTRIES,
	C_INJECT = C_ENTRIES,
	C_INJECTDATA,
	C_INJECTAMO,
	C_CALLS
};

static uint64_t g_buf[8], g_res[8], g_cmp[8];

static ssize_t issue(struct node *n, int call, fi_addr_t to, uint64_t at, uint64_t key)
{
	struct iovec iov = {g_buf, 8};
	struct fi_rma_iov rma = {at, 8, key};
	struct fi_msg_rma m = {
		.msg_iov = &iov, .iov_count = 1, .addr = to, .rma_iov = &rma, .rma_iov_count = 1, .context = g_buf};
	switch (call) {
	case C_WRITE:
		return fi_write(n->ep, g_buf, 8, NULL, to, at, key, g_buf);
	case C_WRITEV:
		return fi_writev(n->ep, &iov, NULL, 1, to, at, key, g_buf);
	case C_WRITEMSG:
		return fi_writemsg(n->ep, &m, FI_COMPLETION);
	case C_WRITEDATA:
		return fi_writedata(n->ep, g_buf, 8, NULL, 1, to, at, key, g_buf);
	case C_READ:
		return fi_read(n->ep, g_res, 8, NULL, to, at, key, g_buf);
	case C_READV:
		iov.iov_base = g_res;
		return fi_readv(n->ep, &iov, NULL, 1, to, at, key, g_buf);
	case C_READMSG:
		iov.iov_base = g_res;
		return fi_readmsg(n->ep, &m, FI_COMPLETION);
	case C_ATOMIC:
		return fi_atomic(n->ep, g_buf, 1, NULL, to, at, key, FI_UINT64, FI_SUM, g_buf);
	case C_FETCH:
		return fi_fetch_atomic(n->ep, g_buf, 1, NULL, g_res, NULL, to, at, key, FI_UINT64, FI_SUM, g_buf);
	case C_COMPARE:
		return fi_compare_atomic(n->ep, g_buf, 1, NULL, g_cmp, NULL, g_res, NULL, to, at, key, FI_UINT64,
					 FI_CSWAP, g_buf);
	case C_INJECT:
		return fi_inject_write(n->ep, g_buf, 8, to, at, key);
	case C_INJECTDATA:
		return fi_inject_writedata(n->ep, g_buf, 8, 1, to, at, key);
	default:
		return fi_inject_atomic(n->ep, g_buf, 1, to, at, key, FI_UINT64, FI_SUM);
	}
}

/* Calls with a completion report there; an inject either answers itself or, found out later, leaves an entry too. */
static void must_fail(struct node *n, fi_addr_t to, uint64_t at, uint64_t key, int want)
{
	for (int c = 0; c < C_CALLS; c++) {
		struct fi_cq_err_entry err;
		memset(g_res, 0x77, sizeof g_res);
		const uint64_t before = fi_cntr_readerr(n->c_write) + fi_cntr_readerr(n->c_read);
		const ssize_t rc = RETRY(n, issue(n, c, to, at, key));
		if (c >= C_ENTRIES && rc != 0) {
			CHECK_EQ(rc, -want);
			continue;
		}
		CHECK_OK(rc);
		wait_cq_error(n, n->tx_cq, &err);
		CHECK_EQ(err.err, want);
		CHECK(c >= C_ENTRIES || err.op_context == g_buf);
		CHECK(strlen(fi_cq_strerror(n->tx_cq, err.prov_errno, err.err_data, NULL, 0)) > 5);
		CHECK_EQ(fi_cntr_readerr(n->c_write) + fi_cntr_readerr(n->c_read), before + 1);
		for (size_t i = 0; i < sizeof g_res; i++)
			CHECK_EQ(((unsigned char *)g_res)[i], 0x77); /* nothing came back */
	}
	CHECK_EQ(fi_cntr_read(n->c_write), 0); /* and nothing counted as done */
	CHECK_EQ(fi_cntr_read(n->c_read), 0);
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(n->tx_cq, &e, 1), -FI_EAGAIN);
}

static void target_errors(int rank, void *arg)
{
	const enum mem_kind kind = *(enum mem_kind *)arg;
	const struct node_opts o = {.two_cqs = true, .counters = FI_READ | FI_WRITE};
	struct node n;
	struct mem m, ro, closed;
	struct remote_mem r[2], rr[2], rc[2];
	node_open(&n, &o);
	mem_open(&n, &m, kind, 1000, 21);
	mem_alloc(&ro, kind, 1000);
	mem_register(&n, &ro, 22, FI_SEND); /* no remote right at all */
	mem_open(&n, &closed, kind, 1000, 23);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	mem_exchange(&n, &ro, rr);
	mem_exchange(&n, &closed, rc);
	if (rank == 1) {
		CHECK_OK(fi_close(&closed.mr->fid));
		closed.mr = NULL;
	}
	team_barrier(&n);
	if (rank == 0) {
		for (int target = 1; target >= 0; target--) {
			const fi_addr_t to = n.peer[target];
			must_fail(&n, to, r[target].start, 999, FI_EKEYREJECTED);
			must_fail(&n, to, r[target].start, 0x8000000000000000u, FI_EKEYREJECTED);
			must_fail(&n, to, rr[target].start, 22, FI_EACCES);
			if (kind != MEM_WHOLE) {
				must_fail(&n, to, r[target].start + 1000, 21, FI_EACCES);           /* behind the end */
				must_fail(&n, to, r[target].start + 992 + 1, 21, FI_EACCES);        /* across it */
				must_fail(&n, to, r[target].start + UINT64_MAX - 7, 21, FI_EACCES); /* wraps around */
				must_fail(&n, to, 1ull << 40, 21, FI_EACCES);
			}
		}
		must_fail(&n, n.peer[1], rc[1].start, 23, FI_EKEYREJECTED);
	}
	team_barrier(&n);
	for (size_t i = 0; i < 1000; i++)
		CHECK(m.base[i] == 0 && ro.base[i] == 0 && closed.base[i] == 0);
	if (rank == 1) {
		struct fi_cq_tagged_entry e;
		CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN); /* no cq data of failed writes */
	}
	team_barrier(&n);
	mem_close(&m); /* checks the canaries on both sides */
	mem_close(&ro);
	mem_close(&closed);
	node_close(&n);
}

static void test_errors_wrong_target_is_reported_and_untouched(void **state)
{
	(void)state;
	for (enum mem_kind k = MEM_MEMFD; k <= MEM_WHOLE; k++) {
		team_run(2, target_errors, &k);
		team_run_env(2, target_errors, &k, env_no_cma);
	}
}

/* Whole address space: an address where nothing is mapped is an error for the initiator, not the end of the target. */
static void unmapped_address(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .progress = *(enum fi_progress *)arg};
	struct node n;
	struct mem m;
	struct remote_mem r[2];
	node_open(&n, &o);
	mem_open(&n, &m, MEM_WHOLE, 4096, 6);
	node_connect(&n);
	mem_exchange(&n, &m, r);
	/* nothing, and memory that may only be read: both agree on where */
	uint64_t *place = team_shared();
	if (rank == 1) {
		void *hole = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *rdonly = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		place[0] = (uintptr_t)hole;
		place[1] = (uintptr_t)rdonly;
	}
	team_barrier(&n);
	if (rank == 0) {
		static const int calls[] = {C_WRITE, C_READ, C_ATOMIC, C_FETCH, C_COMPARE};
		const uint64_t at[] = {0, 64, place[0]};
		for (size_t a = 0; a < ARRAY_SIZE(at); a++) {
			for (size_t c = 0; c < ARRAY_SIZE(calls); c++) {
				struct fi_cq_err_entry err;
				CHECK_OK(RETRY(&n, issue(&n, calls[c], n.peer[1], at[a], 6)));
				wait_cq_error(&n, n.tx_cq, &err);
				CHECK_EQ(err.err, FI_EFAULT);
			}
		}
		struct fi_cq_err_entry err;
		for (int c = 0; c < 2; c++) {
			CHECK_OK(RETRY(&n, issue(&n, c ? C_ATOMIC : C_WRITE, n.peer[1], place[1], 6)));
			wait_cq_error(&n, n.tx_cq, &err);
			CHECK_EQ(err.err, FI_EFAULT);
		}
		CHECK_OK(RETRY(&n, issue(&n, C_READ, n.peer[1], place[1], 6))); /* reading it is fine */
		wait_tx(&n, 1);
		g_buf[0] = 5; /* and the target lives */
		CHECK_OK(RETRY(&n, issue(&n, C_ATOMIC, n.peer[1], r[1].start + 8, 6)));
		wait_tx(&n, 1);
	}
	team_barrier(&n);
	if (rank == 1)
		CHECK_EQ(((uint64_t *)m.base)[1], 5);
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_errors_unmapped_address_does_not_hurt_the_target(void **state)
{
	enum fi_progress p = FI_PROGRESS_MANUAL;
	(void)state;
	team_run(2, unmapped_address, &p);
	team_run_env(2, unmapped_address, &p, env_no_cma);
	p = FI_PROGRESS_AUTO;
	team_run_env(2, unmapped_address, &p, env_no_cma);
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static void arguments(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true, .inject_size = *(size_t *)arg};
	const size_t limit = *(size_t *)arg ? *(size_t *)arg : 4096;
	struct node n;
	struct mem m;
	unsigned char *buf = calloc(1, 8192);
	struct iovec iov[5];
	struct fi_rma_iov rma[5];
	(void)rank;
	node_open(&n, &o);
	CHECK_EQ(n.info->tx_attr->inject_size, limit);
	mem_open(&n, &m, MEM_MEMFD, 8192, 31);
	node_connect(&n);
	for (int i = 0; i < 5; i++) {
		iov[i] = (struct iovec){buf + 8 * i, 8};
		rma[i] = (struct fi_rma_iov){8 * (uint64_t)i, 8, 31};
	}
	/* oversized injects, in every form; the largest one works */
	memset(buf, 1, 8192);
	CHECK_EQ(fi_inject(n.ep, buf, 4097, n.self), -FI_EINVAL);
	CHECK_EQ(fi_tinject(n.ep, buf, 4097, n.self, 0), -FI_EINVAL);
	CHECK_EQ(fi_injectdata(n.ep, buf, 4097, 0, n.self), -FI_EINVAL);
	CHECK_EQ(fi_tinjectdata(n.ep, buf, 4097, 0, n.self, 0), -FI_EINVAL);
	CHECK_EQ(fi_inject_write(n.ep, buf, 4097, n.self, 0, 31), -FI_EINVAL);
	CHECK_EQ(fi_inject_writedata(n.ep, buf, 4097, 0, n.self, 0, 31), -FI_EINVAL);
	CHECK_EQ(fi_inject_atomic(n.ep, buf, 513, n.self, 0, 31, FI_UINT64, FI_SUM), -FI_EINVAL);
	if (limit < 4096) {
		CHECK_EQ(fi_injectdata(n.ep, buf, limit + 100, 0, n.self), -FI_EINVAL);
		CHECK_EQ(fi_inject_writedata(n.ep, buf, limit + 1, 0, n.self, 0, 31), -FI_EINVAL);
	}
	iov[0].iov_len = 4097;
	rma[0].len = 4097;
	struct fi_msg msg = {.msg_iov = iov, .iov_count = 1, .addr = n.self};
	struct fi_msg_rma mr = {.msg_iov = iov, .iov_count = 1, .addr = n.self, .rma_iov = rma, .rma_iov_count = 1};
	CHECK_EQ(fi_sendmsg(n.ep, &msg, FI_INJECT), -FI_EINVAL);
	CHECK_EQ(fi_writemsg(n.ep, &mr, FI_INJECT), -FI_EINVAL);
	iov[0].iov_len = rma[0].len = 8;
	for (size_t i = 0; i < m.len; i++)
		CHECK_EQ(m.base[i], 0);
	CHECK_OK(fi_inject_write(n.ep, buf, limit, n.self, 0, 31));
	CHECK_EQ(m.base[limit - 1], 1);
	CHECK_EQ(m.base[limit], 0);
	memset(m.base, 0, m.len);
	/* too many pieces, lengths that do not fit each other, none at all */
	CHECK_EQ(fi_sendv(n.ep, iov, NULL, 5, n.self, NULL), -FI_EINVAL);
	CHECK_EQ(fi_tsendv(n.ep, iov, NULL, 5, n.self, 0, NULL), -FI_EINVAL);
	CHECK_EQ(fi_recvv(n.ep, iov, NULL, 5, n.self, NULL), -FI_EINVAL);
	CHECK_EQ(fi_trecvv(n.ep, iov, NULL, 5, n.self, 0, 0, NULL), -FI_EINVAL);
	CHECK_EQ(fi_writev(n.ep, iov, NULL, 5, n.self, 0, 31, NULL), -FI_EINVAL);
	CHECK_EQ(fi_readv(n.ep, iov, NULL, 5, n.self, 0, 31, NULL), -FI_EINVAL);
	mr.iov_count = 5;
	CHECK_EQ(fi_writemsg(n.ep, &mr, 0), -FI_EINVAL);
	mr.iov_count = 2; /* 16 bytes into 8 */
	CHECK_EQ(fi_writemsg(n.ep, &mr, 0), -FI_EINVAL);
	CHECK_EQ(fi_readmsg(n.ep, &mr, 0), -FI_EINVAL);
	mr.rma_iov_count = 5;
	CHECK_EQ(fi_writemsg(n.ep, &mr, 0), -FI_EINVAL);
	mr.rma_iov_count = 0;
	CHECK_EQ(fi_writemsg(n.ep, &mr, 0), -FI_EINVAL);
	struct iovec two[2] = {{buf, 8}, {buf, 8}};
	struct fi_msg multi = {.msg_iov = two, .iov_count = 2, .addr = FI_ADDR_UNSPEC};
	CHECK_EQ(fi_recvmsg(n.ep, &multi, FI_MULTI_RECV), -FI_EINVAL);
	/* addresses that are nobody's */
	static const fi_addr_t nobody[] = {1, 77, 1 << 19, FI_ADDR_UNSPEC};
	for (size_t i = 0; i < ARRAY_SIZE(nobody); i++)
		for (int c = 0; c < C_CALLS; c++)
			CHECK_EQ(issue(&n, c, nobody[i], 0, 31), -FI_EINVAL);
	for (size_t i = 0; i < ARRAY_SIZE(nobody); i++) {
		CHECK_EQ(fi_send(n.ep, buf, 8, NULL, nobody[i], NULL), -FI_EINVAL);
		CHECK_EQ(fi_inject(n.ep, buf, 8, nobody[i]), -FI_EINVAL);
		CHECK_EQ(fi_tinject(n.ep, buf, 8, nobody[i], 1), -FI_EINVAL);
	}
	for (size_t i = 0; i < m.len; i++)
		CHECK_EQ(m.base[i], 0);
	struct fi_cq_tagged_entry e;
	CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN);
	CHECK_EQ(fi_cq_read(n.rx_cq, &e, 1), -FI_EAGAIN);
	mem_close(&m);
	free(buf);
	node_close(&n);
}

static void test_errors_wrong_arguments_are_refused(void **state)
{
	size_t limit = 0;
	(void)state;
	team_run(1, arguments, &limit);
	limit = 64;
	team_run(1, arguments, &limit);
}

/* --- addresses that lead to the wrong process --------------------------------------------------------------------- */

struct parts {
	unsigned long long host, nonce;
	unsigned pid, fd;
};

static struct parts take_apart(const char *name)
{
	struct parts p;
	CHECK_EQ(sscanf(name, "fi_pgas://%llx:%x:%x:%llx", &p.host, &p.pid, &p.fd, &p.nonce), 4);
	return p;
}

static void refuse_name(struct node *n, const struct parts *p, int want)
{
	char name[ADDR_BYTES] = {0};
	fi_addr_t to;
	uint64_t v = 1;
	snprintf(name, sizeof name, "fi_pgas://%016llx:%x:%x:%016llx", p->host, p->pid, p->fd, p->nonce);
	CHECK_EQ(fi_av_insert(n->av, name, 1, &to, 0, NULL), 1);
	CHECK_EQ(fi_inject(n->ep, &v, 8, to), want);
	CHECK_EQ(fi_inject_write(n->ep, &v, 8, to, 0, 31), want);
	CHECK_EQ(fi_write(n->ep, &v, 8, NULL, to, 0, 31, NULL), want);
	CHECK_EQ(fi_atomic(n->ep, &v, 1, NULL, to, 0, 31, FI_UINT64, FI_SUM, NULL), want);
	CHECK_OK(fi_av_remove(n->av, &to, 1, 0));
}

static void stale(int rank, void *arg)
{
	const struct node_opts o = {0};
	char(*names)[ADDR_BYTES] = team_shared();
	struct node n;
	struct mem m;
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 31);
	memcpy(names[rank], n.name, ADDR_BYTES);
	team_barrier(&n);
	if (rank == 2) {
		for (;;)
			sleep_ms(1000); /* killed */
	}
	if (rank == 0) {
		const struct parts me = take_apart(names[0]), other = take_apart(names[1]), dead = take_apart(names[2]);
		team_kill(2);
		refuse_name(&n, &dead, -FI_EHOSTUNREACH);
		/* a pid that came back as another process: the number is alive, the rest is not */
		struct parts p = dead;
		p.pid = other.pid;
		refuse_name(&n, &p, -FI_EHOSTUNREACH);
		p = other; /* the nonce of another endpoint */
		p.nonce ^= 1;
		refuse_name(&n, &p, -FI_EHOSTUNREACH);
		p = other; /* a file that is not the endpoint: each of its low descriptors */
		for (p.fd = 0; p.fd < 12; p.fd++)
			if (p.fd != other.fd)
				refuse_name(&n, &p, -FI_EHOSTUNREACH);
		p.fd = 9999;
		refuse_name(&n, &p, -FI_EHOSTUNREACH);
		p = other; /* "another host" that shares our process numbers */
		p.host ^= 1;
		refuse_name(&n, &p, -FI_EHOSTUNREACH);
		p = me; /* process 1 is not ours to open, or has no such file */
		p.pid = 1;
		char name[ADDR_BYTES] = {0};
		fi_addr_t to;
		uint64_t v = 1;
		snprintf(name, sizeof name, "fi_pgas://%016llx:%x:%x:%016llx", p.host, p.pid, p.fd, p.nonce);
		CHECK_EQ(fi_av_insert(n.av, name, 1, &to, 0, NULL), 1);
		const ssize_t rc = fi_inject(n.ep, &v, 8, to);
		CHECK(rc == -FI_EHOSTUNREACH || rc == -FI_EACCES);
	}
	team_barrier(&n);
	for (size_t i = 0; i < m.len; i++)
		CHECK_EQ(m.base[i], 0);
	mem_close(&m);
	node_close(&n);
}

static void test_errors_stale_or_forged_address_reaches_nobody(void **state)
{
	(void)state;
	team_run(3, stale, NULL);
}

/* --- segments that are not what they seem ------------------------------------------------------------------------- */

/* The first bytes of every segment: what the opener believes only after it has compared it. */
struct header {
	uint64_t magic;
	uint32_t version, kind;
	uint64_t bytes, nonce, start_time;
	uint32_t pid, uid;
};

enum {
	S_FAITHFUL,
	S_MAGIC,
	S_VERSION,
	S_KIND,
	S_BYTES,
	S_NONCE,
	S_PID,
	S_SHORT,
	S_LONG,
	S_TINY,
	S_EMPTY,
	S_SLOTS,
	S_EAGER,
	S_UNSEALED,
	S_PIPE,
	S_SOCKET,
	S_NULL,
	S_DIR,
	S_CASES
};

/* A descriptor in this process that holds a copy of the endpoint's segment, spoilt in one way. */
static int spoilt(int original, int how)
{
	int fds[2];
	struct stat st;
	if (how == S_PIPE) {
		CHECK_OK(pipe(fds));
		return fds[0];
	}
	if (how == S_SOCKET) {
		CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		return fds[0];
	}
	if (how == S_NULL)
		return open("/dev/null", O_RDWR);
	if (how == S_DIR)
		return open("/", O_RDONLY | O_DIRECTORY);
	CHECK_OK(fstat(original, &st));
	const int fd = memfd_create("copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(fd >= 0);
	CHECK_OK(ftruncate(fd, st.st_size));
	char *from = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, original, 0);
	char *to = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(from != MAP_FAILED && to != MAP_FAILED);
	memcpy(to, from, (size_t)st.st_size);
	struct header *h = (struct header *)to;
	uint32_t *behind = (uint32_t *)(h + 1); /* dom_nonce, dom_fd, closed, eager_count, eager_bytes, slots */
	switch (how) {
	case S_MAGIC:
		h->magic++;
		break;
	case S_VERSION:
		h->version++;
		break;
	case S_KIND:
		h->kind++;
		break;
	case S_BYTES:
		h->bytes += 4096;
		break;
	case S_NONCE:
		h->nonce++;
		break;
	case S_PID:
		h->pid++;
		break;
	case S_SLOTS:
		behind[6] *= 2; /* more slots than the file has room for */
		break;
	case S_EAGER:
		behind[4] = 0xffffffff;
		break;
	}
	munmap(from, (size_t)st.st_size);
	munmap(to, (size_t)st.st_size);
	if (how == S_SHORT)
		CHECK_OK(ftruncate(fd, st.st_size / 2));
	if (how == S_LONG)
		CHECK_OK(ftruncate(fd, st.st_size * 2));
	if (how == S_TINY)
		CHECK_OK(ftruncate(fd, 16));
	if (how == S_EMPTY)
		CHECK_OK(ftruncate(fd, 0));
	if (how != S_UNSEALED) /* such a file could shrink under the mapping */
		CHECK_OK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
	return fd;
}

static void segments(int rank, void *arg)
{
	int *fds = team_shared();
	struct node n;
	(void)arg;
	node_open(&n, NULL);
	node_connect(&n);
	if (rank == 1) {
		const struct parts me = take_apart(n.name);
		CHECK_EQ(me.pid, (unsigned)getpid());
		for (int s = 0; s < S_CASES; s++)
			fds[s] = spoilt((int)me.fd, s);
		team_barrier(NULL);
		team_barrier(NULL);
	} else {
		char name[ADDR_BYTES];
		size_t len = sizeof name;
		CHECK_OK(fi_av_lookup(n.av, n.peer[1], name, &len));
		struct parts p = take_apart(name);
		team_barrier(NULL);
		const int before = open_fds();
		for (int s = 1; s < S_CASES; s++) {
			p.fd = (unsigned)fds[s];
			refuse_name(&n, &p, -FI_EHOSTUNREACH);
		}
		CHECK_EQ(open_fds(), before);
		/* the proof that the copies were otherwise good: the faithful one is taken for an endpoint */
		fi_addr_t to;
		uint64_t v = 1;
		p.fd = (unsigned)fds[S_FAITHFUL];
		memset(name, 0, sizeof name);
		snprintf(name, sizeof name, "fi_pgas://%016llx:%x:%x:%016llx", p.host, p.pid, p.fd, p.nonce);
		CHECK_EQ(fi_av_insert(n.av, name, 1, &to, 0, NULL), 1);
		CHECK_OK(fi_inject(n.ep, &v, 8, to));
		team_barrier(NULL);
	}
	node_close(&n);
}

static void test_errors_segment_is_checked_before_it_is_believed(void **state)
{
	(void)state;
	team_run(2, segments, NULL);
}

/* --- who may attach ----------------------------------------------------------------------------------------------- */

/* A process of another user is refused by the kernel or by us, and the refusal has a code. */
static void other_user(int rank, void *arg)
{
	struct node n;
	(void)arg;
	if (rank == 1 && geteuid() == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			CHECK(!"cannot change the user");
	}
	node_open(&n, NULL);
	node_connect(&n);
	if (rank == 1) {
		uint64_t v = 1;
		const ssize_t rc = fi_inject(n.ep, &v, 8, n.peer[0]);
		CHECK(rc == -FI_EACCES || rc == -FI_EHOSTUNREACH);
	} else { /* root could open it, and must not believe it all the same */
		uint64_t v = 1;
		const ssize_t rc = fi_inject(n.ep, &v, 8, n.peer[1]);
		CHECK(rc == -FI_EACCES || rc == -FI_EHOSTUNREACH);
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_errors_another_user_is_refused(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip(); /* needs two users */
	team_run(2, other_user, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_wrong_target_is_reported_and_untouched),
		cmocka_unit_test(test_errors_unmapped_address_does_not_hurt_the_target),
		cmocka_unit_test(test_errors_wrong_arguments_are_refused),
		cmocka_unit_test(test_errors_stale_or_forged_address_reaches_nobody),
		cmocka_unit_test(test_errors_segment_is_checked_before_it_is_believed),
		cmocka_unit_test(test_errors_another_user_is_refused),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
