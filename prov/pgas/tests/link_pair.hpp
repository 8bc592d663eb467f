// SPDX-License-Identifier: BSD-3-Clause
//
// Two links over an entirely fake port (fake_port.hpp), which have already communicated.
#pragma once

#include "fake_port.hpp"
#include "link_model.hpp"

#include <cstring>
#include <string>

namespace link_model {

// A network, with or without lines, that delivers everything at once.
struct world : fake::network {
	explicit world(bool with_lines)
	{
		lines = with_lines;
		refuse_every = delay_most = 0;
	}
};

struct pair_of_links {
	fake::network net;
	side a, b;

	explicit pair_of_links(const link_settings &set = settings(), const fake::network &over = {})
		: net(over), a(net.open(1), 1, set), b(net.open(2), 2, set)
	{
		run_until({&a, &b}, [&] { return a.told[2] || (a.post(b, 40), false); });
		run_until({&a, &b}, [&] { return a.told[2] == a.appended[2]; });
	}
	// b's channel to a.
	channel *of_b()
	{
		for (auto &c : b.l->channels)
			if (c && c->open())
				return c.get();
		return nullptr;
	}
	bool goes_on()
	{
		const uint64_t before = a.told[2];
		run_until({&a, &b}, [&] {
			a.post(b, 40);
			return a.told[2] > before || a.channels[2]->state == channel_state::over;
		});
		return a.told[2] > before;
	}
};

inline packet_head head_in(const std::string &bytes)
{
	packet_head h;
	memcpy(&h, bytes.data(), sizeof h);
	return h;
}

} // namespace link_model
