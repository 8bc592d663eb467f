/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rawtcp: the performance of TCP sockets between two hosts without any library: the round trip of 8 bytes, polling and
 * blocking, the stream by size of a write, and replies requested one after the other, as by blocking gets.
 * hosts_compare measures everything else against it.
 */
#define _GNU_SOURCE 1
#include "raw.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, WORD = 8 };
static const uint64_t kMostCount = (uint64_t)1 << 32;

enum kind { SPIN, BLOCK, STREAM, ANSWER };

const char raw_name[] = "rawtcp";
const struct raw_row raw_rows[] = {
	{"tcp_spin", "raw", BENCH_NS, "round trip 8 B, spinning", SPIN, WORD},
	{"tcp_block", "raw", BENCH_NS, "round trip 8 B, blocking", BLOCK, WORD},
	{"tcp_4096", "raw", BENCH_MBS, "stream, writes of 4 KiB", STREAM, 4096},
	{"tcp_65536", "raw", BENCH_MBS, "stream, writes of 64 KiB", STREAM, 65536},
	{"tcp_1048576", "raw", BENCH_MBS, "stream, writes of 1 MiB", STREAM, 1 << 20},
	{"tcp_answer_65536", "raw", BENCH_MBS, "replies of 64 KiB to 8 B, one by one", ANSWER, 65536},
	{"tcp_answer_1048576", "raw", BENCH_MBS, "replies of 1 MiB to 8 B, one by one", ANSWER, 1 << 20},
};
const size_t raw_row_count = sizeof raw_rows / sizeof raw_rows[0];

/* What the client sends before a sample. Both sides are of the same build and architecture. */
struct order {
	uint32_t kind, bytes;
	uint64_t count;
};

static char buffer[MOST_BYTES];
static int to_server = -1;

/* --- moving bytes ------------------------------------------------------------------------------------------------- */

/* Receives all bytes, or returns false. how: 0 or MSG_DONTWAIT, which polls. */
static int receive_all(int fd, void *dst, size_t bytes, int how)
{
	for (size_t got = 0; got < bytes;) {
		const ssize_t n = recv(fd, (char *)dst + got, bytes - got, how);
		if (n > 0)
			got += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return 0;
	}
	return 1;
}

static int send_all(int fd, const void *src, size_t bytes)
{
	for (size_t sent = 0; sent < bytes;) {
		const ssize_t n = send(fd, (const char *)src + sent, bytes - sent, MSG_NOSIGNAL);
		if (n > 0)
			sent += (size_t)n;
		else if (n == 0 || errno != EINTR)
			return 0;
	}
	return 1;
}

static int stream_in(int fd, uint64_t bytes)
{
	while (bytes) {
		const ssize_t n = recv(fd, buffer, bytes < MOST_BYTES ? bytes : MOST_BYTES, 0);
		if (n > 0)
			bytes -= (uint64_t)n;
		else if (n == 0 || errno != EINTR)
			return 0;
	}
	return 1;
}

static int ping(int fd, uint64_t count, int how, int first)
{
	uint64_t word = 0;
	for (uint64_t i = 0; i < count; i++)
		if ((first && !send_all(fd, &word, WORD)) || !receive_all(fd, &word, WORD, how) ||
		    (!first && !send_all(fd, &word, WORD)))
			return 0;
	return 1;
}

static int answer(int fd, uint64_t count, uint32_t bytes)
{
	uint64_t word;
	for (uint64_t i = 0; i < count; i++)
		if (!receive_all(fd, &word, WORD, MSG_DONTWAIT) || !send_all(fd, buffer, bytes))
			return 0;
	return 1;
}

static int ask_one_by_one(int fd, uint64_t count, uint32_t bytes)
{
	const uint64_t word = 0;
	for (uint64_t i = 0; i < count; i++)
		if (!send_all(fd, &word, WORD) || !receive_all(fd, buffer, bytes, MSG_DONTWAIT))
			return 0;
	return 1;
}

static void no_delay(int fd)
{
	const int yes = 1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

/* --- the server --------------------------------------------------------------------------------------------------- */

/* Listens on every address of both families; without IPv6, only of IPv4. */
static int listen_anywhere(uint16_t *port)
{
	struct sockaddr_storage place = {.ss_family = AF_INET6};
	socklen_t length = sizeof(struct sockaddr_in6);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (fd < 0) {
		place.ss_family = AF_INET;
		length = sizeof(struct sockaddr_in);
		fd = socket(AF_INET, SOCK_STREAM, 0);
	}
	if (fd < 0 || bind(fd, (struct sockaddr *)&place, length) != 0 || listen(fd, 4) != 0)
		return -1;
	length = sizeof place;
	getsockname(fd, (struct sockaddr *)&place, &length);
	/* the port is at the same offset in both address structures */
	*port = ntohs(((struct sockaddr_in *)&place)->sin_port);
	return fd;
}

int raw_serve(void)
{
	uint16_t port;
	char host[256] = "";
	const int pos = listen_anywhere(&port);
	if (pos < 0 || gethostname(host, sizeof host - 1) != 0) {
		perror("rawtcp: listen");
		return 1;
	}
	printf("%s:%d\n", host, port);
	fflush(stdout);
	const int fd = accept(pos, NULL, NULL);
	if (fd < 0)
		return 1;
	no_delay(fd);
	struct order o;
	while (receive_all(fd, &o, sizeof o, 0)) {
		if (o.kind > ANSWER || o.bytes > MOST_BYTES || o.count > kMostCount)
			return 1;
		const int good = o.kind == STREAM   ? stream_in(fd, o.count * o.bytes) && send_all(fd, &o.count, WORD)
				 : o.kind == ANSWER ? answer(fd, o.count, o.bytes)
						    : ping(fd, o.count, o.kind == SPIN ? MSG_DONTWAIT : 0, 0);
		if (!good)
			return 1;
	}
	return 0;
}

/* --- the client --------------------------------------------------------------------------------------------------- */

int raw_connect(const char *where)
{
	const char *colon = strrchr(where, ':');
	char host[256];
	if (!colon || (size_t)(colon - where) >= sizeof host)
		return 0;
	memcpy(host, where, (size_t)(colon - where));
	host[colon - where] = 0;
	const struct addrinfo want = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;
	if (getaddrinfo(host, colon + 1, &want, &found) != 0)
		return 0;
	for (struct addrinfo *a = found; a && to_server < 0; a = a->ai_next) {
		to_server = socket(a->ai_family, a->ai_socktype, a->ai_protocol);
		if (to_server >= 0 && connect(to_server, a->ai_addr, a->ai_addrlen) != 0) {
			close(to_server);
			to_server = -1;
		}
	}
	freeaddrinfo(found);
	if (to_server < 0)
		return 0;
	no_delay(to_server);
	memset(buffer, 1, sizeof buffer);
	return 1;
}

int raw_run(const struct raw_row *row, uint64_t count)
{
	const struct order o = {(uint32_t)row->kind, row->bytes, count};
	if (!send_all(to_server, &o, sizeof o))
		return 0;
	if (row->kind == ANSWER)
		return ask_one_by_one(to_server, count, row->bytes);
	if (row->kind != STREAM)
		return ping(to_server, count, row->kind == SPIN ? MSG_DONTWAIT : 0, 1);
	for (uint64_t i = 0; i < count; i++)
		if (!send_all(to_server, buffer, row->bytes))
			return 0;
	uint64_t word;
	return receive_all(to_server, &word, WORD, 0);
}

void raw_close(void)
{
	close(to_server);
}
