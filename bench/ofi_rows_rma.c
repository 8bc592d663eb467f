/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts and gets: rate of small ones, latency and bandwidth by size. Completion by counter, unless the name contains cq.
 */
#include "ofi_rows.h"

enum { PUT_SLOTS = 512 }; /* 8-byte puts cycle through these */
enum { PP_OFF = 8192 };   /* the word of the put ping-pong */

/* --- 8-byte puts -------------------------------------------------------------------------------------------------- */

/* A separate function: the compiler must see a constant length, as in a PGAS runtime. */
static inline void put8(struct bench_side *s, uint64_t value, uint64_t off)
{
	BENCH_RETRY(s, fi_inject_write(s->ep, &value, 8, s->peer, s->peer_base + off, s->peer_key));
	s->writes++;
}

static void put_rate_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++)
		put8(s, stamp + i, i % PUT_SLOTS * 8);
	bench_wait_counter(s, s->written, s->writes);
	bench_wait_word(s, &s->control->seen, stamp);
}

static void put_wait_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		put8(s, stamp + i, i % PUT_SLOTS * 8);
		const int rc = fi_cntr_wait(s->written, s->writes, 1000);
		if (rc)
			bench_check(s, rc, "fi_cntr_wait");
	}
	bench_wait_word(s, &s->control->seen, stamp);
}

/* Every slot must hold the value last put there. */
static void put_rate_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t stamp = s->control->stamp;
	const uint64_t *slot = (const uint64_t *)(void *)s->mem;
	const uint64_t used = count < PUT_SLOTS ? count : PUT_SLOTS;
	for (uint64_t i = count; i-- > count - used;)
		bench_wait_word(s, &slot[i % PUT_SLOTS], stamp + i);
	bench_store(&s->control->seen, stamp);
}

static void put_pp_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t stamp = s->control->stamp;
	const uint64_t *mine = (const uint64_t *)(void *)(s->mem + PP_OFF);
	for (uint64_t i = 0; i < count; i++) {
		put8(s, stamp + i, PP_OFF);
		bench_wait_word(s, mine, stamp + i);
	}
}

static void put_pp_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t stamp = s->control->stamp;
	const uint64_t *mine = (const uint64_t *)(void *)(s->mem + PP_OFF);
	for (uint64_t i = 0; i < count; i++) {
		bench_wait_word(s, mine, stamp + i);
		put8(s, stamp + i, PP_OFF);
	}
}

/* --- with an entry in the completion queue for each --------------------------------------------------------------- */

static void write_cq(struct bench_side *s, uint64_t *src, uint64_t off)
{
	const struct iovec iov = {src, 8};
	const struct fi_rma_iov rma = {s->peer_base + off, 8, s->peer_key};
	const struct fi_msg_rma m = {
		.msg_iov = &iov, .iov_count = 1, .addr = s->peer, .rma_iov = &rma, .rma_iov_count = 1};
	BENCH_RETRY(s, fi_writemsg(s->ep, &m, FI_COMPLETION));
	s->writes++;
}

static void write_cq_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	const uint64_t stamp = s->control->stamp, before = s->sent;
	uint64_t *src = (uint64_t *)(void *)s->out;
	for (uint64_t i = 0; i < count; i++) {
		/* a source word is written again only after its last write has completed */
		while (s->sent - before + PUT_SLOTS <= i) {
			bench_poll(s);
			bench_idle(s);
		}
		src[i % PUT_SLOTS] = stamp + i;
		write_cq(s, &src[i % PUT_SLOTS], i % PUT_SLOTS * 8);
	}
	while (s->sent - before < count) {
		bench_poll(s);
		bench_idle(s);
	}
	bench_wait_word(s, &s->control->seen, stamp);
}

/* --- by size ------------------------------------------------------------------------------------------------------ */

static void write_lat_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		bench_mark(s->out, row->bytes, stamp + i);
		BENCH_RETRY(s, fi_write(s->ep, s->out, row->bytes, NULL, s->peer, s->peer_base, s->peer_key, NULL));
		bench_wait_counter(s, s->written, ++s->writes);
		bench_wait_word(s, &s->control->seen, stamp + i);
	}
}

static void write_lat_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		bench_wait_mark(s, s->mem, row->bytes, stamp + i);
		bench_store(&s->control->seen, stamp + i);
	}
}

/* Number of places that a stream of transfers cycles through: enough to overlap, few enough to fit. */
static uint64_t places(const struct bench_row *row)
{
	const uint64_t n = BENCH_MEM_BYTES / row->bytes;
	return n < 64 ? n : 64;
}

/* The last round carries a different mark than the rounds before, so that the target can recognize it. */
static void write_bw_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t k = places(row), last = count < k ? count : k, stamp = s->control->stamp;
	bench_mark(s->out, row->bytes, stamp);
	bench_mark(s->input, row->bytes, stamp + 1);
	for (uint64_t i = 0; i < count; i++) {
		const char *src = i < count - last ? s->out : s->input;
		BENCH_RETRY(s, fi_write(s->ep, src, row->bytes, NULL, s->peer, s->peer_base + i % k * row->bytes,
					s->peer_key, NULL));
		s->writes++;
	}
	bench_wait_counter(s, s->written, s->writes);
	bench_wait_word(s, &s->control->seen, stamp);
}

static void write_bw_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t k = places(row), last = count < k ? count : k, stamp = s->control->stamp;
	for (uint64_t i = count; i-- > count - last;)
		bench_wait_mark(s, s->mem + i % k * row->bytes, row->bytes, stamp + 1);
	bench_store(&s->control->seen, stamp);
}

static void read_prepare(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)count;
	for (uint64_t i = 0; i < places(row); i++)
		bench_mark(s->mem + i * row->bytes, row->bytes, s->control->stamp + i);
}

static void read_lat_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		bench_mark(s->input, row->bytes, 0);
		BENCH_RETRY(s, fi_read(s->ep, s->input, row->bytes, NULL, s->peer, s->peer_base, s->peer_key, NULL));
		bench_wait_counter(s, s->got, ++s->reads);
		bench_wait_mark(s, s->input, row->bytes, stamp);
	}
	bench_store(&s->control->hello[0], stamp);
}

static void read_bw_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t k = places(row), stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t pos = i % k * row->bytes;
		BENCH_RETRY(s, fi_read(s->ep, s->input + pos, row->bytes, NULL, s->peer, s->peer_base + pos,
				       s->peer_key, NULL));
		s->reads++;
	}
	bench_wait_counter(s, s->got, s->reads);
	for (uint64_t i = 0; i < (count < k ? count : k); i++)
		bench_wait_mark(s, s->input + i * row->bytes, row->bytes, stamp + i);
	bench_store(&s->control->hello[0], stamp);
}

/* The target cannot see the gets: it polls until the origin reports that it has all data. */
static void read_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)row;
	(void)count;
	bench_wait_word(s, &s->control->hello[0], s->control->stamp);
}

#define WRITE_LAT(text_arg, label_arg, bytes_arg, quick_arg)                                                           \
	{                                                                                                              \
		"write_lat_" text_arg, "write " label_arg " latency", "write_lat", BENCH_NS, 1, 1, bytes_arg,          \
			quick_arg, NULL, write_lat_origin, write_lat_target                                            \
	}
#define WRITE_BW(text_arg, label_arg, bytes_arg, quick_arg)                                                            \
	{                                                                                                              \
		"write_bw_" text_arg, "write " label_arg " bandwidth", "write_bw", BENCH_MBS, 1, 1, bytes_arg,         \
			quick_arg, NULL, write_bw_origin, write_bw_target                                              \
	}
#define READ_LAT(text_arg, label_arg, bytes_arg, quick_arg)                                                            \
	{                                                                                                              \
		"read_lat_" text_arg, "read " label_arg " latency", "read_lat", BENCH_NS, 1, 1, bytes_arg, quick_arg,  \
			read_prepare, read_lat_origin, read_target                                                     \
	}
#define READ_BW(text_arg, label_arg, bytes_arg, quick_arg)                                                             \
	{                                                                                                              \
		"read_bw_" text_arg, "read " label_arg " bandwidth", "read_bw", BENCH_MBS, 1, 1, bytes_arg, quick_arg, \
			read_prepare, read_bw_origin, read_target                                                      \
	}
/* 8 B to 4 MiB, in factors of eight (with one factor of two at the end) */
#define BY_SIZE(row_arg)                                                                                               \
	row_arg("8", "8 B", 8, 64), row_arg("64", "64 B", 64, 64), row_arg("512", "512 B", 512, 64),                   \
		row_arg("4K", "4 KiB", 4096, 32), row_arg("32K", "32 KiB", 32768, 8),                                  \
		row_arg("256K", "256 KiB", 262144, 2), row_arg("2M", "2 MiB", 2097152, 2),                             \
		row_arg("4M", "4 MiB", 4194304, 2)

static const struct bench_row rows[] = {
	{"put_rate_8", "inject_write 8 B rate", "put", BENCH_MOPS, 1, 1, 8, 1024, NULL, put_rate_origin,
	 put_rate_target},
	{"put_wait_8", "inject_write 8 B + counter wait", "put", BENCH_NS, 0, 1, 8, 256, NULL, put_wait_origin,
	 put_rate_target},
	{"put_pp_8", "inject_write 8 B ping-pong", "put", BENCH_NS, 1, 2, 8, 64, NULL, put_pp_origin, put_pp_target},
	{"write_cq_8", "write 8 B + queue entry rate", "put", BENCH_MOPS, 1, 1, 8, 256, NULL, write_cq_origin,
	 put_rate_target},
	BY_SIZE(WRITE_LAT),
	BY_SIZE(READ_LAT),
	BY_SIZE(WRITE_BW),
	BY_SIZE(READ_BW),
};
const struct bench_rows bench_rma_rows = {rows, sizeof rows / sizeof rows[0]};
