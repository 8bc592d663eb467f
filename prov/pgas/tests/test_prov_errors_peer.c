/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that lead to the wrong process, segments that are not what they seem, and users who may not attach: the
 * caller gets an error, and no process's memory is touched. Built twice.
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
	fi_addr_t dest;
	uint64_t v = 1;
	snprintf(name, sizeof name, "fi_pgas://%016llx:%x:%x:%016llx", p->host, p->pid, p->fd, p->nonce);
	CHECK_EQ(fi_av_insert(n->av, name, 1, &dest, 0, NULL), 1);
	CHECK_EQ(fi_inject(n->ep, &v, 8, dest), want);
	CHECK_EQ(fi_inject_write(n->ep, &v, 8, dest, 0, 31), want);
	CHECK_EQ(fi_write(n->ep, &v, 8, NULL, dest, 0, 31, NULL), want);
	CHECK_EQ(fi_atomic(n->ep, &v, 1, NULL, dest, 0, 31, FI_UINT64, FI_SUM, NULL), want);
	CHECK_OK(fi_av_remove(n->av, &dest, 1, 0));
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
		/* a pid that another process reused: the number is alive, the rest does not match */
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
		p = other; /* "another host" with the same process numbers */
		p.host ^= 1;
		refuse_name(&n, &p, -FI_EHOSTUNREACH);
		p = me; /* we may not open process 1, or it has no such file */
		p.pid = 1;
		char name[ADDR_BYTES] = {0};
		fi_addr_t dest;
		uint64_t v = 1;
		snprintf(name, sizeof name, "fi_pgas://%016llx:%x:%x:%016llx", p.host, p.pid, p.fd, p.nonce);
		CHECK_EQ(fi_av_insert(n.av, name, 1, &dest, 0, NULL), 1);
		const ssize_t rc = fi_inject(n.ep, &v, 8, dest);
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

/* The first bytes of every segment, which the opener trusts only after it has compared them. */
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

/* A descriptor in this process of a copy of the endpoint's segment, corrupted in one way. */
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
	char *src = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, original, 0);
	char *dst = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(src != MAP_FAILED && dst != MAP_FAILED);
	memcpy(dst, src, (size_t)st.st_size);
	struct header *h = (struct header *)dst;
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
		behind[6] *= 2; /* more slots than fit into the file */
		break;
	case S_EAGER:
		behind[4] = 0xffffffff;
		break;
	}
	munmap(src, (size_t)st.st_size);
	munmap(dst, (size_t)st.st_size);
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
		/* the proof that the copies were otherwise good: the faithful one is accepted as an endpoint */
		fi_addr_t dest;
		uint64_t v = 1;
		p.fd = (unsigned)fds[S_FAITHFUL];
		memset(name, 0, sizeof name);
		snprintf(name, sizeof name, "fi_pgas://%016llx:%x:%x:%016llx", p.host, p.pid, p.fd, p.nonce);
		CHECK_EQ(fi_av_insert(n.av, name, 1, &dest, 0, NULL), 1);
		CHECK_OK(fi_inject(n.ep, &v, 8, dest));
		team_barrier(NULL);
	}
	node_close(&n);
}

static void test_errors_segment_is_checked_before_it_is_believed(void **state)
{
	(void)state;
	team_run(2, segments, NULL);
}

/* --- permission to attach ----------------------------------------------------------------------------------------- */

/* The kernel or the provider refuses a process of another user, with an error code. */
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
	} else { /* root could open it, but still must not trust it */
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
		cmocka_unit_test(test_errors_stale_or_forged_address_reaches_nobody),
		cmocka_unit_test(test_errors_segment_is_checked_before_it_is_believed),
		cmocka_unit_test(test_errors_another_user_is_refused),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
