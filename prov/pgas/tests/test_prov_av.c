/* SPDX-License-Identifier: BSD-3-Clause */
/* Address vectors: table and map, thousands of entries, remove and reuse, lookup, names, events, per-address errors. */
#include "common.h"

#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* fi_av_bind: deprecated since libfabric 2, still works */

static void fake_name(char *dst, uint64_t i)
{
	memset(dst, 0, ADDR_BYTES);
	snprintf(dst, ADDR_BYTES, "fi_pgas://%016llx:%x:%x:%016llx", 0x1234ull, (unsigned)(i + 1), 5u,
		 (unsigned long long)i * 77);
}

/* --- many entries ------------------------------------------------------------------------------------------------- */

static void thousands(int rank, void *arg)
{
	enum { MANY = 5000 };
	const struct node_opts o = {.av_type = *(enum fi_av_type *)arg};
	struct node n;
	char *names = malloc((size_t)MANY * ADDR_BYTES), out[ADDR_BYTES];
	fi_addr_t *a = malloc(MANY * sizeof *a);
	(void)rank;
	node_open(&n, &o);
	for (uint64_t i = 0; i < MANY; i++)
		fake_name(names + i * ADDR_BYTES, i);
	CHECK_EQ(fi_av_insert(n.av, names, MANY, a, 0, NULL), MANY);
	for (uint64_t i = 0; i < MANY; i++) {
		size_t len = sizeof out;
		if (o.av_type != FI_AV_MAP)
			CHECK_EQ(a[i], i); /* the rank is the index */
		CHECK(i == 0 || a[i] != a[i - 1]);
		CHECK_OK(fi_av_lookup(n.av, a[i], out, &len));
		CHECK_EQ(len, ADDR_BYTES);
		CHECK_MEM(out, names + i * ADDR_BYTES, ADDR_BYTES);
	}
	CHECK_EQ(fi_av_insert(n.av, n.name, 1, &n.self, 0, NULL), 1); /* and it still talks to itself, as rank 5000 */
	uint64_t v = 6, got = 0;
	struct fi_cq_tagged_entry e;
	CHECK_OK(fi_recv(n.ep, &got, 8, NULL, n.self, NULL));
	CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, n.self)));
	wait_cq(&n, n.rx_cq, &e);
	CHECK_EQ(got, 6);
	/* remove every third, insert others: the places are reused, the rest is unchanged */
	for (uint64_t i = 0; i < MANY; i += 3)
		CHECK_OK(fi_av_remove(n.av, &a[i], 1, 0));
	for (uint64_t i = 0; i < MANY; i += 3) {
		size_t len = sizeof out;
		CHECK_EQ(fi_av_lookup(n.av, a[i], out, &len), -FI_EINVAL);
		CHECK_EQ(fi_av_remove(n.av, &a[i], 1, 0), -FI_EINVAL);
	}
	for (uint64_t i = 0; i < MANY; i += 3) {
		fake_name(names + i * ADDR_BYTES, i + 100000);
		CHECK_EQ(fi_av_insert(n.av, names + i * ADDR_BYTES, 1, &a[i], 0, NULL), 1);
		CHECK(a[i] < MANY + 1);
	}
	for (uint64_t i = 0; i < MANY; i++) {
		size_t len = sizeof out;
		CHECK_OK(fi_av_lookup(n.av, a[i], out, &len));
		CHECK_MEM(out, names + i * ADDR_BYTES, ADDR_BYTES);
	}
	CHECK_OK(fi_av_remove(n.av, a, MANY, 0)); /* all in one call */
	free(names);
	free(a);
	node_close(&n);
}

static void test_av_five_thousand_entries_are_kept_and_reused(void **state)
{
	(void)state;
	enum fi_av_type t = FI_AV_TABLE;
	team_run(1, thousands, &t);
	t = FI_AV_MAP;
	team_run(1, thousands, &t);
}

/* --- single calls ------------------------------------------------------------------------------------------------- */

/* lookup into a small buffer returns a part, and the length it needs */
static void lookup_short(struct node *n, struct fid_av *av)
{
	char small[11];
	fi_addr_t a;
	size_t len = sizeof small;
	CHECK_EQ(fi_av_insert(av, n->name, 1, &a, 0, NULL), 1);
	memset(small, 0x55, sizeof small);
	fi_av_lookup(av, a, small, &len);
	CHECK_EQ(len, ADDR_BYTES);
	CHECK_MEM(small, n->name, sizeof small);
	len = 4;
	CHECK_EQ(fi_av_lookup(av, 1, small, &len), -FI_EINVAL);
	CHECK_EQ(fi_av_lookup(av, FI_ADDR_UNSPEC, small, &len), -FI_EINVAL);
}

/* The printed form: host, process and endpoint, and the address used by the link if there is one. */
static void shown_readably(struct node *n, struct fid_av *av)
{
	char text[128], link[16] = "", ip[64] = "";
	unsigned host, pid, ep, port, link_ep;
	size_t len = sizeof text;
	CHECK(fi_av_straddr(av, n->name, text, &len) == text);
	CHECK_EQ(len, strlen(text) + 1);
	CHECK_EQ(sscanf(text, "fi_pgas://%8x:%u/%u", &host, &pid, &ep), 3);
	CHECK_EQ(pid, (unsigned)getpid());
	CHECK_EQ(!strchr(text, '?'), !strstr(n->name, "+n/"));
	if (!team_over_link())
		return;
	CHECK_EQ(sscanf(strchr(text, '?'), "?%15[^=]=%63[0-9.]:%u/%u", link, ip, &port, &link_ep), 4);
	CHECK(strcmp(link, "socket") == 0 || strcmp(link, "net") == 0 || strcmp(link, "tcp") == 0 ||
	      strcmp(link, "tcp;ofi_rxm") == 0);
	CHECK_STR(ip, "127.0.0.1");
	CHECK(port > 0 && port < 65536);
}

/* In a buffer of any length, whatever the address, and never past its end. */
static void shown_in_any_room(struct fid_av *av)
{
	static const char *const forms[][2] = {
		{"fi_pgas://1:2:3:4", "fi_pgas://00000001:2/3"},
		{"fi_pgas://1:2:3:4+n/tCgAAARJnAwA", "fi_pgas://00000001:2/3?tcp=10.0.0.1:4711/3"},
		{"fi_pgas://1:2:3:4+n/nIAENuAAAAAAAAAAAAAAAARJnAAA", "fi_pgas://00000001:2/3?net=[2001:db8::1]:4711/0"},
		{"fi_pgas://1:2:3:4+n/cAAECAwQFBgcBAA", "fi_pgas://00000001:2/3?cxi=0001020304050607/1"},
		{"fi_pgas://1:2:3:4+x/what.ever", "fi_pgas://00000001:2/3?x/what.ever"},
		{"fi_pgas://@name", "fi_pgas://@name"},
		{"fi_pgas://*", "fi_pgas://*"},
		{"nonsense", "not an address of fi_pgas"},
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		char addr[96] = "", text[96]; /* the longest possible */
		strcpy(addr, forms[i][0]);
		for (size_t room = 0; room <= strlen(forms[i][1]) + 2; room++) {
			size_t len = room;
			memset(text, 0x55, sizeof text);
			CHECK(fi_av_straddr(av, addr, text, &len) == text);
			CHECK_EQ(len, strlen(forms[i][1]) + 1);
			CHECK_EQ(text[room], 0x55);
			if (room) {
				CHECK_EQ(strlen(text), room <= strlen(forms[i][1]) ? room - 1 : strlen(forms[i][1]));
				CHECK_MEM(text, forms[i][1], strlen(text));
			}
		}
	}
}

/* good and bad in one call: the good one is inserted, the bad one is marked */
static void good_and_bad(struct node *n, struct fid_av *av)
{
	char two[2 * ADDR_BYTES] = "no address of ours";
	fi_addr_t a[2];
	int status[2] = {-1, -1};
	memcpy(two + ADDR_BYTES, n->name, ADDR_BYTES);
	CHECK_EQ(fi_av_insert(av, two, 2, a, 0, NULL), 1);
	CHECK_EQ(a[0], FI_ADDR_NOTAVAIL);
	CHECK_EQ(a[1], 1);
	CHECK_EQ(fi_av_insert(av, two, 2, a, FI_SYNC_ERR, status), 1);
	CHECK_EQ(status[0], FI_EINVAL);
	CHECK_EQ(status[1], 0);
	CHECK_EQ(fi_av_insert(av, n->name, 1, NULL, 0, NULL), 1); /* without fi_addr: the caller counts by itself */
	CHECK_EQ(fi_av_insert(av, n->name, 1, a, FI_PEEK, NULL), -FI_EBADFLAGS);
	memset(two, 'x', sizeof two); /* not terminated */
	CHECK_EQ(fi_av_insert(av, two, 1, a, 0, NULL), 0);
}

static void texts_of_nobody(struct fid_av *av)
{
	static const char *const bad[] = {"",
					  "fi_pgas://",
					  "fi_pgas://@",
					  "fi_pgas://*",
					  "fi_pgas://zz:1:1:1",
					  "fi_pgas://1:2:3",
					  "fi_pgas://1:0:3:4",
					  "fi_pgas://1:2:3:4 ",
					  "fi_shm://1:2:3:4",
					  "fi_pgas://1:2:ffffffff:4"};
	fi_addr_t a;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char text[ADDR_BYTES] = {0};
		strcpy(text, bad[i]);
		CHECK_EQ(fi_av_insert(av, text, 1, &a, 0, NULL), 0);
		CHECK_EQ(a, FI_ADDR_NOTAVAIL);
	}
	CHECK_EQ(fi_av_remove(av, &a, 1, 1), -FI_EBADFLAGS);
}

static void basics(int rank, void *arg)
{
	struct node n;
	struct fid_av *av;
	struct fi_av_attr attr = {0};
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	CHECK_OK(fi_av_open(n.domain, &attr, &av, &n));
	CHECK_EQ(attr.type, FI_AV_TABLE); /* unspecified becomes a table */
	CHECK(av->fid.context == &n);
	CHECK_EQ(av->fid.fclass, FI_CLASS_AV);
	lookup_short(&n, av);
	shown_readably(&n, av);
	shown_in_any_room(av);
	good_and_bad(&n, av);
	texts_of_nobody(av);
	CHECK_OK(fi_close(&av->fid));
	CHECK_EQ(fi_close(&n.av->fid), -FI_EBUSY);
	attr.name = "shared";
	CHECK_EQ(fi_av_open(n.domain, &attr, &av, NULL), -FI_ENOSYS);
	attr.name = NULL;
	attr.rx_ctx_bits = 2;
	CHECK_EQ(fi_av_open(n.domain, &attr, &av, NULL), -FI_ENOSYS);
	attr.rx_ctx_bits = 0;
	attr.flags = FI_READ;
	CHECK_EQ(fi_av_open(n.domain, &attr, &av, NULL), -FI_EBADFLAGS);
	node_close(&n);
}

static void test_av_calls_keep_their_contract(void **state)
{
	(void)state;
	team_run(1, basics, NULL);
}

static const char *const env_few[] = {"FI_PGAS_MAX_PEERS=16", NULL};

static void full(int rank, void *arg)
{
	struct node n;
	char name[ADDR_BYTES];
	fi_addr_t a;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	for (uint64_t i = 0; i < 16; i++) {
		fake_name(name, i);
		CHECK_EQ(fi_av_insert(n.av, name, 1, &a, 0, NULL), 1);
	}
	CHECK_EQ(fi_av_insert(n.av, name, 1, &a, 0, NULL), -FI_ENOMEM);
	CHECK_EQ(a, FI_ADDR_NOTAVAIL);
	a = 3;
	CHECK_OK(fi_av_remove(n.av, &a, 1, 0));
	CHECK_EQ(fi_av_insert(n.av, name, 1, &a, 0, NULL), 1);
	CHECK_EQ(a, 3);
	node_close(&n);
}

static void test_av_full_vector_says_so(void **state)
{
	(void)state;
	team_run_env(1, full, NULL, env_few);
}

/* --- events and ids ----------------------------------------------------------------------------------------------- */

static void events(int rank, void *arg)
{
	struct node n;
	struct fid_av *av;
	struct fid_eq *eq;
	struct fi_eq_attr ea = {.wait_obj = FI_WAIT_UNSPEC};
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_EVENT};
	struct fi_eq_entry e;
	struct fi_eq_err_entry err = {0};
	char three[3 * ADDR_BYTES] = {0};
	fi_addr_t a[3];
	uint32_t event;
	(void)rank;
	(void)arg;
	node_open(&n, NULL);
	CHECK_OK(fi_eq_open(n.fabric, &ea, &eq, NULL));
	CHECK_OK(fi_av_open(n.domain, &attr, &av, NULL));
	CHECK_EQ(fi_av_insert(av, n.name, 1, a, 0, &n), -FI_ENOEQ); /* no event queue to report it to */
	CHECK_EQ(fi_av_bind(av, &n.tx_cq->fid, 0), -FI_EINVAL);
	CHECK_OK(fi_av_bind(av, &eq->fid, 0));
	CHECK_EQ(fi_close(&eq->fid), -FI_EBUSY);
	CHECK_OK(fi_av_insert(av, n.name, 1, a, 0, &n));
	CHECK_EQ(fi_eq_sread(eq, &event, &e, sizeof e, hang_ms(), 0), (ssize_t)sizeof e);
	CHECK_EQ(event, FI_AV_COMPLETE);
	CHECK(e.fid == &av->fid && e.context == &n && e.data == 1);
	CHECK_EQ(a[0], 0);
	/* a bad one in the middle: an error with its index, then the count of the good ones */
	memcpy(three, n.name, ADDR_BYTES);
	memcpy(three + 2 * ADDR_BYTES, n.name, ADDR_BYTES);
	CHECK_OK(fi_av_insert(av, three, 3, a, 0, a));
	CHECK_EQ(fi_eq_sread(eq, &event, &e, sizeof e, hang_ms(), 0), -FI_EAVAIL);
	CHECK_EQ(fi_eq_readerr(eq, &err, 0), (ssize_t)sizeof err);
	CHECK(err.fid == &av->fid && err.context == a);
	CHECK_EQ(err.data, 1);
	CHECK_EQ(err.err, FI_EINVAL);
	CHECK(strlen(fi_eq_strerror(eq, err.prov_errno, err.err_data, NULL, 0)) > 3);
	CHECK_EQ(fi_eq_sread(eq, &event, &e, sizeof e, hang_ms(), 0), (ssize_t)sizeof e);
	CHECK(event == FI_AV_COMPLETE && e.context == a && e.data == 2);
	CHECK_EQ(fi_eq_read(eq, &event, &e, sizeof e, 0), -FI_EAGAIN);
	CHECK_OK(fi_close(&av->fid));
	CHECK_OK(fi_close(&eq->fid));
	node_close(&n);
}

static void test_av_event_insertions_report_through_the_queue(void **state)
{
	(void)state;
	team_run(1, events, NULL);
}

/* FI_AV_USER_ID: sources are reported by the number that the application set. */
static void user_ids(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	char(*names)[ADDR_BYTES] = team_shared();
	struct mem m;
	(void)arg;
	node_open(&n, &o);
	mem_open(&n, &m, MEM_MEMFD, 4096, 1);
	memcpy(names[rank], n.name, ADDR_BYTES);
	team_barrier(&n);
	fi_addr_t id = 4242, plain;
	CHECK_EQ(fi_av_insert(n.av, names[1 - rank], 1, NULL, FI_AV_USER_ID, NULL), -FI_EINVAL);
	CHECK_EQ(fi_av_insert(n.av, names[1 - rank], 1, &id, FI_AV_USER_ID, NULL), 1);
	plain = id; /* calls take the index, as always */
	CHECK_EQ(plain, 0);
	if (rank == 0) {
		uint64_t v = 1;
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, plain)));
		CHECK_OK(RETRY(&n, fi_inject_writedata(n.ep, &v, 8, 55, plain, 0, 1)));
	} else {
		uint64_t v;
		CHECK_OK(fi_recv(n.ep, &v, 8, NULL, plain, NULL));
		for (int i = 0; i < 2; i++) {
			struct fi_cq_tagged_entry e = {0};
			fi_addr_t src = 0;
			const double end = hang_end();
			while (fi_cq_readfrom(n.rx_cq, &e, 1, &src) == -FI_EAGAIN)
				CHECK(now_s() < end);
			CHECK_EQ(src, 4242);
		}
	}
	team_barrier(&n);
	mem_close(&m);
	node_close(&n);
}

static void test_av_user_id_is_what_sources_show(void **state)
{
	(void)state;
	team_run(2, user_ids, NULL);
}

/* Opened with FI_AV_USER_ID: a source is unknown until it has been given a number, which insertions cannot do. */
static void set_user_ids(int rank, void *arg)
{
	/* the entry of 1.20 and newer; older headers do not name it, libfabric 1.17 has no call for it */
	typedef int (*set_fn)(struct fid_av *, fi_addr_t, fi_addr_t, uint64_t);
	struct fi_av_attr attr = {.type = FI_AV_TABLE, .flags = FI_AV_USER_ID};
	struct fi_cq_attr ca = {.format = FI_CQ_FORMAT_TAGGED, .size = 64};
	const struct node_opts o = {.caps = FI_MSG | FI_SOURCE | FI_AV_USER_ID, .no_enable = true};
	struct node n;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fid_cq *cq;
	char name[ADDR_BYTES];
	size_t len = sizeof name;
	fi_addr_t place = 77, src;
	uint64_t v = 1, input;
	struct fi_cq_tagged_entry e[2];
	(void)rank;
	(void)arg;
	node_open(&n, &o);
	CHECK(n.info->caps & FI_AV_USER_ID && n.info->domain_attr->caps & FI_AV_USER_ID);
	CHECK_OK(fi_av_open(n.domain, &attr, &av, NULL));
	CHECK_OK(fi_cq_open(n.domain, &ca, &cq, NULL));
	CHECK_OK(fi_endpoint(n.domain, n.info, &ep, NULL));
	CHECK_OK(fi_ep_bind(ep, &av->fid, 0));
	CHECK_OK(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_OK(fi_enable(ep));
	CHECK_OK(fi_getname(&ep->fid, name, &len));
	CHECK_EQ(fi_av_insert(av, name, 1, &place, FI_AV_USER_ID, NULL), -FI_EINVAL);
	CHECK_EQ(fi_av_insert(av, name, 1, &place, 0, NULL), 1);
	CHECK_EQ(place, 0);
	CHECK(av->ops->size >= 11 * sizeof(void *));
	const set_fn set = ((const set_fn *)av->ops)[10];
	CHECK_EQ(set(av, 1, 5, 0), -FI_EINVAL);
	CHECK_EQ(set(av, 0, 5, FI_MORE), -FI_EBADFLAGS);
	CHECK_EQ(set(n.av, 0, 5, 0), -FI_EINVAL); /* opened without the flag */
	static const fi_addr_t shown[] = {FI_ADDR_NOTAVAIL, 4711, 0};
	for (size_t k = 0; k < ARRAY_SIZE(shown); k++) {
		if (k)
			CHECK_OK(set(av, place, shown[k], 0));
		CHECK_OK(fi_recv(ep, &input, 8, NULL, FI_ADDR_UNSPEC, NULL));
		CHECK_OK(fi_inject(ep, &v, 8, place));
		const double end = now_s() + 60;
		while (fi_cq_readfrom(cq, e, 1, &src) == -FI_EAGAIN)
			CHECK(now_s() < end);
		CHECK_EQ(src, shown[k]);
	}
	CHECK_OK(fi_close(&ep->fid));
	CHECK_OK(fi_close(&cq->fid));
	CHECK_OK(fi_close(&av->fid));
	node_close(&n);
}

static void test_av_opened_with_user_id_shows_what_was_set(void **state)
{
	(void)state;
	team_run(1, set_user_ids, NULL);
}

/* One address under two indices: its messages show the first, and the second after the first was removed. */
static void twice(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	char(*names)[ADDR_BYTES] = team_shared();
	(void)arg;
	node_open(&n, &o);
	memcpy(names[rank], n.name, ADDR_BYTES);
	team_barrier(&n);
	fi_addr_t a[2];
	CHECK_EQ(fi_av_insert(n.av, names[1 - rank], 1, &a[0], 0, NULL), 1);
	CHECK_EQ(fi_av_insert(n.av, names[1 - rank], 1, &a[1], 0, NULL), 1);
	for (int i = 0; i < 2; i++) {
		if (rank == 0) {
			uint64_t v = 1;
			CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, a[i])));
		} else {
			struct fi_cq_tagged_entry e;
			fi_addr_t src = 99;
			uint64_t v;
			CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, NULL));
			const double end = hang_end();
			while (fi_cq_readfrom(n.rx_cq, &e, 1, &src) == -FI_EAGAIN)
				CHECK(now_s() < end);
			CHECK_EQ(src, a[i]);
			CHECK_OK(fi_av_remove(n.av, &a[i], 1, 0));
		}
		team_barrier(&n);
	}
	node_close(&n);
}

static void test_av_same_address_twice_shows_the_living_entry(void **state)
{
	(void)state;
	team_run(2, twice, NULL);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Service names: insertsvc and insertsym reach the processes that hold the names; one process holds a name. */
static void services(int rank, void *arg)
{
	char name[40], first[32];
	const struct node_opts o = {.two_cqs = true, .service = name};
	struct node n;
	fi_addr_t a[4];
	(void)arg;
	snprintf(first, sizeof first, "%d", 20000 + (int)team_pid(0) % 20000 * 2);
	snprintf(name, sizeof name, "%d", atoi(first) + rank);
	node_open(&n, &o);
	team_barrier(&n);
	if (rank == 0) {
		CHECK_EQ(fi_av_insertsvc(n.av, "localhost", first, &a[0], 0, NULL), 1);
		CHECK_EQ(fi_av_insertsym(n.av, "localhost", 1, first, 2, &a[1], 0, NULL), 2);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(a[i], i);
		int status = -1;
		CHECK_EQ(fi_av_insertsvc(n.av, "no.such.host.invalid", first, &a[3], FI_SYNC_ERR, &status), 0);
		CHECK_EQ(a[3], FI_ADDR_NOTAVAIL);
		CHECK(status > 0);
		CHECK_EQ(fi_av_insertsvc(n.av, NULL, NULL, &a[3], 0, NULL), -FI_EINVAL);
		CHECK_EQ(fi_av_insertsym(n.av, "localhost", 1, "abc", 1, &a[3], 0, NULL), -FI_EINVAL);
		uint64_t v = 9;
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, a[2])));
		/* inserted by its service name, recognised by its real one */
		CHECK_OK(fi_recv(n.ep, &v, 8, NULL, a[2], NULL));
		struct fi_cq_tagged_entry e;
		fi_addr_t src;
		const double end = hang_end();
		while (fi_cq_readfrom(n.rx_cq, &e, 1, &src) == -FI_EAGAIN)
			CHECK(now_s() < end);
		CHECK_EQ(v, 10);
		CHECK_EQ(src, a[2]);
		/* no process holds this name: an error at the first use, not at insertion */
		CHECK_EQ(fi_av_insertsvc(n.av, "localhost", "nobody-has-this", &a[3], 0, NULL), 1);
		CHECK_EQ(fi_inject(n.ep, &v, 8, a[3]), -FI_EHOSTUNREACH);
	} else {
		uint64_t v;
		struct fi_cq_tagged_entry e;
		CHECK_EQ(fi_av_insertsvc(n.av, NULL, first, &a[0], 0, NULL), 1);
		CHECK_OK(fi_recv(n.ep, &v, 8, NULL, FI_ADDR_UNSPEC, NULL));
		wait_cq(&n, n.rx_cq, &e);
		v++;
		CHECK_OK(RETRY(&n, fi_inject(n.ep, &v, 8, a[0])));
		/* rank 0's name is taken */
		struct node_opts thief = o;
		struct node t;
		thief.service = first;
		thief.no_enable = true;
		node_open(&t, &thief);
		CHECK_EQ(fi_enable(t.ep), -FI_EADDRINUSE);
		CHECK_EQ(fi_enable(t.ep), -FI_EADDRINUSE); /* on repeated calls too */
		sleep_ms(600);                             /* meanwhile the watcher polled the endpoint */
		node_close(&t);
	}
	team_barrier(&n);
	node_close(&n);
}

static void test_av_service_names_lead_to_their_holders(void **state)
{
	(void)state;
	team_run(2, services, NULL);
}

/* Removing a peer ends operations pending with it, and inserting it again starts afresh. */
static const char *const env_no_cma[] = {"FI_PGAS_CMA=0", NULL};

static void remove_pending(int rank, void *arg)
{
	const struct node_opts o = {.two_cqs = true};
	struct node n;
	const size_t len = 1 << 20;
	unsigned char *buf = malloc(len);
	(void)arg;
	node_open(&n, &o);
	node_connect(&n);
	if (rank == 0) {
		struct fi_cq_err_entry err;
		struct fi_cq_tagged_entry e;
		/* long: waits for a receive that is never posted */
		CHECK_OK(RETRY(&n, fi_send(n.ep, buf, len, NULL, n.peer[1], buf)));
		CHECK_EQ(fi_cq_read(n.tx_cq, &e, 1), -FI_EAGAIN);
		CHECK_OK(fi_av_remove(n.av, &n.peer[1], 1, 0));
		wait_cq_error(&n, n.tx_cq, &err);
		CHECK_EQ(err.err, FI_ECANCELED);
		CHECK(err.op_context == buf);
		CHECK_EQ(fi_inject(n.ep, buf, 8, n.peer[1]), -FI_EINVAL);
		char(*names)[ADDR_BYTES] = team_shared();
		memcpy(names[0], n.name, ADDR_BYTES);
		team_barrier(&n);
		CHECK_EQ(fi_av_insert(n.av, names[1], 1, &n.peer[1], 0, NULL), 1);
		fill(buf, 8, 1);
		CHECK_OK(RETRY(&n, fi_tinject(n.ep, buf, 8, n.peer[1], 1)));
	} else {
		struct fi_cq_tagged_entry e;
		char(*names)[ADDR_BYTES] = team_shared();
		memcpy(names[1], n.name, ADDR_BYTES);
		team_barrier(&n);
		CHECK_OK(fi_trecv(n.ep, buf, 8, NULL, n.peer[0], 1, 0, NULL));
		wait_cq(&n, n.rx_cq, &e);
		CHECK(filled(buf, 8, 1));
	}
	team_barrier(&n);
	free(buf);
	node_close(&n);
}

static void test_av_remove_ends_pending_and_insert_starts_afresh(void **state)
{
	(void)state;
	team_run(2, remove_pending, NULL);
	team_run_env(2, remove_pending, NULL, env_no_cma);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_av_five_thousand_entries_are_kept_and_reused),
		cmocka_unit_test(test_av_calls_keep_their_contract),
		cmocka_unit_test(test_av_full_vector_says_so),
		cmocka_unit_test(test_av_event_insertions_report_through_the_queue),
		cmocka_unit_test(test_av_user_id_is_what_sources_show),
		cmocka_unit_test(test_av_opened_with_user_id_shows_what_was_set),
		cmocka_unit_test(test_av_same_address_twice_shows_the_living_entry),
		cmocka_unit_test(test_av_service_names_lead_to_their_holders),
		cmocka_unit_test(test_av_remove_ends_pending_and_insert_starts_afresh),
	};
	common_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
