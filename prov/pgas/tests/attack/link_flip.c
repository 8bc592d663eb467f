/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loaded before the C library (LD_PRELOAD): flips one bit of the data that a process sends by the socket port.
 * LINK_FLIP=K:N names bit N of the K-th record that it sends, counted from 1, starting at the record's head; K:N:KIND
 * counts only records of that kind. A line in its log reports the flip.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_FDS 1024
#define RECORD_MAGIC 0x6b73

struct record_head {
	uint16_t magic;
	uint8_t kind, version;
	uint32_t bytes;
};

/* The position of a connection's next byte in its records. */
struct stream {
	unsigned char head[sizeof(struct record_head)];
	uint64_t pos;    /* in the record */
	uint64_t length; /* of the record, once its head is known; otherwise 0 */
	uint64_t number; /* of the record */
	uint64_t place;  /* among those of its kind, once its head is known; otherwise 0 */
};

static struct stream g_streams[MOST_FDS];
static uint64_t g_records, g_of_kind[256], g_want, g_bit;
static unsigned g_kind; /* 0: any */
static bool g_told;

static void read_wish(void)
{
	static bool read;
	unsigned long long record, bit;
	unsigned kind = 0;
	const char *text = getenv("LINK_FLIP");
	if (read)
		return;
	read = true;
	if (text && sscanf(text, "%llu:%llu:%u", &record, &bit, &kind) >= 2)
		g_want = record, g_bit = bit, g_kind = kind;
}

static uint64_t length_of(const unsigned char *bytes)
{
	struct record_head h;
	memcpy(&h, bytes, sizeof h);
	switch (h.kind) {
	case 3: /* hello */
		return 64;
	case 5: /* welcome */
	case 6: /* refuse */
		return 32;
	case 9: /* packet */
		return sizeof h + (h.bytes + 7ull) / 8 * 8;
	case 10: /* write */
		return 32ull + h.bytes;
	case 12: /* read */
		return 32;
	default: /* answer */
		return 24ull + h.bytes;
	}
}

/* Advances by `len` bytes; flips: flip the bit if it is among them. */
static void walk(struct stream *s, unsigned char *bytes, size_t len, bool flips)
{
	for (size_t i = 0; i < len; i++) {
		if (s->pos == 0) {
			s->number = ++g_records;
			s->place = 0;
		}
		if (s->pos < sizeof s->head)
			s->head[s->pos] = bytes[i];
		if (s->pos == 2) /* the kind: if one was given, no bit before it is flipped */
			s->place = ++g_of_kind[bytes[i]];
		if (flips && (g_kind ? s->place == g_want && s->head[2] == g_kind : s->number == g_want) &&
		    s->pos == g_bit / 8) {
			bytes[i] ^= (unsigned char)(1 << g_bit % 8);
			if (!g_told)
				dprintf(2, "link_flip: flipped\n");
			g_told = true;
		}
		s->pos++;
		if (s->pos == sizeof s->head)
			s->length = length_of(s->head);
		if (s->pos >= sizeof s->head && s->pos == s->length)
			s->pos = s->length = 0;
	}
}

static bool of_port(int fd, const unsigned char *bytes, size_t len)
{
	struct record_head h;
	if (!g_want || fd < 0 || fd >= MOST_FDS)
		return false;
	if (g_streams[fd].number)
		return true;
	if (len < sizeof h)
		return false;
	memcpy(&h, bytes, sizeof h);
	return h.magic == RECORD_MAGIC;
}

/* bytes: a copy, which may be modified. */
static ssize_t send_changed(int fd, unsigned char *bytes, size_t len, int flags)
{
	ssize_t (*real)(int, const void *, size_t, int) =
		(ssize_t(*)(int, const void *, size_t, int))dlsym(RTLD_NEXT, "send");
	struct stream before;
	unsigned char *as_it_was;
	uint64_t records = g_records, of_kind[256];
	ssize_t n;
	read_wish();
	if (!of_port(fd, bytes, len))
		return real(fd, bytes, len, flags);
	as_it_was = malloc(len ? len : 1);
	memcpy(as_it_was, bytes, len);
	before = g_streams[fd];
	memcpy(of_kind, g_of_kind, sizeof of_kind);
	walk(&g_streams[fd], bytes, len, true);
	n = real(fd, bytes, len, flags);
	if (n != (ssize_t)len) { /* bytes not accepted are sent again */
		g_streams[fd] = before;
		g_records = records;
		memcpy(g_of_kind, of_kind, sizeof of_kind);
		walk(&g_streams[fd], as_it_was, n > 0 ? (size_t)n : 0, false);
	}
	free(as_it_was);
	return n;
}

ssize_t send(int fd, const void *src, size_t len, int flags)
{
	unsigned char *copy = malloc(len ? len : 1);
	ssize_t n;
	memcpy(copy, src, len);
	n = send_changed(fd, copy, len, flags);
	free(copy);
	return n;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	size_t len = 0, pos = 0;
	unsigned char *copy;
	ssize_t n;
	for (size_t i = 0; i < m->msg_iovlen; i++)
		len += m->msg_iov[i].iov_len;
	copy = malloc(len ? len : 1);
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		memcpy(copy + pos, m->msg_iov[i].iov_base, m->msg_iov[i].iov_len);
		pos += m->msg_iov[i].iov_len;
	}
	n = send_changed(fd, copy, len, flags);
	free(copy);
	return n;
}

int close(int fd)
{
	int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "close");
	if (fd >= 0 && fd < MOST_FDS)
		memset(&g_streams[fd], 0, sizeof g_streams[fd]);
	return real(fd);
}
