// SPDX-License-Identifier: BSD-3-Clause
//
// The key table in shared memory: written by its owner, read by peers at any time.
//
// An entry is registered or closed by one store of `live` (odd: registered), so a reader copies the entry and trusts
// the copy if live was odd and did not change meanwhile. Keys below kDirectKeys are indices; the others probe linearly
// and stop at an entry that was never used (live == 0).
#include "shm.hpp"

namespace pgas {
namespace {

uint32_t first_probe(uint64_t key)
{
	return static_cast<uint32_t>((key * 0x9E3779B97F4A7C15u) >> 47) & (kHashedKeys - 1);
}

} // namespace

bool key_read(const key_entry *table, uint64_t key, key_entry &copy, const key_entry **where)
{
	const auto try_entry = [&](const key_entry *e, uint64_t live) {
		copy = *e;
		pgas_fence_acquire();
		*where = e;
		// pairs with store_release of live in key_table::publish() and key_table::close()
		return copy.key == key && pgas_load_relaxed(&e->live) == live;
	};
	if (key < kDirectKeys) {
		const key_entry *e = &table[key];
		const uint64_t live = pgas_load_acquire(&e->live);
		return (live & 1) && try_entry(e, live);
	}
	for (uint32_t i = 0, pos = first_probe(key); i < kHashedKeys; i++, pos = (pos + 1) & (kHashedKeys - 1)) {
		const key_entry *e = &table[kDirectKeys + pos];
		const uint64_t live = pgas_load_acquire(&e->live);
		if (live == 0)
			return false;
		if ((live & 1) && e->key == key && try_entry(e, live))
			return true;
	}
	return false;
}

int key_table::open(const mr &m)
{
	const uint64_t key = m.key;
	uint32_t slot = static_cast<uint32_t>(key);
	if (key >= kDirectKeys) {
		uint32_t pos = first_probe(key), tries = 0;
		while (entries[kDirectKeys + pos].live & 1) {
			pos = (pos + 1) & (kHashedKeys - 1);
			if (++tries == kHashedKeys / 4 * 3) {
				PGAS_WARN(FI_LOG_MR, "key table is full (%zu keys)\n", index.size());
				return -FI_ENOSPC;
			}
		}
		slot = kDirectKeys + pos;
	}
	const auto count = static_cast<uint32_t>(m.parts.size());
	uint32_t first = kParts;
	for (auto it = free_parts.begin(); it != free_parts.end(); ++it) {
		if (it->second == count) {
			first = it->first;
			free_parts.erase(it);
			break;
		}
	}
	if (first == kParts) {
		if (parts_used + count > kParts) {
			PGAS_WARN(FI_LOG_MR, "part table is full\n");
			return -FI_ENOSPC;
		}
		first = parts_used;
		parts_used += count;
	}
	// a reader that sees one of the stores below sees the even live of close(), and starts again
	pgas_fence_stores();
	for (uint32_t i = 0; i < count; i++) {
		const mem_part &p = m.parts[i];
		parts[first + i] = {p.off, p.len, p.va, p.file_off, p.ino, p.dev, p.fd, 0, 0};
	}
	key_entry &e = entries[slot];
	e.key = key;
	e.base = m.base;
	e.len = m.len;
	e.access = static_cast<uint32_t>(m.access);
	e.flags = m.flags;
	e.part_first = first;
	e.part_count = count;
	e.wr_cntr = e.rd_cntr = kNoCounter;
	index[key] = slot;
	return 0;
}

// The other data of the entry changes under the reader's live check, so it is complete before it is live. An entry that
// is live already is closed first: peers must translate again to see the change.
void key_table::publish(uint64_t key, uint16_t wr_cntr, uint16_t rd_cntr)
{
	key_entry *e = find(key);
	if (!e)
		return;
	if (e->live & 1) {
		pgas_store_release(&e->live, e->live + 1); // pairs with load_acquire in key_read()
		pgas_fence_stores();                       // as in open()
	}
	e->wr_cntr = wr_cntr;
	e->rd_cntr = rd_cntr;
	// pairs with load_acquire in key_read() and pgas_hot_window()
	pgas_store_release(&e->live, e->live + 1);
}

void key_table::close(uint64_t key)
{
	const auto it = index.find(key);
	if (it == index.end())
		return;
	key_entry &e = entries[it->second];
	if (e.live & 1)
		pgas_store_release(&e.live, e.live + 1);
	free_parts.emplace_back(e.part_first, e.part_count);
	index.erase(it);
}

key_entry *key_table::find(uint64_t key)
{
	const auto it = index.find(key);
	return it == index.end() ? nullptr : &entries[it->second];
}

} // namespace pgas
