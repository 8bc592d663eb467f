// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric object: opens domains and event queues. Wait sets and passive endpoints are not supported (fi_pgas(7)).
#include "engine/pgas_fabric.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"

#include <cstring>

namespace pgas {

namespace {

int fabric_close(fid *f) noexcept
{
	auto *fab = reinterpret_cast<fabric *>(f);
	if (fab->users.load())
		return -FI_EBUSY;
	delete fab;
	return 0;
}

int domain2(fid_fabric *fab, fi_info *info, fid_domain **out, uint64_t flags, void *context) noexcept
{
	if (const int err = flags_check<flags_of::domain2>(flags))
		return err;
	return domain_open(fab, info, out, context);
}

constinit fi_ops g_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = fabric_close;
	refuse_calls(ops.bind, ops.control, ops.ops_open, ops.tostr, ops.ops_set);
});

constinit fi_ops_fabric g_fabric_ops = make_ops<fi_ops_fabric>([](fi_ops_fabric &ops) {
	ops.domain = domain_open;
	ops.eq_open = eq_open;
	ops.trywait = fabric_trywait;
	ops.domain2 = domain2;
	refuse_calls(ops.passive_ep, ops.wait_open);
});

} // namespace

int fabric_open(fi_fabric_attr *attr, fid_fabric **out, void *context) noexcept
{
	return guard([&] {
		if (attr->name && strcmp(attr->name, "pgas") != 0)
			return -FI_EINVAL;
		auto *fab = new fabric;
		fab->fid.fid = {FI_CLASS_FABRIC, context, &g_fid_ops};
		fab->fid.ops = &g_fabric_ops;
		fab->fid.api_version = attr->api_version;
		*out = &fab->fid;
		return 0;
	});
}

} // namespace pgas
