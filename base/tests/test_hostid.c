/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pgas_hostid.h: one identity per host, which includes every namespace that shared memory needs; without /proc, or with
 * a /proc that shows other processes, there is no identity, and fi_domain fails.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* unshare */
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <pgas/pgas_hostid.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

static char proc[64]; /* a folder that looks like /proc */
static const char *const namespaces[] = {"pid", "net", "uts", "ipc", "user", "time"};

static const char *path_of(const char *what)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", proc, what);
	return path;
}

static void write_file(const char *what, const char *text)
{
	int fd = open(path_of(what), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* a new file created while the old one still exists has another inode */
static void other_inode(const char *ns)
{
	char name[64], old[256];
	snprintf(name, sizeof name, "ns/%s.new", ns);
	write_file(name, "");
	snprintf(old, sizeof old, "%s", path_of(name));
	snprintf(name, sizeof name, "ns/%s", ns);
	assert_int_equal(rename(old, path_of(name)), 0);
}

static void link_self(long pid)
{
	char me[32];
	snprintf(me, sizeof me, "%ld", pid);
	unlink(path_of("self"));
	assert_int_equal(symlink(me, path_of("self")), 0);
}

static int setup(void **state)
{
	char me[32], name[64];
	(void)state;
	snprintf(proc, sizeof proc, "/tmp/test_hostid.XXXXXX");
	if (!mkdtemp(proc))
		return -1;
	snprintf(me, sizeof me, "%d", (int)getpid());
	mkdir(path_of(me), 0700);
	mkdir(path_of("ns"), 0700);
	mkdir(path_of("sys"), 0700);
	mkdir(path_of("sys/kernel"), 0700);
	mkdir(path_of("sys/kernel/random"), 0700);
	write_file("sys/kernel/random/boot_id", "01234567-89ab\n");
	for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
		snprintf(name, sizeof name, "ns/%s", namespaces[i]);
		write_file(name, "");
	}
	snprintf(name, sizeof name, "%s/ns", me);
	if (symlink("../ns", path_of(name)) != 0)
		return -1;
	link_self((long)getpid());
	return 0;
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", proc);
	return system(command);
}

static uint64_t identity(void)
{
	uint64_t id = 0;
	char why[320] = "";
	if (pgas_host_id_in(proc, &id, why, sizeof why) != 0)
		fail_msg("%s", why);
	return id;
}

static void refused(int err, const char *word)
{
	uint64_t id = 77;
	char why[320] = "";
	assert_int_equal(pgas_host_id_in(proc, &id, why, sizeof why), err);
	assert_int_equal(id, 77);
	assert_non_null(strstr(why, word));
}

static void test_hostid_of_this_host_is_stable(void **state)
{
	uint64_t a = 0, b = 1;
	char why[320];
	(void)state;
	assert_int_equal(pgas_host_id(&a, why, sizeof why), 0);
	assert_int_equal(pgas_host_id(&b, why, sizeof why), 0);
	assert_true(a == b && a != 0);
}

static uint64_t played(const char *number)
{
	uint64_t id = 0;
	char why[320];
	setenv("FI_PGAS_TEST_HOSTS", number, 1);
	assert_int_equal(pgas_host_id(&id, why, sizeof why), 0);
	return id;
}

static int plays_alone(uint64_t parents)
{
	return played("1") == parents ? 2 : 0;
}

static void test_hostid_played_hosts_differ_by_number(void **state)
{
	const char *before = getenv("FI_PGAS_TEST_HOSTS");
	char kept[32];
	(void)state;
	snprintf(kept, sizeof kept, "%s", before ? before : "0");
	const uint64_t real = played("0");
	assert_true(played("2") == played("2") && played("2") != played("3") && played("2") != real);
	const uint64_t mine = played("1");
	assert_true(mine == played("1") && mine != real && mine != played("2"));
	const pid_t pid = fork(); /* 1: another process is another host */
	if (pid == 0)
		_exit(plays_alone(mine));
	int status = -1;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	setenv("FI_PGAS_TEST_HOSTS", kept, 1);
}

static void test_hostid_differs_by_boot_and_each_namespace(void **state)
{
	uint64_t last = identity();
	(void)state;
	assert_true(identity() == last);
	write_file("sys/kernel/random/boot_id", "01234567-89ac\n");
	assert_true(identity() != last);
	for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
		last = identity();
		other_inode(namespaces[i]);
		assert_true(identity() != last);
	}
}

static void test_hostid_without_proc_is_refused(void **state)
{
	(void)state;
	unlink(path_of("ns/user"));
	refused(-ENOENT, "ns/user");
	write_file("ns/user", "");
	unlink(path_of("sys/kernel/random/boot_id"));
	refused(-ENOENT, "boot_id");
	write_file("sys/kernel/random/boot_id", "");
	refused(-ENODATA, "boot_id");
}

/* Linux before 5.6 */
static void test_hostid_without_time_namespaces_is_known(void **state)
{
	const uint64_t with = identity();
	(void)state;
	unlink(path_of("ns/time"));
	assert_true(identity() != with && identity() == identity());
}

static void test_hostid_of_foreign_proc_is_refused(void **state)
{
	(void)state;
	/* self/ns must be found, so that only the number is wrong */
	char name[64];
	snprintf(name, sizeof name, "%ld", (long)getpid() + 1);
	mkdir(path_of(name), 0700);
	snprintf(name, sizeof name, "%ld/ns", (long)getpid() + 1);
	assert_int_equal(symlink("../ns", path_of(name)), 0);
	link_self((long)getpid() + 1);
	refused(-ENOTSUP, "PID namespace");
}

/* The result of a child in other namespaces: 0 to 9 from `check`, 99 when the kernel does not allow the attempt. */
static int in_namespace(int flags, int (*check)(uint64_t), uint64_t outside)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(unshare(flags) != 0 && unshare(flags | CLONE_NEWUSER) != 0 ? 99 : check(outside));
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int differs(uint64_t outside)
{
	uint64_t id = 0;
	char why[320];
	if (pgas_host_id(&id, why, sizeof why) != 0)
		return 1;
	return id == outside ? 2 : 0;
}

static void test_hostid_in_other_namespaces_differs(void **state)
{
	const int flags[] = {CLONE_NEWNET, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER};
	uint64_t outside = 0;
	char why[320];
	int tried = 0;
	(void)state;
	assert_int_equal(pgas_host_id(&outside, why, sizeof why), 0);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
		int answer = in_namespace(flags[i], differs, outside);
		if (answer == 99)
			continue;
		tried++;
		assert_int_equal(answer, 0);
	}
	if (!tried)
		print_message("no namespaces to be had here: not tried\n");
}

/* 0: fi_domain failed, as it should */
static int domain_without_proc(uint64_t outside)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	struct fid_fabric *fabric = NULL;
	struct fid_domain *domain = NULL;
	(void)outside;
	hints->fabric_attr->prov_name = strdup("pgas");
	hints->caps = FI_RMA;
	if (fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info) != 0 ||
	    fi_fabric(info->fabric_attr, &fabric, NULL) != 0)
		return 1;
	if (fi_domain(fabric, info, &domain, NULL) != 0) /* before: it works */
		return 2;
	fi_close(&domain->fid);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount("tmpfs", "/proc", "tmpfs", 0, NULL) != 0)
		return 99;
	return fi_domain(fabric, info, &domain, NULL) == -FI_EOPNOTSUPP ? 0 : 3;
}

static void test_domain_without_proc_is_refused(void **state)
{
	(void)state;
	const int answer = in_namespace(CLONE_NEWNS, domain_without_proc, 0);
	if (answer == 99)
		skip();
	assert_int_equal(answer, 0);
}

int main(void)
{
#define CASE(name_arg) cmocka_unit_test_setup_teardown(name_arg, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_hostid_of_this_host_is_stable),
		CASE(test_hostid_differs_by_boot_and_each_namespace),
		CASE(test_hostid_without_proc_is_refused),
		CASE(test_hostid_of_foreign_proc_is_refused),
		CASE(test_hostid_without_time_namespaces_is_known),
		CASE(test_hostid_in_other_namespaces_differs),
		CASE(test_domain_without_proc_is_refused),
		CASE(test_hostid_played_hosts_differ_by_number),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
