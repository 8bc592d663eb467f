// SPDX-License-Identifier: BSD-3-Clause
//
// put_word, get_word, fetch_word, start_get and start_fetch of fi_ext_pgas.h.
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

// Lock held.
int try_ask(ep_core *ep, fi_addr_t dest, const word_question &q)
{
	peer *p = peer_connected(ep, dest);
	return p ? p->wire->ask(*p->owner, *p, q) : int{kNoShortWay};
}

// Asks and waits for the result. -FI_EAGAIN: nothing was done, the fast path cannot do this.
int ask_word(fid_ep *fid, fi_addr_t dest, word_question &q)
{
	ep_core *ep = core_of(fid);
	op_waiter waiter;
	q.waiter = &waiter;
	int rc = -FI_EAGAIN;
	await(ep, [&] {
		if (rc == -FI_EAGAIN)
			rc = try_ask(ep, dest, q);
		return rc == kKept ? waiter.over : rc != -FI_EAGAIN;
	});
	return rc == kKept ? waiter.status : -FI_EAGAIN;
}

// Asks, and waits only while too many other questions are in flight.
int start_word(fid_ep *fid, fi_addr_t dest, const word_question &q)
{
	ep_core *ep = core_of(fid);
	int rc;
	{
		scoped_lock lock(ep->dom->mutex);
		rc = try_ask(ep, dest, q);
	}
	if (PGAS_UNLIKELY(rc == -FI_EAGAIN))
		await(ep, [&] { return (rc = try_ask(ep, dest, q)) != -FI_EAGAIN; });
	return rc == kKept ? 0 : -FI_EAGAIN;
}

// These return false if the arguments are wrong, or nothing for the fast path.
bool make_read(fid_ep *f, uint64_t addr, size_t len, size_t most, word_question &q)
{
	q.len = static_cast<uint8_t>(len <= most ? len : 0);
	q.addr = key0_offset(front_of(f), core_of(f)->dom->layout, addr, q.len);
	return q.len && q.addr != UINT64_MAX;
}

bool make_fetch(fid_ep *f, uint64_t addr, fi_datatype type, fi_op op, word_question &q)
{
	q.form = amo_valid(type, op, kAmoCompare) ? kAmoCompare : kAmoFetch;
	q.type = static_cast<uint8_t>(type);
	q.op = static_cast<uint8_t>(op);
	return make_read(f, addr, amo_type_bytes(type), sizeof(uint64_t), q);
}

} // namespace

int get_word(fid_ep *f, uint64_t addr, size_t len, fi_addr_t dest, uint64_t *value) noexcept
{
	return guard([&] {
		uint64_t word = 0;
		word_question q;
		q.place = &word;
		const int rc = make_read(f, addr, len, sizeof word, q) ? ask_word(f, dest, q) : -FI_EAGAIN;
		if (!rc)
			*value = word;
		return rc;
	});
}

int fetch_word(fid_ep *f, uint64_t addr, fi_datatype type, fi_op op, uint64_t operand, uint64_t compare, fi_addr_t dest,
	       uint64_t *old) noexcept
{
	return guard([&] {
		uint64_t word = 0;
		word_question q;
		q.operand = operand;
		q.compare = compare;
		q.place = &word;
		const int rc = make_fetch(f, addr, type, op, q) ? ask_word(f, dest, q) : -FI_EAGAIN;
		if (!rc)
			*old = word;
		return rc;
	});
}

int start_get(fid_ep *f, uint64_t addr, size_t len, fi_addr_t dest, void *place) noexcept
{
	return guard([&] {
		word_question q;
		q.place = place;
		return make_read(f, addr, len, kAnswerMost, q) ? start_word(f, dest, q) : -FI_EAGAIN;
	});
}

int start_fetch(fid_ep *f, uint64_t addr, fi_datatype type, fi_op op, uint64_t operand, uint64_t compare,
		fi_addr_t dest, void *place) noexcept
{
	return guard([&] {
		word_question q;
		q.operand = operand;
		q.compare = compare;
		q.place = place;
		return make_fetch(f, addr, type, op, q) ? start_word(f, dest, q) : -FI_EAGAIN;
	});
}

} // namespace pgas
