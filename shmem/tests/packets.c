/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packets ROUNDS: how often the link between two hosts (FI_PGAS_NET=socket) enters the network. Data and its signal
 * leave together, and the reply carries the acknowledgement: one TCP segment for each put_signal of a ping-pong. An
 * acknowledgement leaves alone if a PE loses its core in between, so that some more are allowed, but not twice as many.
 * Non-blocking fetches and short gets travel together, as do their results: far fewer segments than operations.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "shmem_test.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

enum { BYTES = 4096 };
static char data[BYTES];
static uint64_t ball;
static long counter;

/* Segments with data sent by all TCP sockets of this process; *sockets: their number. */
static long segments_out(int *sockets)
{
	long sum = 0;
	*sockets = 0;
	for (int fd = 3; fd < 256; fd++) {
		struct tcp_info info = {0};
		socklen_t bytes = sizeof info;
		if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_state != 1 /* established */)
			continue;
		if (bytes < offsetof(struct tcp_info, tcpi_data_segs_out) + sizeof info.tcpi_data_segs_out)
			continue; /* a kernel before 4.6 */
		sum += info.tcpi_data_segs_out;
		(*sockets)++;
	}
	return sum;
}

/* The signal arrived after its data. */
static void await(uint64_t value, size_t bytes)
{
	shmem_signal_wait_until(&ball, SHMEM_CMP_EQ, value);
	for (size_t k = 0; k < bytes; k++)
		CHECK(data[k] == (char)value);
}

/* `rounds` round trips. PE 1 checks the data before it replies: PE 0 then writes the next. */
static void play(int rounds, size_t bytes)
{
	static uint64_t value;
	const int me = shmem_my_pe();
	for (int i = 0; i < rounds; i++) {
		value++;
		if (me == 1)
			await(value, bytes);
		char source[BYTES];
		memset(source, (int)value, bytes);
		shmem_putmem_signal(data, source, bytes, &ball, value, SHMEM_SIGNAL_SET, 1 - me);
		if (me == 0)
			await(value, bytes);
	}
}

enum { FETCHES = 2000 };

static void fetch_many(void)
{
	static long old[FETCHES];
	static uint64_t words[FETCHES];
	for (int i = 0; i < FETCHES; i++) {
		shmem_long_atomic_fetch_add_nbi(&old[i], &counter, 1, 1);
		shmem_getmem_nbi(&words[i], data + 8 * (i % 64), 8, 1);
	}
	shmem_quiet();
	for (int i = 0; i < FETCHES; i++) {
		CHECK(old[i] == i);
		CHECK(words[i] == (uint64_t)i % 64);
	}
}

/* PE 1 sends the results while it waits; either side's segments count. */
static void check_fetches(void)
{
	int sockets;
	for (uint64_t i = 0; i < 64; i++)
		memcpy(data + 8 * i, &i, 8);
	shmem_barrier_all();
	const long before = segments_out(&sockets);
	if (shmem_my_pe() == 0)
		fetch_many();
	shmem_barrier_all();
	const long out = segments_out(&sockets) - before;
	if (out > FETCHES / 4)
		printf("PE %d: %ld segments for %d fetches\n", shmem_my_pe(), out, 2 * FETCHES);
	CHECK(out <= FETCHES / 4);
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 100;
	shmem_init();
	CHECK(shmem_n_pes() == 2);
	play(10, 8); /* connect, and exchange keys */
	static const size_t sizes[] = {8, 64, 1000, BYTES};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		int sockets;
		shmem_barrier_all();
		const long before = segments_out(&sockets);
		play(rounds, sizes[i]);
		const long out = segments_out(&sockets) - before;
		if (!sockets) {
			printf("no connection whose segments the kernel counts\n");
			CHECK(0);
		}
		if (out < rounds || out > rounds * 3 / 2)
			printf("PE %d: %ld segments for %d put_signal of %zu bytes\n", shmem_my_pe(), out, rounds,
			       sizes[i]);
		CHECK(out >= rounds && out <= rounds * 3 / 2);
		shmem_barrier_all();
	}
	check_fetches();
	test_done("packets");
	return 0;
}
