/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collectives of GASNet-1's draft: lists of addresses and single ones, reductions, teams and their barriers. In PAR
 * mode threads are images, as many on each node as the first argument gives, or 1 to 3 by node for 0. The second gives
 * the number of rounds. With a word as the third argument one image makes an error.
 */
#include "gasnet_test.h"
#include <gasnet_coll.h>
#include <pthread.h>

#define SEGMENT (1u << 20)
#define MOST 4     /* images of a node */
#define SLOT 65536 /* of the segment, for an image */
#define AT_ONCE 8  /* handles */
#define HALVES (SLOT / 2)

static int rounds = 10, each = 1;
static const char *wrong = "";
static unsigned nodes, me, total, first[GASNET_MAXNODES + 1];
static gasnet_seginfo_t *segments;

static unsigned images_of(unsigned node)
{
#ifdef GASNET_PAR
	return each ? (unsigned)each : 1 + node % 3;
#else
	(void)node;
	return 1;
#endif
}

static unsigned node_of(unsigned image)
{
	unsigned node = 0;
	while (first[node + 1] <= image)
		node++;
	return node;
}

/* an image's memory in the segment of its node, the same offset everywhere */
static char *slot(unsigned image)
{
	const unsigned node = node_of(image);
	return (char *)segments[node].addr + (image - first[node]) * SLOT;
}
static int *src_of(unsigned image)
{
	return (int *)(slot(image) + 4 * (image % 3)); /* at different offsets */
}
static int *dst_of(unsigned image)
{
	return (int *)(slot(image) + HALVES + 4 * (image % 5));
}

/* affine maps x -> a x + b modulo 97, composed: their order matters */
static void compose(void *results, size_t result_count, const void *left, size_t left_count, const void *right,
		    size_t elem_size, int flags, int arg)
{
	CHECK_EQ(result_count, left_count);
	CHECK_EQ(elem_size, 2 * sizeof(int));
	CHECK(flags & GASNET_COLL_NONCOMM);
	CHECK_EQ(arg, 7);
	for (size_t i = 0; i < result_count; i++) {
		const int *l = (const int *)left + 2 * i, *r = (const int *)right + 2 * i;
		const int a = l[0] * r[0] % 97, b = (l[1] * r[0] + r[1]) % 97;
		((int *)results)[2 * i] = a;
		((int *)results)[2 * i + 1] = b;
	}
}

static void sum(void *results, size_t result_count, const void *left, size_t left_count, const void *right,
		size_t elem_size, int flags, int arg)
{
	CHECK_EQ(result_count, left_count);
	CHECK_EQ(elem_size, sizeof(int));
	CHECK_EQ(flags, 0);
	for (size_t i = 0; i < result_count; i++)
		((int *)results)[i] = ((const int *)left)[i] + ((const int *)right)[i] + arg;
}

static gasnet_coll_fn_entry_t functions[] = {{sum, GASNET_COLL_AMSAFE}, {compose, GASNET_COLL_NONCOMM}};

/* How the addresses are given: one, or lists of all images or of those of a node. */
enum { ONE, LIST_ALL, LIST_LOCAL, WAYS };
struct image {
	unsigned number;
	void *dsts[MOST * GASNET_MAXNODES], *srcs[MOST * GASNET_MAXNODES]; /* by image */
};

static int value(unsigned image, int round, unsigned i)
{
	return (int)(image * 1000003u + (unsigned)round * 131u + i * 7u);
}

static void fill(const struct image *im, int round, unsigned blocks, unsigned count)
{
	for (unsigned i = 0; i < blocks * count; i++)
		src_of(im->number)[i] = value(im->number, round, i);
	memset(dst_of(im->number), 0xff, total * count * sizeof(int));
}

static gasnet_coll_handle_t start(struct image *im, int what, int way, unsigned root, unsigned count, int flags)
{
	const size_t bytes = count * sizeof(int);
	const unsigned skip = way == LIST_LOCAL ? first[me] : 0;
	void *dst = dst_of(im->number), *src = src_of(im->number), **dsts = im->dsts + skip, **srcs = im->srcs + skip;
	flags |= way == LIST_ALL ? GASNET_COLL_SINGLE : GASNET_COLL_LOCAL;
	void *root_src = way == LIST_ALL ? (void *)src_of(root) : im->number == root ? src : NULL;
	void *root_dst = way == LIST_ALL ? (void *)dst_of(root) : im->number == root ? dst : NULL;
	switch (what * 2 + (way != ONE)) {
	case 0:
		return gasnet_coll_broadcast_nb(GASNET_TEAM_ALL, dst, root, root_src, bytes, flags);
	case 1:
		return gasnet_coll_broadcastM_nb(GASNET_TEAM_ALL, dsts, root, root_src, bytes, flags);
	case 2:
		return gasnet_coll_scatter_nb(GASNET_TEAM_ALL, dst, root, root_src, bytes, flags);
	case 3:
		return gasnet_coll_scatterM_nb(GASNET_TEAM_ALL, dsts, root, root_src, bytes, flags);
	case 4:
		return gasnet_coll_gather_nb(GASNET_TEAM_ALL, root, root_dst, src, bytes, flags);
	case 5:
		return gasnet_coll_gatherM_nb(GASNET_TEAM_ALL, root, root_dst, srcs, bytes, flags);
	case 6:
		return gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, dst, src, bytes, flags);
	case 7:
		return gasnet_coll_gather_allM_nb(GASNET_TEAM_ALL, dsts, srcs, bytes, flags);
	case 8:
		return gasnet_coll_exchange_nb(GASNET_TEAM_ALL, dst, src, bytes, flags);
	case 9:
		return gasnet_coll_exchangeM_nb(GASNET_TEAM_ALL, dsts, srcs, bytes, flags);
	case 10:
		return gasnet_coll_reduce_nb(GASNET_TEAM_ALL, root, root_dst, src, 0, 0, sizeof(int), count, 0, 0,
					     flags);
	default:
		return gasnet_coll_reduceM_nb(GASNET_TEAM_ALL, root, root_dst, srcs, 0, 0, sizeof(int), count, 0, 0,
					      flags);
	}
}
enum { BROADCAST, SCATTER, GATHER, GATHER_ALL, EXCHANGE, REDUCE, KINDS };

/* Checks what image `pos` received; any image may check. */
static void check(int what, const int *got, unsigned pos, unsigned root, unsigned count, int round)
{
	for (unsigned i = 0; i < count; i++) {
		if (what == BROADCAST)
			CHECK_EQ(got[i], value(root, round, i));
		if (what == SCATTER)
			CHECK_EQ(got[i], value(root, round, pos * count + i));
		if (what == REDUCE && pos == root) {
			unsigned want = 0;
			for (unsigned j = 0; j < total; j++)
				want += (unsigned)value(j, round, i);
			CHECK_EQ(got[i], (int)want);
		}
	}
	for (unsigned j = 0; j < total; j++)
		for (unsigned i = 0; i < count; i++) {
			if (what == GATHER_ALL || (what == GATHER && pos == root))
				CHECK_EQ(got[j * count + i], value(j, round, i));
			if (what == EXCHANGE)
				CHECK_EQ(got[j * count + i], value(j, round, pos * count + i));
		}
}

static void barrier(void)
{
	CHECK_OK(gasnet_coll_barrier(GASNET_TEAM_ALL, 0, GASNET_BARRIERFLAG_UNNAMED | GASNET_BARRIERFLAG_IMAGES));
}

/* One at a time, every image checks its own. */
static void test_own(struct image *im, int round)
{
	for (int what = 0; what < KINDS; what++)
		for (int way = 0; way < WAYS; way++) {
			const unsigned root = (unsigned)(round + what) % total, count = 1 + (unsigned)round % 40;
			fill(im, round, what == SCATTER || what == EXCHANGE ? total : 1, count);
			gasnet_coll_wait_sync(
				start(im, what, way, root, count, GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC));
			check(what, dst_of(im->number), im->number, root, count, round);
		}
}

/* Sources are written, and results are checked, from another node: by the first image of each. */
static void test_remote(struct image *im, int round)
{
	const unsigned node = (me + 1) % nodes, end = im->number == first[me] ? first[node + 1] : first[node];
	static int words[SLOT / sizeof(int)];
	for (int what = 0; what < KINDS; what++) {
		const unsigned root = (unsigned)round % total, count = 1 + (unsigned)round % 9;
		const unsigned blocks = what == SCATTER || what == EXCHANGE ? total : 1;
		const unsigned taken = what == SCATTER || what == BROADCAST || what == REDUCE ? 1 : total;
		fill(im, round, blocks, count);
		barrier();
		for (unsigned peer = first[node]; peer < end; peer++) {
			for (unsigned i = 0; i < blocks * count; i++)
				words[i] = value(peer, round + 1, i);
			gasnet_put(node, src_of(peer), words, blocks * count * sizeof(int));
		}
		gasnet_coll_wait_sync(
			start(im, what, round % WAYS, root, count, GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC));
		for (unsigned peer = first[node]; peer < end; peer++) {
			gasnet_get(words, node, dst_of(peer), taken * count * sizeof(int));
			check(what, words, peer, root, count, round + 1);
		}
		barrier();
	}
}

/* Several in flight, waited for in another order. */
static void test_many(struct image *im, int round)
{
	gasnet_coll_handle_t handles[AT_ONCE];
	int *const src = src_of(im->number), *const dst = dst_of(im->number);
	for (int i = 0; i < AT_ONCE; i++) {
		const int sync = i % 3 == 1 ? GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_MYSYNC
				 : i % 3    ? GASNET_COLL_IN_NOSYNC | GASNET_COLL_OUT_ALLSYNC
					    : GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_NOSYNC;
		src[i] = value(im->number, round, (unsigned)i);
		handles[i] = gasnet_coll_gather_all_nb(GASNET_TEAM_ALL, dst + (unsigned)i * total, src + i, sizeof(int),
						       sync | GASNET_COLL_LOCAL);
	}
	for (int i = AT_ONCE - 1; i >= 0; i--)
		if (round % 2)
			gasnet_coll_wait_sync(handles[i]);
		else
			while (gasnet_coll_try_sync(handles[i]) != GASNET_OK)
				gasnet_AMPoll();
	for (unsigned i = 0; i < AT_ONCE; i++)
		for (unsigned j = 0; j < total; j++)
			CHECK_EQ(dst[i * total + j], value(j, round, i));
	barrier();
}

static void test_order(struct image *im, int round)
{
	const unsigned root = (unsigned)round % total;
	int *const src = src_of(im->number), *const dst = dst_of(im->number);
	for (unsigned i = 0; i < 5; i++) {
		src[2 * i] = (int)((im->number + i) % 96 + 1);
		src[2 * i + 1] = (int)((im->number * 3 + (unsigned)round) % 97);
	}
	gasnet_coll_reduce(GASNET_TEAM_ALL, root, dst, src, 0, 0, 2 * sizeof(int), 5, 1, 7,
			   GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
	for (unsigned i = 0; i < 5 && im->number == root; i++) {
		int a = 1, b = 0;
		for (unsigned j = 0; j < total; j++) {
			const int ra = (int)((j + i) % 96 + 1), rb = (int)((j * 3 + (unsigned)round) % 97);
			b = (b * ra + rb) % 97;
			a = a * ra % 97;
		}
		CHECK_EQ(dst[2 * i], a);
		CHECK_EQ(dst[2 * i + 1], b);
	}
	/* no data, but all take part */
	gasnet_coll_broadcast(GASNET_TEAM_ALL, dst, root, src, 0,
			      GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_LOCAL);
}

/* Names: one that all give, one that a single image gives, two that differ. */
static void test_names(const struct image *im, int round)
{
	const int flags = GASNET_BARRIERFLAG_IMAGES, unnamed = flags | GASNET_BARRIERFLAG_ANONYMOUS;
	const unsigned one = (unsigned)round % total;
	CHECK_OK(gasnet_coll_barrier(GASNET_TEAM_ALL, round, flags));
	const int mine = im->number == one ? flags : unnamed;
	gasnet_coll_barrier_notify(GASNET_TEAM_ALL, round + 5, mine);
	int rc = GASNET_OK;
	while ((rc = gasnet_coll_barrier_try(GASNET_TEAM_ALL, round + 5, mine)) == GASNET_ERR_NOT_READY)
		;
	CHECK_OK(rc);
	barrier();
	if (total > 1) {
		rc = gasnet_coll_barrier(GASNET_TEAM_ALL, im->number == one ? 1 : 2, flags);
		CHECK_EQ(rc, GASNET_ERR_BARRIER_MISMATCH);
	}
	barrier();
}

static void *work(void *arg)
{
	struct image *im = arg;
	gasnet_image_t counts[GASNET_MAXNODES];
	for (unsigned i = 0; i < nodes; i++)
		counts[i] = images_of(i);
	gasnet_coll_init(total == nodes ? NULL : counts, im->number, functions, 2, 0);
	for (unsigned i = 0; i < total; i++) {
		im->dsts[i] = dst_of(i);
		im->srcs[i] = src_of(i);
	}
	if (!strcmp(wrong, "root") && im->number == 0)
		start(im, BROADCAST, ONE, total, 1, GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
	if (!strcmp(wrong, "function") && im->number == 0)
		gasnet_coll_reduce(GASNET_TEAM_ALL, 0, im->dsts[0], im->srcs[0], 0, 0, 4, 1, 2, 0, GASNET_COLL_LOCAL);
	if (!strcmp(wrong, "layout") && im->number == 0)
		gasnet_coll_reduce(GASNET_TEAM_ALL, 0, im->dsts[0], im->srcs[0], 1, 0, 4, 1, 0, 0, GASNET_COLL_LOCAL);
	if (!strcmp(wrong, "again") && im->number == 0)
		gasnet_coll_init(counts, im->number, functions, 2, 0);
	if (!strcmp(wrong, "other"))
		start(im, (int)im->number % 2, ONE, 0, 1, GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC);
	for (int round = 0; round < rounds; round++) {
		test_own(im, round);
		barrier();
		test_remote(im, round);
		test_many(im, round);
		test_order(im, round);
		test_names(im, round);
	}
	return NULL;
}

/* Rows of two nodes, and the columns across them. One thread of each node. */
static void test_teams(void)
{
	const gasnet_node_t row = me / 2, column = me % 2;
	gasnet_team_handle_t of_row = gasnet_coll_team_split(GASNET_TEAM_ALL, row, column, NULL);
	gasnet_team_handle_t of_column = gasnet_coll_team_split(GASNET_TEAM_ALL, column, nodes - row, NULL); /* back */
	const unsigned wide = gasnet_coll_team_size(of_row), high = gasnet_coll_team_size(of_column);
	CHECK_EQ(gasnet_coll_team_size(GASNET_TEAM_ALL), nodes);
	CHECK_EQ(wide, row * 2 + 1 < nodes ? 2 : 1);
	CHECK_EQ(gasnet_coll_team_rank2node(of_row, (int)column), me);
	CHECK_EQ(gasnet_coll_team_node2rank(of_row, me), column);
	CHECK_EQ(gasnet_coll_team_rank2node(of_column, (int)high - 1), column);
	if (nodes > 2)
		CHECK_EQ(gasnet_coll_team_node2rank(of_row,
						    (row * 2 + 2) % nodes == row * 2 ? 2 : (row * 2 + 2) % nodes),
			 (gasnet_node_t)-1);
	for (int i = 0; i < 20; i++) {
		int mine = (int)me * 100 + i, all[GASNET_MAXNODES], one = -1;
		void *list[GASNET_MAXNODES];
		for (unsigned j = 0; j < high; j++)
			list[j] = j == gasnet_coll_team_node2rank(of_column, me) ? &mine : NULL;
		gasnet_coll_gather_allM(of_column, (void *const[]){all}, (void *const[]){&mine}, sizeof mine,
					GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL);
		for (unsigned j = 0; j < high; j++)
			CHECK_EQ(all[j], (int)gasnet_coll_team_rank2node(of_column, (int)j) * 100 + i);
		gasnet_coll_reduceM(of_column, 0, &one, list, 0, 0, sizeof mine, 1, 0, 0,
				    GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_SINGLE);
		int want = 0;
		for (unsigned j = 0; j < high; j++)
			want += all[j];
		CHECK_EQ(one, list[0] ? want : -1);

		CHECK_OK(gasnet_coll_barrier(of_row, 0, GASNET_BARRIERFLAG_UNNAMED));
		CHECK_OK(gasnet_coll_barrier(of_row, i, 0));
		int name = -1;
		CHECK_EQ(gasnet_coll_barrier_result(of_row, &name), 0);
		CHECK_EQ(name, i);
		CHECK_OK(gasnet_coll_barrier(of_row, i, column ? GASNET_BARRIERFLAG_ANONYMOUS : 0));
		CHECK_OK(gasnet_coll_barrier(of_row, 0, GASNET_BARRIERFLAG_ANONYMOUS));
		CHECK_EQ(gasnet_coll_barrier_result(of_row, NULL), 1);
		gasnet_coll_barrier_notify(of_row, (int)column, 0);
		int rc = GASNET_OK;
		while ((rc = gasnet_coll_barrier_try(of_row, (int)column, 0)) == GASNET_ERR_NOT_READY)
			;
		CHECK_EQ(rc, wide > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK);
	}
	CHECK_EQ(gex_TM_Destroy(of_column, NULL, 0), 0);
	CHECK_EQ(gex_TM_Destroy(of_row, NULL, 0), 0);
}

int main(int argc, char **argv)
{
	CHECK_OK(gasnet_init(&argc, &argv));
	if (argc > 1)
		each = atoi(argv[1]);
	if (argc > 2)
		rounds = atoi(argv[2]);
	if (argc > 3)
		wrong = argv[3];
	CHECK_OK(gasnet_attach(NULL, 0, SEGMENT, 0));
	nodes = gasnet_nodes();
	me = gasnet_mynode();
	for (unsigned i = 0; i < nodes; i++)
		first[i + 1] = first[i] + images_of(i);
	total = first[nodes];
	static gasnet_seginfo_t table[GASNET_MAXNODES];
	CHECK_OK(gasnet_getSegmentInfo(table, (int)nodes));
	segments = table;

	static struct image images[MOST];
	for (unsigned i = 0; i < images_of(me); i++)
		images[i].number = first[me] + i;
#ifdef GASNET_PAR
	pthread_t threads[MOST];
	for (unsigned i = 0; i < images_of(me); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, work, &images[i]), 0);
	for (unsigned i = 0; i < images_of(me); i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
#else
	work(&images[0]);
#endif
	CHECK_OK(gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS));
	test_teams();
	if (!me)
		printf("collectives of the draft: %u nodes, %u images: ok\n", nodes, total);
	fflush(stdout);
	CHECK_OK(gasnet_barrier(0, GASNET_BARRIERFLAG_ANONYMOUS));
	gasnet_exit(0);
}
