// SPDX-License-Identifier: BSD-3-Clause
//
// How a node ends the job when it cannot go on. Every file of the library calls this one, which calls gasnet_debug.cpp
// for backtraces and freezing.
#include "gasnet_core.hpp"

#include <cstdarg>
#include <cstdio>

#include "pgas_boot.h"

namespace gasnet {

void fail(const char *format, ...) noexcept
{
	char text[512];
	int n = snprintf(text, sizeof text,
			 "node %d: ", gasneti_front.nodes ? static_cast<int>(gasneti_front.mynode) : -1);
	va_list args;
	va_start(args, format);
	vsnprintf(text + n, sizeof text - static_cast<size_t>(n), format, args);
	va_end(args);
	fprintf(stderr, "%s\n", text);
	fflush(nullptr);
	debug_fatal();
	pgas_boot_abort(1, nullptr);
}

void require(const char *what, int rc) noexcept
{
	if (rc != 0)
		fail("gasnet_init: %s: %s", what, pgas_strerror(rc < 0 ? -rc : rc));
}

void check_attached(const char *call) noexcept
{
	if (!g_gasnet.attached)
		fail("%s: called before gasnet_attach", call);
}

void lost(const char *call, gasnet_node_t node, int err) noexcept
{
	const bool gone = err == -FI_EHOSTUNREACH || err == -FI_ECONNRESET || err == -FI_ENOTCONN ||
			  err == -FI_ETIMEDOUT;
	if (gone && g_gasnet.stay_if_leaving)
		g_gasnet.stay_if_leaving();
	char why[200];
	const auto knows_reason = [&](fid_ep *ep) { return g_gasnet.net.ops->reason(ep, node, why, sizeof why) != 0; };
	if (!gone || !(knows_reason(g_gasnet.am) || knows_reason(g_gasnet.rma)))
		snprintf(why, sizeof why, "%s", pgas_strerror(-err));
	if (gone && node < g_gasnet.host_names.size())
		fail("%s: node %u on %s is lost: %s", call, node, g_gasnet.host_names[node].text, why);
	fail("%s: to node %u: %s", call, node, why);
}

} // namespace gasnet
