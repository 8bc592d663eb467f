/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loaded before the C library (LD_PRELOAD): counts the system calls with which the port over sockets polls.
 * link_victim's "poll" asks for the count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

static atomic_ulong g_calls;

unsigned long link_count_calls(void);
unsigned long link_count_calls(void)
{
	return atomic_load(&g_calls);
}

static void *next(const char *name)
{
	atomic_fetch_add(&g_calls, 1);
	return dlsym(RTLD_NEXT, name);
}

int epoll_wait(int epfd, struct epoll_event *events, int most, int timeout)
{
	int (*real)(int, struct epoll_event *, int, int) =
		(int (*)(int, struct epoll_event *, int, int))next("epoll_wait");
	return real(epfd, events, most, timeout);
}

ssize_t recv(int fd, void *into, size_t len, int flags)
{
	ssize_t (*real)(int, void *, size_t, int) = (ssize_t(*)(int, void *, size_t, int))next("recv");
	return real(fd, into, len, flags);
}

ssize_t readv(int fd, const struct iovec *parts, int count)
{
	ssize_t (*real)(int, const struct iovec *, int) = (ssize_t(*)(int, const struct iovec *, int))next("readv");
	return real(fd, parts, count);
}

int accept4(int fd, struct sockaddr *src, socklen_t *room, int flags)
{
	int (*real)(int, struct sockaddr *, socklen_t *, int) =
		(int (*)(int, struct sockaddr *, socklen_t *, int))next("accept4");
	return real(fd, src, room, flags);
}
