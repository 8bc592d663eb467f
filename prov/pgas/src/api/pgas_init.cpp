// SPDX-License-Identifier: BSD-3-Clause
//
// The entry points for libfabric's module and for programs that are linked with us. They set the calls of the provider
// object. While libfabric loads us we may call only its fi_param_define, so the parameters are read at the first
// fi_getinfo or fi_fabric (pgas_params.cpp).
#include "engine/pgas_fabric.hpp"
#include "pgas_info.hpp"
#include "support/pgas_libfabric.hpp"

#include <pgas/pgas_open.h>

namespace {

void define_parameters(const pgas::libfabric_calls &libfabric)
{
#define PGAS_PARAM(name_arg, field_arg, default_arg, min_arg, max_arg, text_arg)                                       \
	libfabric.param_define(&pgas::g_provider, name_arg, FI_PARAM_SIZE_T, text_arg);
#include "support/pgas_params.def"
#undef PGAS_PARAM
	libfabric.param_define(&pgas::g_provider, "net", FI_PARAM_STRING,
			       "which network provider of libfabric carries the link to other hosts: auto, off, or "
			       "PROVIDER[:INTERFACE], as tcp, net:eth1 (default auto)");
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) struct fi_provider *pgas_provider(void) noexcept
{
	static const bool ready = [] {
		pgas::g_provider.getinfo = pgas::info_get;
		pgas::g_provider.fabric = pgas::fabric_open;
		pgas::g_provider.cleanup = pgas::libfabric_leave;
		return true;
	}();
	(void)ready;
	return &pgas::g_provider;
}

struct fi_provider *pgas_provider_loaded(const pgas::libfabric_calls *calls) noexcept
{
	fi_provider *provider = pgas_provider();
	if (calls->size >= sizeof(*calls)) { // otherwise an older module: our own calls serve as well
		pgas::libfabric_take(*calls);
		define_parameters(*calls);
	}
	return provider;
}

} // extern "C"
