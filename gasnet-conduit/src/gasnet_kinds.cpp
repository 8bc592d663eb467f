// SPDX-License-Identifier: BSD-3-Clause
//
// Memory kinds, and the endpoints and segments that they need: there are none but the host's memory and the first
// endpoint. Each call says so and fails.
#include "gasnet_objects.hpp"

#include <gasnet_mk.h>

#include <cstdio>

using namespace gasnet;

static int not_here(const char *call, const char *what)
{
	if (gex_System_GetVerboseErrors())
		fprintf(stderr, "node %u: %s: %s\n", gasneti_front.mynode, call, what);
	return GASNET_ERR_RESOURCE;
}

extern "C" int gex_MK_Create(gex_MK_t *, gex_Client_t, const gex_MK_Create_args_t *, gex_Flags_t) noexcept
{
	return not_here("gex_MK_Create", "memory of devices is not part of this conduit; GEX_MK_HOST is there");
}

extern "C" void gex_MK_Destroy(gex_MK_t, gex_Flags_t) noexcept
{
	fail("gex_MK_Destroy: no such kind was created");
}

extern "C" int gex_EP_Create(gex_EP_t *, gex_Client_t, gex_EP_Capabilities_t, gex_Flags_t) noexcept
{
	return not_here("gex_EP_Create", "a process has the endpoint of gex_Client_Init and no other (GASNET_MAXEPS)");
}

extern "C" int gex_Segment_Create(gex_Segment_t *, gex_Client_t, gex_Addr_t, uintptr_t, gex_MK_t, gex_Flags_t) noexcept
{
	return not_here("gex_Segment_Create", "segments come from gex_Segment_Attach");
}

extern "C" void gex_Segment_Destroy(gex_Segment_t, gex_Flags_t) noexcept
{
	fail("gex_Segment_Destroy: the segment of gex_Segment_Attach stays");
}

extern "C" void gex_EP_BindSegment(gex_EP_t, gex_Segment_t, gex_Flags_t) noexcept
{
	fail("gex_EP_BindSegment: the endpoint's segment is that of gex_Segment_Attach");
}
