// SPDX-License-Identifier: BSD-3-Clause
//
// The module that libfabric loads: exports fi_prov_ini and nothing else. All code and state live in libpgas.so, so that
// a program linked with it for FABRIC_DIRECT shares them. The module is linked with libfabric, libpgas.so is not: the
// module passes it libfabric's calls.
#include "support/pgas_libfabric.hpp"

extern "C" __attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
	static const pgas::libfabric_calls calls = {
		.size = sizeof(pgas::libfabric_calls),
		.dupinfo = fi_dupinfo,
		.freeinfo = fi_freeinfo,
		.strerror = fi_strerror,
		.log = fi_log,
		.log_enabled = fi_log_enabled,
		.param_define = fi_param_define,
		.param_get = fi_param_get,
		.version = fi_version,
	};
	return pgas_provider_loaded(&calls);
}
