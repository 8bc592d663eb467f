// SPDX-License-Identifier: BSD-3-Clause
//
// GASNet-EX's client and its first segment: creating them.
#include "core/gasnet_objects.hpp"
#include "gasnet_job.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

namespace gasnet {
namespace {

// [A-Z][A-Z0-9_]+ in either case, since programs use both, and short enough to print
bool name_ok(const char *name)
{
	const auto letter = [](char c) { return isalpha(static_cast<unsigned char>(c)) != 0; };
	const size_t len = name ? strlen(name) : 0;
	if (len < 2 || len >= sizeof g_client.name || !letter(name[0]))
		return false;
	return std::all_of(name + 1, name + len,
			   [&](char c) { return letter(c) || isdigit(static_cast<unsigned char>(c)) || c == '_'; });
}

int client_init(const char *name, gex_Flags_t flags, const char *config)
{
	if (!name_ok(name)) {
		fprintf(stderr, "gex_Client_Init: \"%s\" is not a client's name: letters, digits and _\n",
			name ? name : "(null)");
		return GASNET_ERR_BAD_ARG;
	}
	if (flags & ~(GEX_FLAG_USES_GASNET1 | GEX_FLAG_DEFER_THREADS))
		return GASNET_ERR_BAD_ARG;
	if (const int err = job_start(config))
		return err;
	strcpy(g_client.name, name);
	g_client.flags = flags;
	return job_open_messages();
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" int gasneti_client_init_mode(gex_Client_t *client, gex_EP_t *ep, gex_TM_t *tm, const char *name,
					gex_Flags_t flags, const char *config) noexcept
{
	if (!client || !ep || !tm)
		return GASNET_ERR_BAD_ARG;
	if (const int err = client_init(name, flags, config))
		return err;
	*client = &g_client;
	*ep = &g_endpoint;
	*tm = &g_world->face;
	return GASNET_OK;
}

extern "C" void gasnet_QueryGexObjects(gex_Client_t *client, gex_EP_t *endpoint, gex_TM_t *tm,
				       gex_Segment_t *segment) noexcept
{
	if (client)
		*client = &g_client;
	if (endpoint)
		*endpoint = &g_endpoint;
	if (tm)
		*tm = g_world ? &g_world->face : GEX_TM_INVALID;
	if (segment)
		*segment = g_endpoint.segment;
}

// No node may stop polling before all have arrived: the first barrier handles what they send until then.
extern "C" int gex_Segment_Attach(gex_Segment_t *segment_p, gex_TM_t tm, uintptr_t size) noexcept
{
	if (!segment_p || !is_world(tm) || !size || size % GASNET_PAGESIZE || size > memory_for_attach())
		return GASNET_ERR_BAD_ARG;
	if (g_endpoint.segment)
		return GASNET_ERR_RESOURCE;
	gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED);
	if (const int err = job_attach_segment(size))
		return err;
	objects_segment_attached();
	*segment_p = &g_segment;
	gasnet_barrier(0, GASNET_BARRIERFLAG_UNNAMED);
	return GASNET_OK;
}
