// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of the port over an RDMA adapter. Registered memory is locked, unless the adapter supports on-demand paging;
// then our own buffers need no registration at all, and regions are registered as a whole.
#include "port_verbs.hpp"

#include <rdma/fi_errno.h>

#include <sys/resource.h>

#include <cstring>

namespace pgas {
namespace {

void warn_of_limit(verbs_port &p, size_t len, int err)
{
	if (std::exchange(p.complained_of_memory, true))
		return;
	rlimit most{};
	getrlimit(RLIMIT_MEMLOCK, &most);
	if ((err == ENOMEM || err == EPERM || err == EAGAIN) && most.rlim_cur != RLIM_INFINITY)
		PGAS_WARN(FI_LOG_MR,
			  "%s: cannot register %zu bytes: this process may lock %llu KiB of memory; raise that limit "
			  "(ulimit -l unlimited; memlock in limits.conf, LimitMEMLOCK of the batch system's service)\n",
			  p.name.c_str(), len, static_cast<unsigned long long>(most.rlim_cur >> 10));
	else
		PGAS_WARN(FI_LOG_MR, "%s: cannot register %zu bytes: %s\n", p.name.c_str(), len, strerror(err));
}

bool pages_on_demand(const verbs_port &p, bool *implicit)
{
	verbs_context *v = verbs_get_ctx_op(p.device, query_device_ex);
	ibv_device_attr_ex a{};
	if (!v || v->query_device_ex(p.device, nullptr, &a, sizeof a) != 0)
		return false;
	constexpr uint32_t kNeeded = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
				     IBV_ODP_SUPPORT_READ;
	*implicit = a.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT;
	return (a.odp_caps.general_caps & IBV_ODP_SUPPORT) &&
	       (a.odp_caps.per_transport_caps.rc_odp_caps & kNeeded) == kNeeded;
}

} // namespace

ibv_mr *verbs_register(verbs_port &p, void *base, size_t len, int access)
{
	// in brackets: verbs.h has a macro of that name
	ibv_mr *mr = (p.api->ibv_reg_mr)(p.pd, base, len, access);
	if (!mr)
		warn_of_limit(p, len, errno);
	return mr;
}

void verbs_memory_open(verbs_port &p)
{
	bool implicit = false;
	p.on_demand = pages_on_demand(p, &implicit);
	if (p.on_demand && implicit) // if that fails, buffers are registered
		p.everything =
			(p.api->ibv_reg_mr)(p.pd, nullptr, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
}

int verbs_expose(port &base_port, void *base, size_t len, port_rights rights, port_memory *out)
{
	verbs_port &p = verbs_of(base_port);
	*out = {};
	if (!rights && p.everything)
		return 0;
	const int access = IBV_ACCESS_LOCAL_WRITE | (rights & kPortRead ? IBV_ACCESS_REMOTE_READ : 0) |
			   (rights & kPortWrite ? IBV_ACCESS_REMOTE_WRITE : 0) |
			   (rights && p.on_demand ? IBV_ACCESS_ON_DEMAND : 0);
	ibv_mr *mr = verbs_register(p, base, len, access);
	if (!mr)
		return -FI_ENOMEM;
	*out = {reinterpret_cast<uint64_t>(base), mr->rkey, mr};
	return 0;
}

void verbs_conceal(port &base, port_memory &m)
{
	if (m.handle)
		verbs_of(base).api->ibv_dereg_mr(static_cast<ibv_mr *>(m.handle));
	m = {};
}

} // namespace pgas
