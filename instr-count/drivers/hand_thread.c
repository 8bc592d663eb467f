/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hand_thread.c: two threads in the same function on the same cell. Stepping one must neither stop nor kill the other,
 * nor wait for it forever.
 */
#include <pthread.h>
#include <time.h>

#include "driver.h"
#include "hand.h"

static long cell;

/* The loop ends by the clock, not by number: while one thread is stepped the other makes thousands of calls that are
 * not counted. */
static void *loop(void *unused)
{
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		hand_atomic(&cell);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < 300);
	return unused;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, loop, NULL) != 0)
		return 1;
	loop(NULL);
	return pthread_join(thread, NULL);
}
