/* SPDX-License-Identifier: BSD-3-Clause */
/* Put, get, memset, values, implicit and explicit handles, and vector, indexed and strided transfers, to every node. */
#include "gasnet_test.h"

#define SEGMENT (2u << 20)
#define MINE(off_arg) ((size_t)gasnet_mynode() * 131072 + (off_arg)) /* the part of a target's segment that we write */

static unsigned char source[70000], back[70000];

static void fill(unsigned seed)
{
	for (size_t i = 0; i < sizeof source; i++)
		source[i] = (unsigned char)(i * 13 + seed);
}

static void expect(const void *p, size_t n)
{
	CHECK(memcmp(p, source, n) == 0);
}

/* Each pair of put and get moves n bytes there and back again. */
static void there_and_back(gasnet_node_t dest, size_t n, size_t off)
{
	char *pos = test_at(dest, MINE(off));
	gasnet_handle_t h[4];
#define ROUND(put_arg, get_arg)                                                                                        \
	fill((unsigned)__LINE__);                                                                                      \
	memset(back, 0, n);                                                                                            \
	put_arg;                                                                                                       \
	get_arg;                                                                                                       \
	expect(back, n);                                                                                               \
	if (dest == gasnet_mynode())                                                                                   \
		expect(pos, n);
	ROUND(gasnet_put(dest, pos, source, n), gasnet_get(back, dest, pos, n))
	ROUND(gasnet_put_bulk(dest, pos, source, n), gasnet_get_bulk(back, dest, pos, n))
	ROUND((gasnet_put_nbi(dest, pos, source, n), gasnet_wait_syncnbi_puts()),
	      (gasnet_get_nbi(back, dest, pos, n), gasnet_wait_syncnbi_gets()))
	ROUND((gasnet_put_nbi_bulk(dest, pos, source, n), gasnet_wait_syncnbi_all()),
	      (gasnet_get_nbi_bulk(back, dest, pos, n), gasnet_wait_syncnbi_all()))
	ROUND((h[0] = gasnet_put_nb(dest, pos, source, n), gasnet_wait_syncnb(h[0])),
	      (h[0] = gasnet_get_nb(back, dest, pos, n), gasnet_wait_syncnb(h[0])))
	ROUND(h[0] = gasnet_put_nb_bulk(dest, pos, source, n); while (gasnet_try_syncnb(h[0]) != GASNET_OK);
	      , h[0] = gasnet_get_nb_bulk(back, dest, pos, n); while (gasnet_try_syncnb_nopoll(h[0]) != GASNET_OK);)
	ROUND(gasnet_begin_nbi_accessregion(); gasnet_put_nbi_bulk(dest, pos, source, n / 2);
	      gasnet_put_nbi_bulk(dest, pos + n / 2, source + n / 2, n - n / 2); h[0] = gasnet_end_nbi_accessregion();
	      gasnet_wait_syncnb(h[0]), gasnet_get_bulk(back, dest, pos, n))
	ROUND(for (int i = 0; i < 4; i++) h[i] = gasnet_put_nb_bulk(dest, pos, source, n); gasnet_wait_syncnb_all(h, 4);
	      for (int i = 0; i < 4; i++) CHECK(gasnet_try_syncnb_all(h + i, 1) == GASNET_OK);
	      , for (int i = 0; i < 4; i++) h[i] = gasnet_get_nb_bulk(back, dest, pos, n);
	      gasnet_wait_syncnb_some(h, 4); while (gasnet_try_syncnb_some(h, 4) != GASNET_OK);
	      while (gasnet_try_syncnb_some_nopoll(h, 4) != GASNET_OK);
	      while (gasnet_try_syncnb_all_nopoll(h, 4) != GASNET_OK);)
	gasnet_put_nbi_bulk(dest, pos, source, n);
	while (gasnet_try_syncnbi_puts() != GASNET_OK || gasnet_try_syncnbi_gets() != GASNET_OK ||
	       gasnet_try_syncnbi_all() != GASNET_OK)
		;
#undef ROUND
}

static void constant_sizes(gasnet_node_t dest)
{
#define ONE(n_arg)                                                                                                     \
	fill(n_arg);                                                                                                   \
	gasnet_put(dest, test_at(dest, MINE(64)), source, n_arg);                                                      \
	gasnet_get(back, dest, test_at(dest, MINE(64)), n_arg);                                                        \
	expect(back, n_arg);                                                                                           \
	gasnet_put_nbi(dest, test_at(dest, MINE(128)), source, n_arg);                                                 \
	gasnet_wait_syncnbi_puts();                                                                                    \
	gasnet_get_bulk(back, dest, test_at(dest, MINE(128)), n_arg);                                                  \
	expect(back, n_arg);
	ONE(1)
	ONE(2) ONE(3) ONE(4) ONE(7) ONE(8) ONE(15) ONE(16) ONE(32) ONE(48)
#undef ONE
}

static void values(gasnet_node_t dest)
{
	const gasnet_register_value_t v = 0xf1e2d3c4b5a69788u;
	for (size_t i = 0; i < 16; i++) {
		const size_t n = i % 8 + 1;
		char *pos = test_at(dest, MINE(i < 8 ? 512 : 637)); /* aligned, and across the end of a cache line */
		const gasnet_register_value_t low = n == 8 ? v : v & (((gasnet_register_value_t)1 << 8 * n) - 1);
		gasnet_memset(dest, pos, 0x55, 16);
		gasnet_put_val(dest, pos, v, n);
		CHECK(gasnet_get_val(dest, pos, n) == low);
		CHECK(gasnet_get_val(dest, pos + n, 1) == 0x55);
		gasnet_put_nbi_val(dest, pos, ~v, n);
		gasnet_wait_syncnbi_puts();
		CHECK(gasnet_wait_syncnb_valget(gasnet_get_nb_val(dest, pos, n)) ==
		      (~v & (n == 8 ? ~(uint64_t)0 : ((uint64_t)1 << 8 * n) - 1)));
		gasnet_wait_syncnb(gasnet_put_nb_val(dest, pos, v, n));
		CHECK(gasnet_get_val(dest, pos, n) == low);
		CHECK(gasnet_get_val(dest, pos + n, 1) == 0x55);
	}
}

static void memsets(gasnet_node_t dest)
{
	char *pos = test_at(dest, MINE(1024));
	const size_t sizes[] = {0, 1, 7, 8, 64, 1000, 4096, 20000};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		gasnet_memset(dest, pos, 0, 20001);
		gasnet_memset(dest, pos, 0xa5, sizes[i]);
		gasnet_memset_nbi(dest, pos, 0xa5, sizes[i]);
		gasnet_wait_syncnbi_puts();
		gasnet_wait_syncnb(gasnet_memset_nb(dest, pos, 0xa5, sizes[i]));
		gasnet_get_bulk(back, dest, pos, sizes[i] + 1);
		for (size_t k = 0; k < sizes[i]; k++)
			CHECK(back[k] == 0xa5);
		CHECK(back[sizes[i]] == 0);
	}
}

/* Lists that cut the same 600 bytes at different places on the two sides. */
static void vectors(gasnet_node_t dest)
{
	char *pos = test_at(dest, MINE(40000));
	gasnet_memvec_t near[] = {{source, 100}, {source + 100, 0}, {source + 100, 350}, {source + 450, 150}};
	gasnet_memvec_t far[] = {{pos, 1}, {pos + 1, 299}, {pos + 300, 300}, {pos + 600, 0}};
	gasnet_memvec_t into[] = {{back, 599}, {back + 599, 1}};
	void *near_i[] = {source, source + 200, source + 400}, *far_i[6], *into_i[] = {back, back + 300};
	for (int i = 0; i < 6; i++)
		far_i[i] = pos + 100 * i;
	for (int form = 0; form < 3; form++) {
		fill((unsigned)form + 5);
		gasnet_memset(dest, pos, 0, 600);
		memset(back, 0, 600);
		if (form == 0) {
			gasnet_putv_bulk(dest, 4, far, 4, near);
			gasnet_getv_bulk(2, into, dest, 4, far);
		} else if (form == 1) {
			gasnet_wait_syncnb(gasnet_putv_nb_bulk(dest, 4, far, 4, near));
			gasnet_wait_syncnb(gasnet_getv_nb_bulk(2, into, dest, 4, far));
		} else {
			gasnet_putv_nbi_bulk(dest, 4, far, 4, near);
			gasnet_wait_syncnbi_all();
			gasnet_getv_nbi_bulk(2, into, dest, 4, far);
			gasnet_wait_syncnbi_all();
		}
		expect(back, 600);
		gasnet_memset(dest, pos, 0, 600);
		memset(back, 0, 600);
		if (form == 0) {
			gasnet_puti_bulk(dest, 6, far_i, 100, 3, near_i, 200);
			gasnet_geti_bulk(2, into_i, 300, dest, 6, far_i, 100);
		} else if (form == 1) {
			gasnet_wait_syncnb(gasnet_puti_nb_bulk(dest, 6, far_i, 100, 3, near_i, 200));
			gasnet_wait_syncnb(gasnet_geti_nb_bulk(2, into_i, 300, dest, 6, far_i, 100));
		} else {
			gasnet_puti_nbi_bulk(dest, 6, far_i, 100, 3, near_i, 200);
			gasnet_wait_syncnbi_all();
			gasnet_geti_nbi_bulk(2, into_i, 300, dest, 6, far_i, 100);
			gasnet_wait_syncnbi_all();
		}
		expect(back, 600);
	}
}

/* A 3-dimensional box of 5 x 4 x 3 elements of 8 bytes, out of a 10 x 8 x 6 array into a 6 x 5 x 4 one, and back. */
static void strides(gasnet_node_t dest)
{
	char *pos = test_at(dest, MINE(48000));
	const size_t count[] = {5 * 8, 4, 3}, near[] = {10 * 8, 10 * 8 * 8}, far[] = {6 * 8, 6 * 8 * 5};
	const size_t flat[] = {40, 160};
	for (int form = 0; form < 3; form++) {
		fill((unsigned)form + 90);
		gasnet_memset(dest, pos, 0, 6 * 5 * 4 * 8);
		memset(back, 0, sizeof back);
		if (form == 0) {
			gasnet_puts_bulk(dest, pos, far, source, near, count, 2);
			gasnet_gets_bulk(back, flat, dest, pos, far, count, 2);
		} else if (form == 1) {
			gasnet_wait_syncnb(gasnet_puts_nb_bulk(dest, pos, far, source, near, count, 2));
			gasnet_wait_syncnb(gasnet_gets_nb_bulk(back, flat, dest, pos, far, count, 2));
		} else {
			gasnet_puts_nbi_bulk(dest, pos, far, source, near, count, 2);
			gasnet_wait_syncnbi_all();
			gasnet_gets_nbi_bulk(back, flat, dest, pos, far, count, 2);
			gasnet_wait_syncnbi_all();
		}
		for (size_t z = 0; z < 3; z++)
			for (size_t y = 0; y < 4; y++)
				CHECK(memcmp(back + z * 160 + y * 40, source + z * near[1] + y * near[0], 40) == 0);
	}
	/* no stride at all: a plain put */
	fill(7);
	gasnet_puts_bulk(dest, pos, NULL, source, NULL, count, 0);
	gasnet_gets_bulk(back, NULL, dest, pos, NULL, count, 0);
	expect(back, 40);
}

int main(int argc, char **argv)
{
	test_start(&argc, &argv, NULL, 0, SEGMENT);
	const size_t sizes[] = {0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 64, 100, 1024, 4095, 65536};
	for (gasnet_node_t i = 0; i < gasnet_nodes(); i++) {
		const gasnet_node_t dest = (gasnet_mynode() + i) % gasnet_nodes();
		for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
			there_and_back(dest, sizes[s], 0);
			there_and_back(dest, sizes[s], 3);
			there_and_back(dest, sizes[s], 61); /* across the end of a cache line */
		}
		constant_sizes(dest);
		values(dest);
		memsets(dest);
		vectors(dest);
		strides(dest);
	}
	/* data put before a barrier has arrived after it */
	const gasnet_node_t right = (gasnet_mynode() + 1) % gasnet_nodes(),
			    left = (gasnet_mynode() + gasnet_nodes() - 1) % gasnet_nodes();
	for (uint64_t round = 1; round <= 200; round++) {
		gasnet_put_val(right, test_at(right, SEGMENT - 64), round * 1000 + gasnet_mynode(), 8);
		test_barrier();
		CHECK(*(volatile uint64_t *)test_at(gasnet_mynode(), SEGMENT - 64) == round * 1000 + left);
		test_barrier();
	}
	if (gasnet_mynode() == 0)
		printf("transfers: %d nodes: ok\n", (int)gasnet_nodes());
	test_end();
}
