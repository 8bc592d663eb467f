// SPDX-License-Identifier: BSD-3-Clause
//
// fi_ops_rma. Single-buffer calls of host memory try the checked hot path of pgas_hot.h first; everything else becomes
// an op.
#include "pgas_buffers.hpp"
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_iov.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_op.hpp"
#include "engine/pgas_word.hpp"

namespace pgas {

int rma_make(op &o, fid_ep *fid, op_kind kind, const iovec *iov, size_t count, const fi_rma_iov *rma, size_t rma_count,
	     void *context, uint64_t data, uint64_t flags, bool quiet)
{
	if (count > kIovLimit || rma_count > kRmaIovLimit || rma_count == 0)
		return -FI_EINVAL;
	o.kind = kind;
	o.flags = flags;
	o.quiet = quiet;
	o.context = context;
	o.cq_flags = FI_RMA | (kind == op_kind::write ? FI_WRITE : FI_READ);
	o.carries_data = flags & FI_REMOTE_CQ_DATA;
	o.data = data;
	for (size_t i = 0; i < count; i++)
		o.iov[i] = iov[i];
	o.iov_count = count;
	o.len = iov_total(iov, count);
	size_t remote = 0;
	for (size_t i = 0; i < rma_count; i++) {
		o.rma[i] = rma[i];
		remote += rma[i].len;
	}
	o.rma_count = rma_count;
	if (remote != o.len)
		return -FI_EINVAL;
	if ((flags & FI_INJECT) && o.len > core_of(fid)->inject_limit) {
		PGAS_WARN(FI_LOG_EP_DATA, "inject of %zu bytes, at most %zu\n", o.len, core_of(fid)->inject_limit);
		return -FI_EINVAL;
	}
	return 0;
}

namespace {

template <class Buffers>
ssize_t submit_rma_list(fid_ep *fid, op_kind kind, Buffers buffers, const iovec *iov, size_t count, fi_addr_t addr,
			const fi_rma_iov *rma, size_t rma_count, void *context, uint64_t data, uint64_t flags,
			bool quiet)
{
	return guard([&, buffers]() -> int {
		op o;
		if (const int err = rma_make(o, fid, kind, iov, count, rma, rma_count, context, data, flags, quiet))
			return err;
		return buffers.submit(fid, addr, o);
	});
}

template <class Buffers>
PGAS_COLD ssize_t submit_rma(fid_ep *fid, op_kind kind, Buffers buffers, const void *buf, size_t len, fi_addr_t addr,
			     uint64_t off, uint64_t key, void *context, uint64_t data, uint64_t flags, bool quiet)
{
	const iovec iov{const_cast<void *>(buf), len};
	const fi_rma_iov rma{off, len, key};
	return submit_rma_list(fid, kind, buffers, &iov, 1, addr, &rma, 1, context, data, flags, quiet);
}

// Eight bytes of key 0 come first; everything else is one test away, out of line, in a function with the same
// arguments, so that they stay in their registers. This keeps the table within its budget (paths.def: *_table).
bool is_8_bytes(size_t len, uint64_t key)
{
	return PGAS_LIKELY(((len - 8) | key) == 0);
}

template <class Buffers>
PGAS_COLD ssize_t read_other(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr, uint64_t key,
			     void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	if (!Buffers::kDevices && pgas_hot_get(ep, pgas_load_relaxed(&ep->hot_rma), buf, len, src,
					       pgas_hot_offset(ep, addr), key, PGAS_CHECKED))
		return 0;
	return submit_rma(f, op_kind::read, Buffers(&desc), buf, len, src, addr, key, context, 0, ep->op_flags, false);
}

template <class Buffers>
PGAS_COLD ssize_t write_other(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr,
			      uint64_t key, void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	if (!Buffers::kDevices && pgas_hot_put(ep, pgas_load_relaxed(&ep->hot_rma), buf, len, dest,
					       pgas_hot_offset(ep, addr), key, PGAS_CHECKED))
		return 0;
	return submit_rma(f, op_kind::write, Buffers(&desc), buf, len, dest, addr, key, context, 0, ep->op_flags,
			  false);
}

template <class Buffers>
PGAS_COLD ssize_t inject_other(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t addr,
			       uint64_t key) noexcept
{
	pgas_ep *ep = front_of(f);
	const typename Buffers::injected input(f, buf, len);
	if (input.err)
		return input.err;
	if (len <= PGAS_INJECT_BYTES && pgas_hot_put(ep, pgas_load_relaxed(&ep->hot_inject), input.buf, len, dest,
						     pgas_hot_offset(ep, addr), key, PGAS_CHECKED))
		return 0;
	if (len <= PGAS_INJECT_BYTES)
		if (const int rc = inject_short(ep, dest, input.buf, len, addr, key); rc != kNoShortWay)
			return rc;
	return submit_rma(f, op_kind::write, host_buffers(), input.buf, len, dest, addr, key, nullptr, 0, FI_INJECT,
			  true);
}

// A put that hot_put could not store, because no window reaches its target, goes into the packet to that host.
// paths.def: fi_inject_write_far
[[gnu::noinline]] ssize_t inject_word(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t addr,
				      uint64_t key) noexcept
{
	if (PGAS_LIKELY(is_8_bytes(len, key))) {
		uint64_t value;
		memcpy(&value, buf, sizeof value);
		if (PGAS_LIKELY(append_word<false>(front_of(f), addr, value, sizeof value, dest) == 0))
			return 0;
	}
	return inject_other<host_buffers>(f, buf, len, dest, addr, key);
}

ssize_t read(fid_ep *f, void *buf, size_t len, void *desc, fi_addr_t src, uint64_t addr, uint64_t key,
	     void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (is_8_bytes(len, key) && ep->hot_rma == PGAS_MAGIC_HOT &&
	    PGAS_LIKELY(pgas_hot_get(ep, PGAS_MAGIC_HOT, buf, 8, src, off, 0, PGAS_CHECKED)))
		return 0;
	return pgas_hot_exit(read_other<host_buffers>(f, buf, len, desc, src, pgas_hot_addr(ep, off), key, context));
}

template <class Buffers>
ssize_t readv(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t src, uint64_t addr, uint64_t key,
	      void *context) noexcept
{
	const fi_rma_iov rma{addr, iov_total(iov, count), key};
	return submit_rma_list(f, op_kind::read, Buffers(desc), iov, count, src, &rma, 1, context, 0,
			       front_of(f)->op_flags, false);
}

template <class Buffers>
ssize_t readmsg(fid_ep *f, const fi_msg_rma *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::readmsg>(flags))
		return err;
	return submit_rma_list(f, op_kind::read, Buffers(m->desc), m->msg_iov, m->iov_count, m->addr, m->rma_iov,
			       m->rma_iov_count, m->context, 0, flags, false);
}

ssize_t write(fid_ep *f, const void *buf, size_t len, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
	      void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (is_8_bytes(len, key) && ep->hot_rma == PGAS_MAGIC_HOT &&
	    PGAS_LIKELY(pgas_hot_put(ep, PGAS_MAGIC_HOT, buf, 8, dest, off, 0, PGAS_CHECKED)))
		return 0;
	return pgas_hot_exit(write_other<host_buffers>(f, buf, len, desc, dest, pgas_hot_addr(ep, off), key, context));
}

template <class Buffers>
ssize_t writev(fid_ep *f, const iovec *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
	       void *context) noexcept
{
	const fi_rma_iov rma{addr, iov_total(iov, count), key};
	return submit_rma_list(f, op_kind::write, Buffers(desc), iov, count, dest, &rma, 1, context, 0,
			       front_of(f)->op_flags, false);
}

template <class Buffers>
ssize_t writemsg(fid_ep *f, const fi_msg_rma *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::writemsg>(flags))
		return err;
	return submit_rma_list(f, op_kind::write, Buffers(m->desc), m->msg_iov, m->iov_count, m->addr, m->rma_iov,
			       m->rma_iov_count, m->context, m->data, flags, false);
}

// Only in the table of endpoints whose injects are MAGIC_HOT: needs no test of the word.
// budget: 24 instructions with the call through the table, 25 by clang (paths.def: fi_inject_write_table)
ssize_t inject(fid_ep *f, const void *buf, size_t len, fi_addr_t dest, uint64_t addr, uint64_t key) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (is_8_bytes(len, key) && PGAS_LIKELY(pgas_hot_put(ep, PGAS_MAGIC_HOT, buf, 8, dest, off, 0, PGAS_CHECKED)))
		return 0;
	return inject_word(f, buf, len, dest, pgas_hot_addr(ep, off), key);
}

template <class Buffers>
ssize_t writedata(fid_ep *f, const void *buf, size_t len, void *desc, uint64_t data, fi_addr_t dest, uint64_t addr,
		  uint64_t key, void *context) noexcept
{
	return submit_rma(f, op_kind::write, Buffers(&desc), buf, len, dest, addr, key, context, data,
			  front_of(f)->op_flags | FI_REMOTE_CQ_DATA, false);
}

template <class Buffers>
ssize_t injectdata(fid_ep *f, const void *buf, size_t len, uint64_t data, fi_addr_t dest, uint64_t addr,
		   uint64_t key) noexcept
{
	const typename Buffers::injected input(f, buf, len);
	if (input.err)
		return input.err;
	return submit_rma(f, op_kind::write, host_buffers(), input.buf, len, dest, addr, key, nullptr, data,
			  FI_INJECT | FI_REMOTE_CQ_DATA, true);
}

template <class Buffers>
consteval fi_ops_rma make_table(decltype(fi_ops_rma::read) read_arg, decltype(fi_ops_rma::write) write_arg,
				decltype(fi_ops_rma::inject) inject_arg)
{
	return make_ops<fi_ops_rma>([=](fi_ops_rma &ops) {
		ops.read = read_arg;
		ops.readv = readv<Buffers>;
		ops.readmsg = readmsg<Buffers>;
		ops.write = write_arg;
		ops.writev = writev<Buffers>;
		ops.writemsg = writemsg<Buffers>;
		ops.inject = inject_arg;
		ops.writedata = writedata<Buffers>;
		ops.injectdata = injectdata<Buffers>;
	});
}

template <class Buffers>
consteval fi_ops_rma make_checked_table()
{
	return make_table<Buffers>(read_other<Buffers>, write_other<Buffers>, inject_other<Buffers>);
}

} // namespace

constinit fi_ops_rma g_rma_ops = make_checked_table<host_buffers>();
constinit fi_ops_rma g_rma_ops_hot = make_table<host_buffers>(read, write, inject);
constinit fi_ops_rma g_rma_ops_hmem = make_checked_table<described_buffers>();

} // namespace pgas
