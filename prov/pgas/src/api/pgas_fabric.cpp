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

fi_ops g_fid_ops = {
	.size = sizeof(fi_ops),
	.close = fabric_close,
	PGAS_NOSYS(fi_ops, bind),
	PGAS_NOSYS(fi_ops, control),
	PGAS_NOSYS(fi_ops, ops_open),
	PGAS_NOSYS(fi_ops, tostr),
	PGAS_NOSYS(fi_ops, ops_set),
};

fi_ops_fabric g_fabric_ops = {
	.size = sizeof(fi_ops_fabric),
	.domain = domain_open,
	PGAS_NOSYS(fi_ops_fabric, passive_ep),
	.eq_open = eq_open,
	PGAS_NOSYS(fi_ops_fabric, wait_open),
	.trywait = fabric_trywait,
	.domain2 = domain2,
};

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
