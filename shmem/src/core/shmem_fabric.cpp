// SPDX-License-Identifier: BSD-3-Clause
//
// The provider's table of calls. Operations on mapped memory are complete on return. All others go to the wire. Puts,
// plain atomics and non-blocking gets are counted in `pending`. Short puts and plain atomics are copied; a longer
// blocking put and every blocking operation that returns a value wait for themselves alone (FI_PGAS_WAIT).
#include "shmem_fabric.hpp"
#include "shmem_fail.hpp"
#include "shmem_wait.hpp"

namespace shmem {
namespace {

// The provider itself reads or writes: usually this PE has nothing in flight.
bool is_mapped(const context *c, int pe)
{
	return pgas_hot_window(reinterpret_cast<const pgas_ep *>(c->ep), static_cast<uint64_t>(pe), 0, 1, PGAS_CHECKED);
}

void finish_mapped(context *c, ssize_t rc, const char *what, int pe)
{
	if (PGAS_UNLIKELY(rc != 0))
		fail_transfer(c, pe, rc, what);
	if (const int err = g_shmem.net.ops->drain(c->ep))
		fail_transfer(c, pe, err, what);
}

void finish_far(const context *c, ssize_t rc, const char *what, int pe)
{
	if (PGAS_UNLIKELY(rc != 0))
		fail_transfer(c, pe, rc, what);
}

// The wire accepted it. Increment after the submission, so that a quiet that subtracts the count has waited for it.
void count_pending(context *c)
{
	pgas_add_release(&c->pending, uint64_t{1}); // pairs with load_acquire in cold_quiet()
}

void finish_submitted(context *c, ssize_t rc, const char *what, int pe)
{
	finish_far(c, rc, what, pe);
	count_pending(c);
}

// Makes progress on everything while there is no room: the peers that should make room may be waiting for us.
template <class Call>
ssize_t retry(Call &&call)
{
	unsigned polls = 0;
	for (;;) {
		const ssize_t rc = call();
		if (rc != -FI_EAGAIN)
			return rc;
		if (!g_shmem.net.ops->progress(g_shmem.net.domain))
			wait_pause(polls);
	}
}

// A put or get for the calls that take flags.
struct transfer {
	iovec iov;
	fi_rma_iov remote;
	fi_msg_rma m{};

	transfer(const void *mine, const void *theirs, size_t bytes, int pe)
		: iov{const_cast<void *>(mine), bytes}, remote{reinterpret_cast<uintptr_t>(theirs), bytes, 0}
	{
		m.msg_iov = &iov;
		m.iov_count = 1;
		m.addr = static_cast<fi_addr_t>(pe);
		m.rma_iov = &remote;
		m.rma_iov_count = 1;
	}
	transfer(const transfer &) = delete;
};

// The same for an atomic.
struct atomic_word {
	fi_ioc operand, with, out;
	fi_rma_ioc remote;
	fi_msg_atomic m{};

	atomic_word(uint64_t *value, uint64_t *compare, uint64_t *old, const void *target, int pe, fi_datatype type,
		    fi_op op)
		: operand{value, 1}, with{compare, 1}, out{old, 1}, remote{reinterpret_cast<uintptr_t>(target), 1, 0}
	{
		m.msg_iov = &operand;
		m.iov_count = 1;
		m.addr = static_cast<fi_addr_t>(pe);
		m.rma_iov = &remote;
		m.rma_iov_count = 1;
		m.datatype = type;
		m.op = op;
	}
	atomic_word(const atomic_word &) = delete;
};

void put_mapped(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name)
{
	finish_mapped(c, retry([&] {
			      return c->ep->rma->write(c->ep, source, bytes, nullptr, static_cast<fi_addr_t>(pe),
						       reinterpret_cast<uintptr_t>(dest), 0, nullptr);
		      }),
		      name, pe);
}

void put_far(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when,
	     uint64_t more)
{
	if (PGAS_LIKELY(bytes <= g_shmem.copy_limit && !more)) {
		finish_submitted(c, retry([&] {
					 return c->ep->rma->inject(c->ep, source, bytes, static_cast<fi_addr_t>(pe),
								   reinterpret_cast<uintptr_t>(dest), 0);
				 }),
				 name, pe);
		return;
	}
	const transfer t(source, dest, bytes, pe);
	const uint64_t copied = bytes <= g_shmem.copy_limit ? FI_INJECT : 0;
	if (when == until::reusable && !copied)
		finish_submitted(c, c->ep->rma->writemsg(c->ep, &t.m, FI_PGAS_WAIT | FI_TRANSMIT_COMPLETE | more), name,
				 pe);
	else
		finish_submitted(c, retry([&] { return c->ep->rma->writemsg(c->ep, &t.m, copied | more); }), name, pe);
}

ssize_t amo_mapped(context *c, atomic_word &w, uint64_t *old, bool fetch)
{
	const fi_ops_atomic *amo = c->ep->atomic;
	const fi_msg_atomic &m = w.m;
	return retry([&] {
		if (m.op == FI_CSWAP)
			return amo->compwrite(c->ep, w.operand.addr, 1, nullptr, w.with.addr, nullptr, old, nullptr,
					      m.addr, w.remote.addr, 0, m.datatype, m.op, nullptr);
		if (fetch)
			return amo->readwrite(c->ep, w.operand.addr, 1, nullptr, old, nullptr, m.addr, w.remote.addr, 0,
					      m.datatype, m.op, nullptr);
		return amo->write(c->ep, w.operand.addr, 1, nullptr, m.addr, w.remote.addr, 0, m.datatype, m.op,
				  nullptr);
	});
}

// False: nothing was done; the long way does it or reports the error.
bool try_fetch_word(const context *c, const void *target, int pe, fi_datatype type, fi_op op, uint64_t value,
		    uint64_t compare, uint64_t *old)
{
	return g_shmem.net.ops->fetch_word(c->ep, reinterpret_cast<uintptr_t>(target), type, op, value, compare,
					   static_cast<fi_addr_t>(pe), old) == 0;
}

// False: nothing was done, as above. Many short gets travel in one packet.
bool start_get(context *c, void *dest, const void *source, size_t bytes, int pe)
{
	if (bytes > FI_PGAS_START_BYTES || g_shmem.net.ops->start_get(c->ep, reinterpret_cast<uintptr_t>(source), bytes,
								      static_cast<fi_addr_t>(pe), dest))
		return false;
	count_pending(c);
	return true;
}

} // namespace

void fabric_put(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when,
		uint64_t more)
{
	if (is_mapped(c, pe))
		put_mapped(c, dest, source, bytes, pe, name);
	else
		put_far(c, dest, source, bytes, pe, name, when, more);
}

void fabric_get(context *c, void *dest, const void *source, size_t bytes, int pe, const char *name, until when)
{
	const transfer t(dest, source, bytes, pe);
	if (is_mapped(c, pe))
		finish_mapped(c, retry([&] {
				      return c->ep->rma->read(c->ep, dest, bytes, nullptr, static_cast<fi_addr_t>(pe),
							      reinterpret_cast<uintptr_t>(source), 0, nullptr);
			      }),
			      name, pe);
	else if (when == until::taken && start_get(c, dest, source, bytes, pe))
		return;
	else if (when == until::taken)
		finish_submitted(c, retry([&] { return c->ep->rma->readmsg(c->ep, &t.m, 0); }), name, pe);
	else
		finish_far(c, c->ep->rma->readmsg(c->ep, &t.m, FI_PGAS_WAIT), name, pe);
}

uint64_t fabric_amo(context *c, void *target, int pe, fi_datatype type, fi_op op, uint64_t value, uint64_t compare,
		    bool fetch, const char *name)
{
	uint64_t old = 0;
	atomic_word w(&value, &compare, &old, target, pe, type, op);
	const fi_ops_atomic *amo = c->ep->atomic;
	if (is_mapped(c, pe))
		finish_mapped(c, amo_mapped(c, w, &old, fetch), name, pe);
	else if ((fetch || op == FI_CSWAP) && try_fetch_word(c, target, pe, type, op, value, compare, &old))
		return old;
	else if (op == FI_CSWAP)
		finish_far(c, amo->compwritemsg(c->ep, &w.m, &w.with, nullptr, 1, &w.out, nullptr, 1, FI_PGAS_WAIT),
			   name, pe);
	else if (fetch)
		finish_far(c, amo->readwritemsg(c->ep, &w.m, &w.out, nullptr, 1, FI_PGAS_WAIT), name, pe);
	else
		finish_submitted(c, retry([&] {
					 return amo->inject(c->ep, &value, 1, static_cast<fi_addr_t>(pe),
							    reinterpret_cast<uintptr_t>(target), 0, type, op);
				 }),
				 name, pe);
	return old;
}

bool fabric_start_amo(const fi_pgas_ops &ops, context *c, void *target, int pe, fi_datatype type, fi_op op,
		      uint64_t value, uint64_t compare, void *fetch)
{
	if (ops.start_fetch(c->ep, reinterpret_cast<uintptr_t>(target), type, op, value, compare,
			    static_cast<fi_addr_t>(pe), fetch))
		return false;
	count_pending(c);
	return true;
}

// A fence for this one operation: it requires nothing of other PEs, and waits only where the wire does not keep order.
void fabric_signal(context *c, uint64_t *target, int pe, fi_op op, uint64_t value, const char *name)
{
	atomic_word w(&value, nullptr, nullptr, target, pe, FI_UINT64, op);
	pgas_fence_stores(); // data before signal
	if (is_mapped(c, pe))
		finish_mapped(c, amo_mapped(c, w, nullptr, false), name, pe);
	else
		finish_submitted(c, retry([&] { return c->ep->atomic->writemsg(c->ep, &w.m, FI_INJECT | FI_FENCE); }),
				 name, pe);
}

// Asking the provider about a PE of another host would connect to it. Fake hosts are one host.
bool on_other_host(int pe)
{
	return g_shmem.hosts && !g_shmem.env.fake_hosts.hosts && g_shmem.hosts[pe] != g_shmem.hosts[g_shmem.my_pe];
}

void *host_pointer(const void *ptr, int pe)
{
	void *base = nullptr;
	if (on_other_host(pe))
		return nullptr;
	if (g_shmem.net.ops->window(g_default.ep, static_cast<fi_addr_t>(pe), &base) != 0 || !base) {
		note_far(); // nor will the peer have mapped ours
		return nullptr;
	}
	return static_cast<char *>(base) + (reinterpret_cast<uintptr_t>(ptr) - g_shmem.base);
}

} // namespace shmem
