// SPDX-License-Identifier: BSD-3-Clause
#include "teams_channel.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace pgas::teams {
namespace {

bool is_in_order_of_hosts(const team &t)
{
	return std::is_sorted(t.host, t.host + t.size);
}

void line_up(team &t, channels &c)
{
	const auto n = static_cast<size_t>(t.size);
	c.orders = static_cast<int *>(malloc(2 * n * sizeof(int)));
	if (!c.orders)
		fail("team", "out of memory");
	int *const member_at = c.orders, *const place_of = c.orders + n;
	for (int j = 0; j < t.size; j++)
		member_at[j] = j;
	std::stable_sort(member_at, member_at + n, [&](int a, int b) { return t.host[a] < t.host[b]; });
	for (int place = 0; place < t.size; place++)
		place_of[member_at[place]] = place;
	c.lanes[0] = {member_at, place_of};
}

} // namespace

uint32_t block_lines(int n)
{
	const size_t landings = g_job.has_landings ? static_cast<size_t>(n) : 0;
	return lines_of_collectives(n) + static_cast<uint32_t>(channels_of(n) * (kSlots + 1) + landings);
}

void channels_open(team &t)
{
	const size_t count = channels_of(t.size);
	auto *c = new (std::nothrow) channels;
	uint64_t *numbers = c ? static_cast<uint64_t *>(malloc(((2 + kSlots) * count + 1) * sizeof(uint64_t)))
			      : nullptr;
	if (!numbers)
		fail("team", "out of memory");
	c->levels = levels_of(t.size);
	c->slots = count * kSlots;
	c->sent = numbers;
	c->received = numbers + count;
	c->pushes = c->pushed = t.first;
	c->out = numbers + 2 * count;
	std::fill(numbers, numbers + (2 + kSlots) * count, t.first);
	if (t.hosts > 1 && !is_in_order_of_hosts(t))
		line_up(t, *c);
	t.channel = c;
	// Bytes of an earlier team may be where these words are. No member writes them before we have sent a message.
	memset(taken_words(t, 0), 0, count * kLine);
}

void channels_close(team &t)
{
	if (!t.channel)
		return;
	free(t.channel->sent);
	free(t.channel->orders);
	delete t.channel;
	t.channel = nullptr;
}

uint64_t channels_highest(const team &t)
{
	if (!t.channel)
		return 0;
	const size_t count = 2 * channels_of(t.size);
	const uint64_t *numbers = t.channel->sent; // received follows sent in the same array
	return std::max(t.channel->pushes, count ? *std::max_element(numbers, numbers + count) : 0);
}

} // namespace pgas::teams
