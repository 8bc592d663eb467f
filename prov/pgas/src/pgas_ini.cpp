// SPDX-License-Identifier: BSD-3-Clause
//
// The module that libfabric loads: exports fi_prov_ini and nothing else. All code and state live in libpgas.so, so that
// a program linked with it for FABRIC_DIRECT shares them.
#include <pgas/pgas_open.h>

extern "C" __attribute__((visibility("default"))) struct fi_provider *fi_prov_ini(void)
{
	return pgas_provider();
}
