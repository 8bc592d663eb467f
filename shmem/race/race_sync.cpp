// SPDX-License-Identifier: BSD-3-Clause
//
// Words by which PEs order one another: those of atomics and signals, and locks. The table of a PE has for each of them
// the last release of every PE. A word that finds no free entry takes over another word's; the releases of that one are
// then assumed in every query, for any word.
#include "race_state.hpp"

#include <algorithm>

namespace pgas_tools::race {

// The stamps of a word; null when it has none.
uint64_t *shadow::stamps_of(uint64_t key, bool make)
{
	const auto count = static_cast<size_t>(c.n_pes);
	const uint64_t first = (key + 1) * 0x9e3779b97f4a7c15ull >> 20;
	uint64_t *empty = nullptr;
	for (uint32_t i = 0; i < kWordTries; i++) {
		auto *entry =
			at<uint64_t>(c.place.words + (first + i) % c.place.words_count * c.place.word_bytes, 1 + count);
		if (entry[0] == key + 1)
			return entry + 1;
		if (!entry[0] && !empty)
			empty = entry;
	}
	if (!make)
		return nullptr;
	if (!empty) {
		empty = at<uint64_t>(c.place.words +
					     (first + key % kWordTries) % c.place.words_count * c.place.word_bytes,
				     1 + count);
		for (size_t pe = 0; pe < count; pe++)
			if (empty[1 + pe])
				forgotten()[pe] = std::max(forgotten()[pe], empty[1 + pe] | kAnyLane);
		at<room_head>(c.place.head)->words_forgotten++;
		std::fill(empty, empty + 1 + count, 0);
	}
	empty[0] = key + 1;
	return empty + 1;
}

void shadow::release(uint64_t key, uint64_t stamp)
{
	uint64_t &mine = stamps_of(key, true)[c.me];
	const bool same_lane = !mine || mine % 16 == stamp % 16;
	mine = same_lane ? stamp : stamp | kAnyLane;
}

void shadow::releases(uint64_t key, std::vector<std::pair<int, uint64_t>> &found)
{
	if (const uint64_t *stamps = stamps_of(key, false))
		for (int pe = 0; pe < c.n_pes; pe++)
			if (stamps[pe])
				found.emplace_back(pe, stamps[pe]);
	const uint64_t *gone = forgotten();
	for (int pe = 0; pe < c.n_pes; pe++)
		if (gone[pe])
			found.emplace_back(pe, gone[pe]);
}

// The call has read what was written there, so it is ordered after the writers.
void learn_of_word(int target, uint64_t word, size_t bytes, bool plain_too)
{
	std::vector<std::pair<int, uint64_t>> found;
	{
		shadow s(target);
		s.releases(word & ~uint64_t{3}, found);
		if (bytes > 4)
			s.releases((word & ~uint64_t{3}) + 4, found);
		if (plain_too)
			s.writers(word, bytes, found);
	}
	std::sort(found.begin(), found.end());
	found.erase(std::unique(found.begin(), found.end()), found.end());
	for (const auto &[pe, stamp] : found)
		learn_by_word(pe, stamp, target, word);
}

} // namespace pgas_tools::race
