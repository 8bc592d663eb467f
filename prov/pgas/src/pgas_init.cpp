// SPDX-License-Identifier: BSD-3-Clause
//
// The entry: gives the provider object its calls. libfabric may not be called while it loads us beyond fi_param_define,
// so the parameters are read at the first fi_getinfo or fi_fabric (pgas_params.cpp).
#include "pgas_fabric.hpp"
#include "pgas_info.hpp"

#include <pgas/pgas_open.h>

extern "C" __attribute__((visibility("default"))) struct fi_provider *pgas_provider(void) noexcept
{
	static const bool defined = [] {
		pgas::g_provider.getinfo = pgas::info_get;
		pgas::g_provider.fabric = pgas::fabric_open;
#define PGAS_PARAM(name_arg, field_arg, default_arg, min_arg, max_arg, text_arg)                                       \
	fi_param_define(&pgas::g_provider, name_arg, FI_PARAM_SIZE_T, text_arg);
#include "pgas_params.def"
#undef PGAS_PARAM
		fi_param_define(&pgas::g_provider, "net", FI_PARAM_STRING,
				"which network provider of libfabric carries the link to other hosts: auto, off, or "
				"PROVIDER[:INTERFACE], as tcp, net:eth1 (default auto)");
		return true;
	}();
	(void)defined;
	return &pgas::g_provider;
}
