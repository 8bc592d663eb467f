// SPDX-License-Identifier: BSD-3-Clause
//
// The identity of this host: determined in base/, stored here.
#include "pgas_host.hpp"

#include <atomic>

#include "pgas/pgas_hostid.h"
#include "pgas_util.hpp"

namespace pgas {
namespace {

std::atomic<uint64_t> g_identity{0}; // 0: not determined yet, or unknown

} // namespace

int host_identity_find()
{
	uint64_t id = 0;
	char why[320];
	const int err = pgas_host_id(&id, why, sizeof why);
	if (err)
		PGAS_WARN(FI_LOG_DOMAIN, "%s\n", why);
	g_identity.store(id, std::memory_order_relaxed);
	return err ? -FI_EOPNOTSUPP : 0;
}

uint64_t host_identity()
{
	const uint64_t known = g_identity.load(std::memory_order_relaxed);
	if (known == 0)
		host_identity_find();
	return known ? known : g_identity.load(std::memory_order_relaxed);
}

} // namespace pgas
