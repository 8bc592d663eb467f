/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages, plain and tagged: ping-pong by size, rate of small ones, a stream of large ones. Small messages use inject;
 * larger ones use send with an entry in the completion queue. Receives are always reported by the queue.
 */
#include "ofi_rows.h"

#include <string.h>
#include <sys/uio.h>

enum { TAG = 0x5047, WINDOW = BENCH_SLOTS, LARGE_WINDOW = 16, HUGE_WINDOW = 4 };

static int is_tagged(const struct bench_row *row)
{
	return row->name[0] == 't';
}

static void post(struct bench_side *s, const struct bench_row *row, char *buf, uint64_t *context)
{
	if (is_tagged(row))
		BENCH_RETRY(s, fi_trecv(s->ep, buf, row->bytes, NULL, s->peer, TAG, 0, context));
	else
		BENCH_RETRY(s, fi_recv(s->ep, buf, row->bytes, NULL, s->peer, context));
}

static void send_inject(struct bench_side *s, const struct bench_row *row, const char *buf)
{
	if (is_tagged(row))
		BENCH_RETRY(s, fi_tinject(s->ep, buf, row->bytes, s->peer, TAG));
	else
		BENCH_RETRY(s, fi_inject(s->ep, buf, row->bytes, s->peer));
}

static void send_entry(struct bench_side *s, const struct bench_row *row, char *buf, uint64_t *context)
{
	const struct iovec iov = {buf, row->bytes};
	if (is_tagged(row)) {
		const struct fi_msg_tagged m = {
			.msg_iov = &iov, .iov_count = 1, .addr = s->peer, .tag = TAG, .context = context};
		BENCH_RETRY(s, fi_tsendmsg(s->ep, &m, FI_COMPLETION));
	} else {
		const struct fi_msg m = {.msg_iov = &iov, .iov_count = 1, .addr = s->peer, .context = context};
		BENCH_RETRY(s, fi_sendmsg(s->ep, &m, FI_COMPLETION));
	}
}

/* Waits until a slot has completed this often. Completions may come in a different order than the operations. */
static void wait_slot(struct bench_side *s, const uint64_t *slot, uint64_t times)
{
	while (*slot < times) {
		bench_poll(s);
		bench_idle(s);
	}
}

/* Waits until the numbers of entries received and sent have reached these values. */
static void wait_entries(struct bench_side *s, uint64_t received, uint64_t sent)
{
	while (s->received < received || s->sent < sent) {
		bench_poll(s);
		bench_idle(s);
	}
}

/* --- ping-pong ---------------------------------------------------------------------------------------------------- */

static void pp_prepare(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	(void)count;
	post(s, row, s->input, NULL);
}

/* One way: sends, and waits until the buffer may be reused. */
static void pp_send(struct bench_side *s, const struct bench_row *row, uint64_t value, uint64_t sent)
{
	bench_mark(s->out, row->bytes, value);
	if (row->bytes <= s->info->tx_attr->inject_size) {
		send_inject(s, row, s->out);
	} else {
		send_entry(s, row, s->out, NULL);
		wait_entries(s, 0, sent);
	}
}

static void pp_check(struct bench_side *s, const struct bench_row *row, uint64_t value)
{
	for (int w = 0; w < 3; w++)
		if (*bench_word(s->input, row->bytes, w) != value)
			bench_check(s, -FI_EIO, "a message arrived with other bytes");
}

static void pp_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t received = s->received, sent = s->sent, stamp = s->control->stamp;
	post(s, row, s->input, NULL);
	for (uint64_t i = 0; i < count; i++) {
		pp_send(s, row, stamp + i, sent + i + 1);
		wait_entries(s, received + i + 1, 0);
		pp_check(s, row, stamp + i);
		if (i + 1 < count)
			post(s, row, s->input, NULL);
	}
}

static void pp_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t received = s->received, sent = s->sent, stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		wait_entries(s, received + i + 1, 0);
		pp_check(s, row, stamp + i);
		if (i + 1 < count)
			post(s, row, s->input, NULL);
		pp_send(s, row, stamp + i, sent + i + 1);
	}
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

static uint64_t window(const struct bench_row *row)
{
	return row->bytes <= 4096 ? WINDOW : row->bytes <= 65536 ? LARGE_WINDOW : HUGE_WINDOW;
}

static void stream_prepare(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	memset(s->slot_received, 0, sizeof s->slot_received);
	for (uint64_t i = 0; i < window(row) && i < count; i++)
		post(s, row, s->input + i * row->bytes, &s->slot_received[i]);
}

static void inject_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t value = stamp + i;
		if (is_tagged(row))
			BENCH_RETRY(s, fi_tinject(s->ep, &value, 8, s->peer, TAG));
		else
			BENCH_RETRY(s, fi_inject(s->ep, &value, 8, s->peer));
	}
	bench_wait_word(s, &s->control->seen, stamp);
}

static void entry_origin(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t k = window(row), sent = s->sent, stamp = s->control->stamp;
	memset(s->slot_sent, 0, sizeof s->slot_sent);
	for (uint64_t i = 0; i < count; i++) {
		char *src = s->out + i % k * row->bytes;
		wait_slot(s, &s->slot_sent[i % k], i / k);
		bench_mark(src, row->bytes, stamp + i);
		send_entry(s, row, src, &s->slot_sent[i % k]);
	}
	wait_entries(s, 0, sent + count);
	bench_wait_word(s, &s->control->seen, stamp);
}

/* Messages and buffers match in order, so message i is in buffer i % k. */
static void stream_target(struct bench_side *s, const struct bench_row *row, uint64_t count)
{
	const uint64_t k = window(row), stamp = s->control->stamp;
	for (uint64_t i = 0; i < count; i++) {
		char *buf = s->input + i % k * row->bytes;
		wait_slot(s, &s->slot_received[i % k], i / k + 1);
		if (*bench_word(buf, row->bytes, 2) != stamp + i)
			bench_check(s, -FI_EIO, "a message arrived with other bytes");
		if (i + k < count)
			post(s, row, buf, &s->slot_received[i % k]);
	}
	bench_store(&s->control->seen, stamp);
}

#define PP(name_arg, label_arg, group_arg, bytes_arg, quick_arg)                                                       \
	{                                                                                                              \
		name_arg, label_arg " ping-pong", group_arg, BENCH_NS, 1, 2, bytes_arg, quick_arg, pp_prepare,         \
			pp_origin, pp_target                                                                           \
	}

static const struct bench_row rows[] = {
	PP("msg_pp_8", "message 8 B", "msg", 8, 32),
	PP("msg_pp_1K", "message 1 KiB", "msg", 1024, 32),
	PP("msg_pp_16K", "message 16 KiB", "msg", 16384, 8),
	PP("msg_pp_64K", "message 64 KiB", "msg", 65536, 8),
	PP("msg_pp_1M", "message 1 MiB", "msg", 1048576, 2),
	{"msg_rate_8", "message 8 B rate (inject)", "msg", BENCH_MOPS, 1, 1, 8, 256, stream_prepare, inject_origin,
	 stream_target},
	{"msg_cq_8", "message 8 B rate (send, queue entry)", "msg", BENCH_MOPS, 1, 1, 8, 256, stream_prepare,
	 entry_origin, stream_target},
	{"msg_bw_4K", "message 4 KiB stream", "msg", BENCH_MBS, 1, 1, 4096, 32, stream_prepare, entry_origin,
	 stream_target},
	{"msg_bw_64K", "message 64 KiB stream", "msg", BENCH_MBS, 1, 1, 65536, 8, stream_prepare, entry_origin,
	 stream_target},
	{"msg_bw_1M", "message 1 MiB stream", "msg", BENCH_MBS, 1, 1, 1048576, 4, stream_prepare, entry_origin,
	 stream_target},
	PP("tag_pp_8", "tagged 8 B", "tag", 8, 32),
	PP("tag_pp_1K", "tagged 1 KiB", "tag", 1024, 32),
	PP("tag_pp_16K", "tagged 16 KiB", "tag", 16384, 8),
	PP("tag_pp_64K", "tagged 64 KiB", "tag", 65536, 8),
	PP("tag_pp_1M", "tagged 1 MiB", "tag", 1048576, 2),
	{"tag_rate_8", "tagged 8 B rate (inject)", "tag", BENCH_MOPS, 1, 1, 8, 256, stream_prepare, inject_origin,
	 stream_target},
};
const struct bench_rows bench_msg_rows = {rows, sizeof rows / sizeof rows[0]};
