/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loaded before the C library (LD_PRELOAD): a kernel that refuses what a system call filter may refuse (seccomp). The
 * refused calls, and how often each attempt failed, are in a file shared with link_refuse.cpp (LINK_REFUSE).
 */
#define _GNU_SOURCE
#include "link_refuse.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct link_refuse *g_page;

__attribute__((constructor)) static void open_page(void)
{
	const char *path = getenv("LINK_REFUSE");
	const int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *addr = mmap(NULL, sizeof *g_page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		abort();
	g_page = addr;
	close(fd);
}

/* Calls before the constructor has run are not refused. */
static int refused(enum link_refusal what)
{
	if (!g_page || !(__atomic_load_n(&g_page->refused, __ATOMIC_ACQUIRE) & what))
		return 0;
	__atomic_add_fetch(&g_page->count, 1, __ATOMIC_RELAXED);
	errno = EPERM;
	return 1;
}

int accept4(int fd, struct sockaddr *src, socklen_t *room, int flags)
{
	int (*real)(int, struct sockaddr *, socklen_t *, int) =
		(int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
	return refused(LINK_REFUSE_ACCEPT) ? -1 : real(fd, src, room, flags);
}

ssize_t getrandom(void *into, size_t len, unsigned flags)
{
	ssize_t (*real)(void *, size_t, unsigned) = (ssize_t(*)(void *, size_t, unsigned))dlsym(RTLD_NEXT, "getrandom");
	return refused(LINK_REFUSE_GETRANDOM) ? -1 : real(into, len, flags);
}

static int open_other(const char *path, int flags, mode_t mode)
{
	if (strcmp(path, "/dev/urandom") == 0 && refused(LINK_REFUSE_URANDOM))
		return -1;
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	const int makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	const mode_t mode = makes ? va_arg(args, mode_t) : 0;
	va_end(args);
	return open_other(path, flags, mode);
}

#if __SIZEOF_POINTER__ == 8 /* the same function under another name */
int open64(const char *path, int flags, ...) __attribute__((alias("open")));
#endif
