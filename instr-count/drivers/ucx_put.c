/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ucx_put.c: UCX as a peer: ucp_put_nbx of 8 bytes into memory of another process on this host, which UCX has mapped
 * (posix, unless UCX_TLS says otherwise). The target is a process that this one forks before it uses UCX. With the
 * argument "short" the counted part is inside the call, so no time is reported.
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>

#include "driver.h"

enum { REGION_BYTES = 4096 };

/* What the target sends the origin; the bytes are its address, then the packed key. */
struct greeting {
	uint64_t remote;
	size_t address_bytes, key_bytes;
	char bytes[16384];
};

struct side {
	ucp_context_h context;
	ucp_worker_h worker;
};

static void require(ucs_status_t status, const char *what)
{
	if (status == UCS_OK)
		return;
	fprintf(stderr, "ucx_put: %s: %s\n", what, ucs_status_string(status));
	exit(1);
}

static void open_side(struct side *s)
{
	ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_RMA};
	ucp_worker_params_t worker = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
				      .thread_mode = UCS_THREAD_MODE_SINGLE};
	require(ucp_init(&params, NULL, &s->context), "ucp_init");
	require(ucp_worker_create(s->context, &worker, &s->worker), "ucp_worker_create");
}

/* The target: allocates memory that others can map, publishes its address, and serves until the pipe closes. */
static void serve(int write_end, int quit)
{
	struct side s;
	struct greeting hello = {0};
	ucp_mem_h memory;
	ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS};
	ucp_mem_map_params_t map = {.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
				    .length = REGION_BYTES,
				    .flags = UCP_MEM_MAP_ALLOCATE};
	ucp_address_t *address;
	void *key;
	open_side(&s);
	require(ucp_mem_map(s.context, &map, &memory), "ucp_mem_map");
	require(ucp_mem_query(memory, &attr), "ucp_mem_query");
	require(ucp_rkey_pack(s.context, memory, &key, &hello.key_bytes), "ucp_rkey_pack");
	require(ucp_worker_get_address(s.worker, &address, &hello.address_bytes), "ucp_worker_get_address");
	if (hello.address_bytes + hello.key_bytes > sizeof(hello.bytes))
		exit(1);
	hello.remote = (uint64_t)(uintptr_t)attr.address;
	memcpy(hello.bytes, address, hello.address_bytes);
	memcpy(hello.bytes + hello.address_bytes, key, hello.key_bytes);
	if (write(write_end, &hello, sizeof(hello)) != (ssize_t)sizeof(hello))
		exit(1);
	struct pollfd end = {.fd = quit, .events = POLLIN};
	while (poll(&end, 1, 0) == 0)
		ucp_worker_progress(s.worker);
	ucp_rkey_buffer_release(key);
	ucp_worker_release_address(s.worker, address);
	ucp_mem_unmap(s.context, memory);
	ucp_worker_destroy(s.worker);
	ucp_cleanup(s.context);
	exit(0);
}

static void finish(ucp_worker_h worker, void *request)
{
	if (UCS_PTR_IS_ERR(request))
		require(UCS_PTR_STATUS(request), "an operation");
	if (!UCS_PTR_IS_PTR(request))
		return;
	while (ucp_request_check_status(request) == UCS_INPROGRESS)
		ucp_worker_progress(worker);
	ucp_request_free(request);
}

static void put(ucp_worker_h worker, ucp_ep_h ep, uint64_t remote, ucp_rkey_h key)
{
	static const ucp_request_param_t plain = {0};
	static const long value = 7;
	finish(worker, ucp_put_nbx(ep, &value, sizeof(value), remote, key, &plain));
}

static int read_all(int read_end, void *dst, size_t bytes)
{
	for (size_t got = 0; got < bytes;) {
		ssize_t n = read(read_end, (char *)dst + got, bytes - got);
		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	return 0;
}

static void make_calls(int read_end, int tell_time)
{
	static struct greeting hello;
	static const ucp_request_param_t plain = {0};
	struct side s;
	ucp_ep_h ep;
	ucp_rkey_h key;
	if (read_all(read_end, &hello, sizeof(hello)) != 0)
		exit(1);
	open_side(&s);
	ucp_ep_params_t params = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS,
				  .address = (const ucp_address_t *)hello.bytes};
	require(ucp_ep_create(s.worker, &params, &ep), "ucp_ep_create");
	require(ucp_ep_rkey_unpack(ep, hello.bytes + hello.address_bytes, &key), "ucp_ep_rkey_unpack");
	put(s.worker, ep, hello.remote, key); /* the first put connects; it belongs to the warm-up */
	finish(s.worker, ucp_worker_flush_nbx(s.worker, &plain));
	for (unsigned n = driver_calls(); n > 0; n--)
		put(s.worker, ep, hello.remote, key);
	DRIVER_TIME(tell_time, put(s.worker, ep, hello.remote, key));
	finish(s.worker, ucp_worker_flush_nbx(s.worker, &plain));
	ucp_rkey_destroy(key);
	finish(s.worker, ucp_ep_close_nbx(ep, &plain));
	ucp_worker_destroy(s.worker);
	ucp_cleanup(s.context);
}

int main(int argc, char **argv)
{
	int up[2], down[2], status = 0;
	char words[128];
	setenv("UCX_TLS", "posix", 0);
	const char *transport = getenv("UCX_TLS");
	const int is_short = driver_has(argc, argv, "short");
	snprintf(words, sizeof(words), "UCX %s %.*s, %s", ucp_get_version_string(), (int)strcspn(transport, ","),
		 transport, is_short ? "uct put_short" : "ucp_put_nbx");
	if (pipe(up) != 0 || pipe(down) != 0)
		return 1;
	pid_t target = fork();
	if (target == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(up[0]);
		close(down[1]);
		serve(up[1], down[0]);
	}
	close(up[1]);
	close(down[0]);
	driver_tell("setting", words);
	make_calls(up[0], !is_short);
	close(down[1]);
	return target < 0 || waitpid(target, &status, 0) != target || status != 0;
}
