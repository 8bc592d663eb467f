// SPDX-License-Identifier: BSD-3-Clause
//
// put_word, get_word and fetch_word of fi_ext_pgas.h.
#include "pgas_word.hpp"
#include "pgas_await.hpp"

namespace pgas {

[[gnu::noinline]] int refuse_word(maybe_mutex &held)
{
	held.unlock_once();
	return -FI_EAGAIN;
}

// budget: paths.def, shmem_long_p_far
int put_word(fid_ep *f, uint64_t addr, uint64_t value, size_t len, fi_addr_t dest)
{
	return append_word<true>(front_of(f), addr, value, len, dest);
}

namespace {

// Submits and waits. -FI_EAGAIN: nothing was done, the fast path cannot do this.
int ask_word(fid_ep *fid, fi_addr_t dest, uint64_t addr, word_question &q)
{
	ep_core *ep = core_of(fid);
	q.addr = key0_offset(front_of(fid), ep->dom->layout, addr, q.len);
	if (q.addr == UINT64_MAX || !q.len)
		return -FI_EAGAIN;
	int rc = -FI_EAGAIN;
	await(ep, [&] {
		if (rc == -FI_EAGAIN) {
			peer *p = peer_connected(ep, dest);
			rc = p ? p->wire->ask(*p->owner, *p, q) : int{kNoShortWay};
		}
		return rc == kKept ? q.over : rc != -FI_EAGAIN;
	});
	return rc == kKept ? q.status : -FI_EAGAIN;
}

} // namespace

int get_word(fid_ep *f, uint64_t addr, size_t len, fi_addr_t dest, uint64_t *value) noexcept
{
	return guard([&] {
		word_question q;
		q.len = static_cast<uint8_t>(len <= 8 ? len : 0);
		const int rc = ask_word(f, dest, addr, q);
		*value = q.value;
		return rc;
	});
}

int fetch_word(fid_ep *f, uint64_t addr, fi_datatype type, fi_op op, uint64_t operand, uint64_t compare, fi_addr_t dest,
	       uint64_t *old) noexcept
{
	return guard([&] {
		word_question q;
		const size_t len = amo_type_bytes(type);
		q.len = static_cast<uint8_t>(len <= 8 ? len : 0);
		q.form = amo_valid(type, op, kAmoCompare) ? kAmoCompare : kAmoFetch;
		q.type = static_cast<uint8_t>(type);
		q.op = static_cast<uint8_t>(op);
		q.operand = operand;
		q.compare = compare;
		const int rc = ask_word(f, dest, addr, q);
		*old = q.value;
		return rc;
	});
}

} // namespace pgas
