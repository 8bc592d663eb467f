// SPDX-License-Identifier: BSD-3-Clause
//
// The C names of non-blocking collectives (shmemx.h): operations of teams/ (teams_nb.hpp) as requests. The checks are
// those of shmem_coll_names.cpp, but members do not compare their arguments: that would wait. Every wait of the library
// advances them (shmem_wait.cpp).
#include "shmem_coll_begin.hpp"
#include "core/shmem_export.hpp"
#include "core/shmem_wait.hpp"

#include <cstdlib>

#include <pgas/pgas_base.hpp>
#include <shmemx.h>
#include <teams/teams_fold.hpp>
#include <teams/teams_nb.hpp>

// The handle's type. A request that has ended stays in a list for the next one, so that a stale handle is noticed.
struct shmemx_req_impl {
	uint64_t magic;
	pgas::teams::operation *operation; // null: complete
	const char *routine;
	shmemx_req_impl *next;
};

namespace shmem {
namespace {

using request = shmemx_req_impl;

constexpr uint64_t kLive = 0x5eec0117ec7153ed;
pthread_mutex_t g_requests_mutex = PTHREAD_MUTEX_INITIALIZER;
request *g_spare_requests = nullptr;

bool has_threads()
{
	return g_shmem.thread_level == SHMEM_THREAD_MULTIPLE;
}

request *new_request(const char *routine)
{
	request *r;
	{
		const pgas::mutex_holder lock(g_requests_mutex, has_threads());
		r = g_spare_requests;
		if (r)
			g_spare_requests = r->next;
	}
	if (!r)
		r = static_cast<request *>(malloc(sizeof *r));
	if (!r)
		fail(routine, "out of memory");
	*r = {kLive, nullptr, routine, nullptr};
	return r;
}

void end_request(request *r)
{
	r->magic = 0;
	const pgas::mutex_holder lock(g_requests_mutex, has_threads());
	r->next = g_spare_requests;
	g_spare_requests = r;
}

// The request of a call, or null: there is none, and the call returns a negative value.
request *request_to_end(const char *routine, const shmemx_req_h *handle)
{
	check_running(routine);
	if (!handle)
		fail(routine, "request is NULL; it must be the address of a request");
	if (*handle == SHMEMX_REQ_INVALID)
		return nullptr;
	if ((*handle)->magic != kLive)
		fail(routine, "not a request, or one that has ended");
	return *handle;
}

bool is_over(request &r)
{
	const collective_guard guard;
	if (r.operation && teams::finished(r.operation))
		r.operation = nullptr;
	return !r.operation;
}

// Starts a collective; start() returns its operation.
template <class Start>
int post(const char *routine, shmemx_req_h *handle, Start &&start)
{
	request *r = new_request(routine);
	const collective_guard guard;
	r->operation = start();
	*handle = r;
	return 0;
}

// The checks of begin_collective(), and of what the request adds. Null: not a team; then there is no request either.
team *begin_nonblocking(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t dest_count,
			size_t source_count, size_t size, shmemx_req_h *request)
{
	if (PGAS_UNLIKELY(!request))
		fail(routine, "request is NULL; it must be the address of a request");
	team *t = begin_collective(routine, handle, dest, source, dest_count, source_count, size);
	if (!t)
		*request = SHMEMX_REQ_INVALID;
	else if (PGAS_UNLIKELY(any_device(dest, source)))
		fail(routine, "dest or source is device memory; non-blocking collectives are for host memory");
	return t;
}

template <class Op, class T>
inline constexpr teams::reduction kReduction = teams::reduction_of<Op, T>(); // outlives every operation

int start_reduce(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count,
		 const teams::reduction &op, shmemx_req_h *request)
{
	team *t = begin_nonblocking(routine, handle, dest, source, count, count, op.size, request);
	if (!t)
		return -1;
	return post(routine, request, [&] { return teams::start_symmetric_reduce(*t, op, dest, source, count); });
}

int start_broadcast(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, int root,
		    size_t size, shmemx_req_h *request)
{
	team *t = begin_nonblocking(routine, handle, dest, source, count, count, size, request);
	if (!t)
		return -1;
	check_root(routine, *t, root);
	return post(routine, request,
		    [&] { return teams::start_symmetric_broadcast(*t, dest, source, count * size, root); });
}

int start_fcollect(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, size_t size,
		   shmemx_req_h *request)
{
	const size_t all = count_of_all(routine, handle, count);
	team *t = begin_nonblocking(routine, handle, dest, source, all, count, size, request);
	if (!t)
		return -1;
	return post(routine, request, [&] { return teams::start_symmetric_fcollect(*t, dest, source, count * size); });
}

int start_collect(const char *routine, shmem_team_t handle, void *dest, const void *source, size_t count, size_t size,
		  shmemx_req_h *request)
{
	team *t = begin_nonblocking(routine, handle, dest, source, 0, count, size, request);
	if (!t)
		return -1;
	return post(routine, request,
		    [&] { return teams::start_symmetric_collect(*t, routine, dest, source, count * size); });
}

int start_alltoalls(const char *routine, shmem_team_t handle, void *dest, const void *source, ptrdiff_t dst,
		    ptrdiff_t sst, size_t count, size_t size, shmemx_req_h *request)
{
	if (dst < 1 || sst < 1)
		fail(routine, "the strides are %td and %td; both must be at least 1", dst, sst);
	const size_t all = count_of_all(routine, handle, count);
	team *t = begin_nonblocking(routine, handle, dest, source, measure_span(all, dst), measure_span(all, sst), size,
				    request);
	if (!t)
		return -1;
	return post(routine, request,
		    [&] { return teams::start_symmetric_alltoalls(*t, dest, source, dst, sst, count, size); });
}

int start_sync(const char *routine, shmem_team_t handle, shmemx_req_h *request)
{
	team *t = begin_nonblocking(routine, handle, nullptr, nullptr, 0, 0, 1, request);
	if (!t)
		return -1;
	return post(routine, request, [&] { return teams::start_barrier(*t); });
}

} // namespace
} // namespace shmem

using namespace shmem;

// The routine is the one that the request is of, for messages and hang reports.
#define REDUCE(OP, T) start_reduce(name, team, dest, source, nreduce, kReduction<teams::OP, T>, request)
#define BODY_and_reduce_nb(T) REDUCE(op_and, T)
#define BODY_or_reduce_nb(T) REDUCE(op_or, T)
#define BODY_xor_reduce_nb(T) REDUCE(op_xor, T)
#define BODY_max_reduce_nb(T) REDUCE(op_max, T)
#define BODY_min_reduce_nb(T) REDUCE(op_min, T)
#define BODY_sum_reduce_nb(T) REDUCE(op_sum, T)
#define BODY_prod_reduce_nb(T) REDUCE(op_prod, T)
#define BODY_alltoall_nb(T) start_alltoalls(name, team, dest, source, 1, 1, nelems, sizeof(T), request)
#define BODY_alltoalls_nb(T) start_alltoalls(name, team, dest, source, dst, sst, nelems, sizeof(T), request)
#define BODY_broadcast_nb(T) start_broadcast(name, team, dest, source, nelems, PE_root, sizeof(T), request)
#define BODY_collect_nb(T) start_collect(name, team, dest, source, nelems, sizeof(T), request)
#define BODY_fcollect_nb(T) start_fcollect(name, team, dest, source, nelems, sizeof(T), request)
#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(int, shmemx_##N##_##CALL, P)                                                                        \
	{                                                                                                              \
		constexpr const char *name = "shmemx_" #N "_" #CALL;                                                   \
		return BODY_##CALL(T);                                                                                 \
	}
SHMEMX_EACH_NB(DEFINE)
#undef DEFINE

SHMEM_NAME(int, shmemx_alltoallmem_nb,
	   (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_h *request))
{
	return start_alltoalls("shmemx_alltoallmem_nb", team, dest, source, 1, 1, nelems, 1, request);
}
SHMEM_NAME(int, shmemx_alltoallsmem_nb,
	   (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems,
	    shmemx_req_h *request))
{
	return start_alltoalls("shmemx_alltoallsmem_nb", team, dest, source, dst, sst, nelems, 1, request);
}
SHMEM_NAME(int, shmemx_broadcastmem_nb,
	   (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, shmemx_req_h *request))
{
	return start_broadcast("shmemx_broadcastmem_nb", team, dest, source, nelems, PE_root, 1, request);
}
SHMEM_NAME(int, shmemx_collectmem_nb,
	   (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_h *request))
{
	return start_collect("shmemx_collectmem_nb", team, dest, source, nelems, 1, request);
}
SHMEM_NAME(int, shmemx_fcollectmem_nb,
	   (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_h *request))
{
	return start_fcollect("shmemx_fcollectmem_nb", team, dest, source, nelems, 1, request);
}
SHMEM_NAME(int, shmemx_team_sync_nb, (shmem_team_t team, shmemx_req_h *request))
{
	return start_sync("shmemx_team_sync_nb", team, request);
}
SHMEM_NAME(int, shmemx_sync_all_nb, (shmemx_req_h * request))
{
	return start_sync("shmemx_sync_all_nb", SHMEM_TEAM_WORLD, request);
}
SHMEM_NAME(int, shmemx_barrier_all_nb, (shmemx_req_h * request))
{
	check_running("shmemx_barrier_all_nb");
	pshmem_quiet(); // a barrier completes the operations that were issued before it
	return start_sync("shmemx_barrier_all_nb", SHMEM_TEAM_WORLD, request);
}

SHMEM_NAME(int, shmemx_req_test, (shmemx_req_h * handle))
{
	request *r = request_to_end("shmemx_req_test", handle);
	if (!r)
		return -1;
	if (!is_over(*r)) {
		act_for_peers();
		return 1;
	}
	end_request(r);
	*handle = SHMEMX_REQ_INVALID;
	return 0;
}
SHMEM_NAME(int, shmemx_req_wait, (shmemx_req_h * handle))
{
	request *r = request_to_end("shmemx_req_wait", handle);
	if (!r)
		return -1;
	unsigned polls = 0;
	while (!is_over(*r))
		wait_pause(polls);
	end_request(r);
	*handle = SHMEMX_REQ_INVALID;
	return 0;
}
