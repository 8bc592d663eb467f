/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fi_driver.c: an origin and a target process with one endpoint each, and a
 * second target on another host where a link is wanted. Nothing here is
 * counted, so it is plain libfabric for any RDM provider.
 */
#define _GNU_SOURCE /* memfd_create */
#include "fi_driver.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the two sides send each other. */
struct greeting {
	char name[256];
	size_t name_bytes;
	uint64_t key;
};

/* The target, and the one on the other host. */
enum { TARGETS_MOST = 2 };
static struct target {
	pid_t pid;
	int write_end, read_end;
	fi_addr_t address;
} targets[TARGETS_MOST];
static int target_count;

static int print_error(const char *what, int error)
{
	fprintf(stderr, "fi_driver: %s: %s\n", what, fi_strerror(-error));
	return 1;
}

ssize_t fi_driver_other(ssize_t ret)
{
	if (ret != -FI_EAGAIN)
		exit(print_error("the counted call", (int)ret));
	return ret;
}

static int get_info(struct fi_side *s, const char *provider)
{
	struct fi_info *hints = fi_allocinfo();
	if (!hints)
		return print_error("fi_allocinfo", -FI_ENOMEM);
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_RDM;
	/* Our keys and offsets: the calls below name key 0 as a constant. */
	hints->domain_attr->mr_mode = 0;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->fabric_attr->prov_name = strdup(provider);
	int ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &s->info);
	if (ret != 0) {
		/* Some providers have no atomics; most paths need none. */
		hints->caps = FI_MSG | FI_RMA;
		ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &s->info);
	}
	fi_freeinfo(hints);
	if (ret == -FI_ENODATA || ret == -FI_ENOSYS)
		return DRIVER_NOT_HERE;
	return ret == 0 ? 0 : print_error(provider, ret);
}

static int open_objects(struct fi_side *s)
{
	struct fi_cq_attr cq = {.format = FI_CQ_FORMAT_CONTEXT, .size = 1024};
	struct fi_cntr_attr cntr = {.events = FI_CNTR_EVENTS_COMP};
	struct fi_av_attr av = {.type = FI_AV_TABLE};
	int ret;
	if ((ret = fi_fabric(s->info->fabric_attr, &s->fabric, NULL)) != 0 ||
	    (ret = fi_domain(s->fabric, s->info, &s->domain, NULL)) != 0 ||
	    (ret = fi_av_open(s->domain, &av, &s->av, NULL)) != 0 ||
	    (ret = fi_cq_open(s->domain, &cq, &s->cq, NULL)) != 0 ||
	    (ret = fi_cntr_open(s->domain, &cntr, &s->writes, NULL)) != 0 ||
	    (ret = fi_cntr_open(s->domain, &cntr, &s->reads, NULL)) != 0 ||
	    (ret = fi_cntr_open(s->domain, &cntr, &s->sends, NULL)) != 0 ||
	    (ret = fi_endpoint(s->domain, s->info, &s->ep, NULL)) != 0 ||
	    (ret = fi_ep_bind(s->ep, &s->av->fid, 0)) != 0 ||
	    (ret = fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)) != 0 ||
	    (ret = fi_ep_bind(s->ep, &s->writes->fid, FI_WRITE)) != 0 ||
	    (ret = fi_ep_bind(s->ep, &s->reads->fid, FI_READ)) != 0 ||
	    (ret = fi_ep_bind(s->ep, &s->sends->fid, FI_SEND)) != 0 || (ret = fi_enable(s->ep)) != 0)
		return print_error("opening", ret);
	return 0;
}

static int open_memory(struct fi_side *s)
{
	uint64_t remote = FI_REMOTE_READ | FI_REMOTE_WRITE;
	int prot = PROT_READ | PROT_WRITE;
	/* a file that stays open: the provider finds it without any capability, so counts are the same for all users */
	const int fd = memfd_create("driver", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, FI_DRIVER_BYTES))
		return print_error("memfd_create", -FI_ENOMEM);
	s->region = mmap(NULL, FI_DRIVER_BYTES, prot, MAP_SHARED, fd, 0);
	s->local = mmap(NULL, FI_DRIVER_BYTES, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (s->region == MAP_FAILED || s->local == MAP_FAILED)
		return print_error("mmap", -FI_ENOMEM);
	int ret = fi_mr_reg(s->domain, s->region, FI_DRIVER_BYTES, remote, 0, 0, 0, &s->mr, NULL);
	if (ret == 0)
		ret = fi_mr_reg(s->domain, s->local, FI_DRIVER_BYTES, FI_READ | FI_WRITE | FI_SEND | FI_RECV, 0, 1, 0,
				&s->local_mr, NULL);
	if (ret != 0)
		return print_error("fi_mr_reg", ret);
	s->desc = fi_mr_desc(s->local_mr);
	return 0;
}

/* Everything is closed before the process ends, because until then libfabric's shm keeps a file in /dev/shm. */
static void close_objects(struct fi_side *s)
{
	struct fid *const all[] = {
		s->ep ? &s->ep->fid : NULL,
		s->mr ? &s->mr->fid : NULL,
		s->local_mr ? &s->local_mr->fid : NULL,
		s->writes ? &s->writes->fid : NULL,
		s->reads ? &s->reads->fid : NULL,
		s->sends ? &s->sends->fid : NULL,
		s->cq ? &s->cq->fid : NULL,
		s->av ? &s->av->fid : NULL,
		s->domain ? &s->domain->fid : NULL,
		s->fabric ? &s->fabric->fid : NULL,
	};
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i])
			fi_close(all[i]);
	if (s->info)
		fi_freeinfo(s->info);
}

/* An address of our provider begins with the host. */
static int on_other_hosts(const char *a, const char *b)
{
	enum { SCHEME = 10, HOST = 10 };
	return strncmp(a, "fi_pgas://", SCHEME) == 0 && strncmp(a + SCHEME, b + SCHEME, HOST) != 0;
}

static int meet_peer(struct fi_side *s, int dest, int source, int far, fi_addr_t *address)
{
	struct greeting mine = {.name_bytes = sizeof(mine.name)}, theirs;
	int ret = fi_getname(&s->ep->fid, mine.name, &mine.name_bytes);
	if (ret != 0)
		return print_error("fi_getname", ret);
	mine.key = fi_mr_key(s->mr);
	if (mine.key != 0)
		return print_error("the provider chose its own key", -FI_EKEYREJECTED);
	if (write(dest, &mine, sizeof(mine)) != sizeof(mine) || read(source, &theirs, sizeof(theirs)) != sizeof(theirs))
		return print_error("the other process", -FI_EIO);
	if (far != on_other_hosts(mine.name, theirs.name))
		return print_error("the processes are not on the hosts that they play", -FI_EINVAL);
	ret = fi_av_insert(s->av, theirs.name, 1, address, 0, NULL);
	return ret == 1 ? 0 : print_error("fi_av_insert", ret < 0 ? ret : -FI_EADDRNOTAVAIL);
}

/* The target processes incoming operations until the origin closes its pipe. */
static int serve(struct fi_side *s, int source)
{
	struct pollfd quit = {.fd = source, .events = POLLIN};
	struct fi_cq_entry entry;
	int receives = 0;
	while (poll(&quit, 1, 0) == 0) {
		while (receives < 64 && fi_recv(s->ep, s->local, 64, s->desc, FI_ADDR_UNSPEC, NULL) == 0)
			receives++;
		if (fi_cq_read(s->cq, &entry, 1) == 1)
			receives--;
	}
	return 0;
}

static int open_side(struct fi_side *s, const char *provider)
{
	int ret = get_info(s, provider);
	if (ret == 0)
		ret = open_objects(s);
	return ret == 0 ? open_memory(s) : ret;
}

/* Only the origin returns, with 0 or an exit status. rank: determines the host that the target acts as. */
static int start_target(struct fi_side *s, const char *provider, enum driver_place place, int rank)
{
	struct target *t = &targets[target_count];
	int down[2], up[2];
	if (pipe(down) != 0 || pipe(up) != 0)
		return print_error("pipe", -FI_EIO);
	/* Forks before libfabric is used, which does not survive a fork. */
	t->pid = fork();
	if (t->pid != 0) {
		t->write_end = down[1];
		t->read_end = up[0];
		close(down[0]);
		close(up[1]);
		target_count++;
		return t->pid < 0 ? print_error("fork", -FI_EAGAIN) : 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(down[1]);
	close(up[0]);
	for (int i = 0; i < target_count; i++)
		close(targets[i].write_end); /* closing it tells that target to stop */
	driver_take_place(place, rank);
	int ret = open_side(s, provider);
	if (ret == 0)
		ret = meet_peer(s, up[1], down[0], place == DRIVER_FAR || rank == 1, &s->peer);
	if (ret == 0)
		ret = serve(s, down[0]);
	close_objects(s);
	_exit(ret);
}

static int open_all(struct fi_side *s, const char *provider, enum driver_place place)
{
	int ret = start_target(s, provider, place, 2);
	if (ret == 0 && place == DRIVER_LINKED)
		ret = start_target(s, provider, place, 1);
	driver_take_place(place, 0);
	if (ret == 0)
		ret = open_side(s, provider);
	for (int i = 0; ret == 0 && i < target_count; i++)
		ret = meet_peer(s, targets[i].write_end, targets[i].read_end, place == DRIVER_FAR || i == 1,
				&targets[i].address);
	s->peer = targets[0].address;
	return ret;
}

static uint64_t completed(struct fi_side *s)
{
	struct fi_cq_entry entry;
	fi_cq_read(s->cq, &entry, 1);
	return fi_cntr_read(s->writes) + fi_cntr_read(s->reads) + fi_cntr_read(s->sends);
}

/* Waits until that many operations are complete; the target shares our cores. */
static int settle(struct fi_side *s, uint64_t started)
{
	for (unsigned tries = 0; completed(s) < started; tries++) {
		if (fi_cntr_readerr(s->writes) + fi_cntr_readerr(s->reads) + fi_cntr_readerr(s->sends) != 0)
			return print_error("an operation", -FI_EIO);
		if (tries > 20000)
			return print_error("an operation", -FI_ETIMEDOUT);
		if (tries > 100)
			usleep(500);
	}
	return 0;
}

/* The first message between two endpoints connects them: it is not counted. */
static int connect_to(struct fi_side *s, fi_addr_t peer, uint64_t started)
{
	ssize_t ret = -FI_EAGAIN;
	for (unsigned tries = 0; ret == -FI_EAGAIN && tries < 20000; tries++) {
		ret = fi_inject(s->ep, s->local, 8, peer);
		completed(s);
		if (ret == -FI_EAGAIN)
			usleep(500);
	}
	return ret == 0 ? settle(s, started) : print_error("the first message", (int)ret);
}

static int close_all(struct fi_side *s)
{
	int worst = 0;
	close_objects(s);
	for (int i = 0; i < target_count; i++) {
		int status = 0;
		close(targets[i].write_end);
		waitpid(targets[i].pid, &status, 0);
		worst |= WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
	return worst;
}

/* The report labels a peer with libfabric's version and the provider's name. */
static void tell(const struct fi_side *s)
{
	char words[128];
	uint32_t version = fi_version();
	snprintf(words, sizeof(words), "libfabric %u.%u %s", FI_MAJOR(version), FI_MINOR(version),
		 s->info->fabric_attr->prov_name);
	if (strcmp(s->info->fabric_attr->prov_name, "pgas") != 0)
		driver_tell("setting", words);
}

int fi_driver_run(int argc, char **argv, ssize_t (*call)(struct fi_side *), ssize_t expected, int starts)
{
	static struct fi_side side;
	enum driver_place place = driver_place(argc, argv);
	ssize_t got = expected;
	uint64_t started = 0;
	int status = open_all(&side, argc > 1 ? argv[1] : "pgas", place);
	if (status == 0)
		tell(&side);
	for (int i = 0; status == 0 && i < target_count; i++)
		status = connect_to(&side, targets[i].address, ++started);
	for (int i = 0; status == 0 && place == DRIVER_LINKED && i < DRIVER_QUIET_POLLS; i++)
		completed(&side);
	for (unsigned n = driver_calls(); status == 0 && n > 0; n--) {
		got = call(&side);
		started += starts && got == expected;
		if (place != DRIVER_FAR || n == 1) /* otherwise it would not find a waiting packet */
			status = settle(&side, started);
	}
	if (status == 0 && got != expected)
		status = print_error("the counted call", (int)got);
	return status != 0 ? status : close_all(&side);
}
