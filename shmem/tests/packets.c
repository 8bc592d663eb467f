/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packets ROUNDS: how often the link between two hosts (FI_PGAS_NET=socket) enters the network. Data and its signal
 * leave together, and the reply carries the acknowledgement: one TCP segment for each put_signal of a ping-pong. An
 * acknowledgement leaves alone if a PE loses its core in between, so that some more are allowed, but not twice as many.
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
	test_done("packets");
	return 0;
}
