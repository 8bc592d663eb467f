// SPDX-License-Identifier: BSD-3-Clause
//
// Introductions: an endpoint sends its name once on each channel, and the receiver gives the sender a number among its
// sources. Messages and requests then name the sender by its endpoint number alone.
#include "net_intro.hpp"
#include "net_address.hpp"

#include <cstring>

namespace pgas {

bool introduce(net_ep &ep, channel &c)
{
	if (!c.open())
		return false;
	auto &known = side_of(c).introduced;
	if (ep.number < known.size() && known[ep.number])
		return true;
	const size_t len = strlen(ep.ep->name.text);
	char *pos = frame_begin(c, len);
	if (!pos)
		return false;
	memcpy(pos, ep.ep->name.text, len);
	frame_end(c, frame_kind::intro, 0, ep.number, 0, len);
	if (ep.number >= known.size())
		known.resize(ep.number + 1u);
	known[ep.number] = true;
	return true;
}

uint32_t source_of(const channel &c, uint16_t number)
{
	const auto it = side_of(c).sources.find(number);
	return it == side_of(c).sources.end() ? kNoSource : it->second;
}

bool take_intro(net_domain &d, channel &c, const frame_head &h, const char *bytes, size_t len)
{
	net_side &side = side_of(c);
	if (!len || len >= kNameBytes)
		return false;
	char text[kNameBytes] = {};
	memcpy(text, bytes, len);
	ep_address a;
	if (!address_parse(text, a) || a.named || a.any || !net_name_is_of(a, c, h.src))
		return false;
	if (const uint32_t old = source_of(c, h.src); old != kNoSource)
		source_free(d, old); // the number belongs to another endpoint now
	uint32_t index = static_cast<uint32_t>(d.sources.size());
	if (!d.source_holes.empty()) {
		index = d.source_holes.back();
		d.source_holes.pop_back();
	} else if (index == kSourcesMost) {
		return false;
	} else {
		d.sources.emplace_back();
	}
	d.sources[index] = {d.next_serial++, address_format(a)};
	side.sources[h.src] = index;
	if (h.src < side.left.size())
		side.left[h.src] = false;
	return true;
}

void source_free(net_domain &d, uint32_t index)
{
	d.source_holes.push_back(index); // the name stays: messages may outlive their sender
}

} // namespace pgas
