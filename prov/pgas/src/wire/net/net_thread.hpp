// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that serves peers while the application computes (net_thread.cpp).
#pragma once

#include "net.hpp"

namespace pgas {

int net_thread_start(net_domain &d);
void net_thread_stop(net_domain &d);
void net_asleep(wire_domain &d);
void net_polled(net_domain &d, bool moved); // after the application polled; lock held
void net_unwatch_slow(net_domain &d);
inline void net_unwatch(net_domain &d) // before a request to a peer
{
	if (d.watched)
		net_unwatch_slow(d);
}

} // namespace pgas
