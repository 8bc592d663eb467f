// SPDX-License-Identifier: BSD-3-Clause
//
// Applies a peer's operation here: finds the memory that it names, runs atomics, counts. All input from the peer is
// untrusted until it is checked against our own registrations.
#include "pgas_target.hpp"
#include "pgas_ep.hpp"
#include "hmem/pgas_hmem.hpp"
#include "support/pgas_iov.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace pgas {
namespace {

// Converts an address from a peer to an offset in a region.
bool offset_of(const mr &m, uint64_t addr, size_t bytes, uint64_t &off)
{
	off = addr;
	if (!(m.flags & kKeyVirtual))
		return true;
	for (const mem_part &p : m.parts) {
		if (addr < p.va || addr - p.va >= p.len + !bytes)
			continue;
		off = p.off + (addr - p.va);
		return true;
	}
	return false;
}

// A registration of the whole address space does not say which addresses are mapped: ask the kernel before accessing
// what a peer names, as the kernel itself does for reads from another process. Kernels before 5.14 cannot tell.
int mapped(const target_memory &memory, bool write)
{
	if (!(memory.region->flags & kKeyWhole))
		return 0;
	char here = 0;
	static const bool kernel_can = pages_ready(&here, 1, false);
	for (const iovec &p : memory.pieces)
		if (kernel_can && !pages_ready(p.iov_base, p.iov_len, write))
			return -FI_EFAULT;
	return 0;
}

} // namespace

bool remote_count(remote_counter *counters, remote_effect what, remote_counter_ids region, remote_counter_ids whole)
{
	const bool wrote = what != remote_effect::read, fetched = what != remote_effect::write;
	const uint16_t ids[] = {wrote ? region.wr : kNoCounter, fetched ? region.rd : kNoCounter,
				fetched ? whole.rd : whole.wr};
	bool any = false;
	for (size_t i = 0; i < std::size(ids); i++) {
		const uint16_t id = ids[i];
		if (!id || id >= kRemoteCounters || std::find(ids, ids + i, id) != ids + i)
			continue;
		// pairs with load_acquire in cntr_value(): a reader of the count sees the data
		pgas_add_release(&counters[id].value, uint64_t{1});
		any = true;
	}
	return any;
}

void target_count(ep_core *ep, const mr &region, remote_effect what, bool of_range, bool of_operation)
{
	const auto id = [](const cntr_core *c) { return c ? c->remote : kNoCounter; };
	const remote_counter_ids none{kNoCounter, kNoCounter}, range{id(region.rem_wr), id(region.rem_rd)};
	const remote_counter_ids whole{id(ep->c_rem_write), id(ep->c_rem_read)};
	if (remote_count(ep->dom->counters, what, of_range ? range : none, of_operation ? whole : none))
		domain_wake_sleepers(ep->dom); // a thread of this process may wait for it
}

int target_find(domain *dom, uint64_t key, uint64_t addr, size_t bytes, uint64_t right, target_memory &out)
{
	const auto it = dom->regions.find(key);
	if (it == dom->regions.end() || !it->second->open)
		return -FI_EKEYREJECTED;
	const mr &m = *it->second;
	if ((m.access & right) != right)
		return -FI_EACCES;
	uint64_t off;
	if (!offset_of(m, addr, bytes, off) || bytes > m.len || off > m.len - bytes)
		return -FI_EACCES;
	for (const mem_part &p : m.parts) {
		if (!bytes || off < p.off || off - p.off >= p.len)
			continue;
		const size_t n = std::min<uint64_t>(p.len - (off - p.off), bytes);
		out.pieces.push_back({reinterpret_cast<void *>(p.va + (off - p.off)), n});
		off += n;
		bytes -= n;
	}
	if (bytes)
		return -FI_EACCES; // a hole between the parts
	out.region = &m;
	return mapped(out, right & FI_REMOTE_WRITE);
}

int target_store(const target_memory &memory, const void *src, size_t len)
{
	if (PGAS_UNLIKELY(memory.region->kind))
		return hmem_store(*memory.region->kind, memory.pieces.data(), memory.pieces.size(), src, len);
	iov_store(memory.pieces.data(), memory.pieces.size(), src, len);
	return 0;
}

int target_load(const target_memory &memory, void *dst, size_t len)
{
	if (PGAS_UNLIKELY(memory.region->kind))
		return hmem_load(*memory.region->kind, memory.pieces.data(), memory.pieces.size(), dst, len);
	iov_load(memory.pieces.data(), memory.pieces.size(), dst, len);
	return 0;
}

namespace {

// The domain's lock, which is held, makes it atomic: the provider has no other access to this memory.
int amo_on_device(domain *dom, const target_amo &a, size_t bytes, std::vector<char> &result,
		  const target_memory &memory)
{
	const bool has_operand = a.op != FI_ATOMIC_READ;
	const size_t unit = amo_type_bytes(a.type);
	std::vector<char> words(bytes);
	if (const int err = target_load(memory, words.data(), bytes))
		return err;
	amo_apply(a.type, a.op, words.data(), bytes / unit, has_operand ? a.data : nullptr,
		  a.form == kAmoCompare ? a.data + bytes : nullptr, a.form ? result.data() : nullptr, dom->wide);
	return has_operand ? target_store(memory, words.data(), bytes) : 0;
}

} // namespace

int target_amo_run(domain *dom, uint64_t key, uint64_t addr, const target_amo &a, std::vector<char> &result,
		   target_memory &memory)
{
	if (a.form > kAmoCompare || !amo_valid(a.type, a.op, a.form))
		return -FI_EOPNOTSUPP;
	const size_t unit = amo_type_bytes(a.type), bytes = a.count * unit;
	const bool has_operand = a.op != FI_ATOMIC_READ;
	if (a.data_len != bytes * ((has_operand ? 1 : 0) + (a.form == kAmoCompare ? 1 : 0)))
		return -FI_EINVAL;
	const uint64_t right = (has_operand ? FI_REMOTE_WRITE : 0) | (a.form ? FI_REMOTE_READ : 0);
	if (const int err = target_find(dom, key, addr, bytes, right, memory))
		return err;
	for (const iovec &piece : memory.pieces)
		if (reinterpret_cast<uintptr_t>(piece.iov_base) % amo_type_align(a.type) || piece.iov_len % unit)
			return -FI_EINVAL;
	if (a.form)
		result.resize(bytes);
	if (PGAS_UNLIKELY(memory.region->kind))
		return amo_on_device(dom, a, bytes, result, memory);
	size_t done = 0;
	for (const iovec &piece : memory.pieces) {
		amo_apply(a.type, a.op, piece.iov_base, piece.iov_len / unit, has_operand ? a.data + done : nullptr,
			  a.form == kAmoCompare ? a.data + bytes + done : nullptr,
			  a.form ? result.data() + done : nullptr, dom->wide);
		done += piece.iov_len;
	}
	return 0;
}

} // namespace pgas
