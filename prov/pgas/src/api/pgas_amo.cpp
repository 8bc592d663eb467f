// SPDX-License-Identifier: BSD-3-Clause
//
// fi_ops_atomic. One-element calls of host memory try the checked hot path of pgas_hot.h first; everything else becomes
// an op.
#include "pgas_buffers.hpp"
#include "support/pgas_iov.hpp"
#include "support/pgas_amo_math.hpp"
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"
#include "engine/pgas_op.hpp"

namespace pgas {
namespace {

constexpr bool is_same(int ours, int libfabrics)
{
	return ours == libfabrics;
}
static_assert(is_same(PGAS_FI_INT32, FI_INT32) && is_same(FI_UINT32, FI_INT32 + 1) && is_same(FI_INT64, FI_INT32 + 2) &&
	      is_same(PGAS_FI_UINT64, FI_UINT64));
static_assert(is_same(PGAS_FI_SUM, FI_SUM) && is_same(PGAS_FI_BOR, FI_BOR) && is_same(PGAS_FI_BAND, FI_BAND) &&
	      is_same(PGAS_FI_BXOR, FI_BXOR) && is_same(PGAS_FI_READ, FI_ATOMIC_READ) &&
	      is_same(PGAS_FI_WRITE, FI_ATOMIC_WRITE));

constexpr size_t kMaxBytes = size_t{1} << 24; // of one atomic call

int report_valid(fi_datatype type, fi_op op, size_t *count, amo_form form)
{
	if (!amo_valid(type, op, form))
		return -FI_EOPNOTSUPP;
	if (count)
		*count = kMaxBytes / amo_type_bytes(type);
	return 0;
}

bool fill_iov(const fi_ioc *src, size_t count, size_t bytes, iovec *dst, size_t total)
{
	size_t sum = 0;
	for (size_t i = 0; i < count; i++) {
		dst[i] = {src[i].addr, src[i].count * bytes};
		sum += dst[i].iov_len;
	}
	return sum == total;
}

} // namespace

int amo_make(op &o, fid_ep *fid, fi_datatype type, fi_op op_code, const amo_args &a)
{
	if (!amo_valid(type, op_code, a.form))
		return -FI_EOPNOTSUPP;
	if (a.in_count > kIovLimit || a.cmp_count > kIovLimit || a.res_count > kIovLimit ||
	    a.rma_count > kRmaIovLimit || !a.rma_count || (a.form && !a.res_count) ||
	    (a.form == kAmoCompare && !a.cmp_count))
		return -FI_EINVAL;
	const size_t bytes = amo_type_bytes(type);
	o.kind = op_kind::amo;
	o.form = a.form;
	o.type = type;
	o.amo = op_code;
	o.flags = a.flags;
	o.quiet = a.quiet;
	o.context = a.context;
	o.cq_flags = FI_ATOMIC | (a.form ? FI_READ : FI_WRITE);
	for (size_t i = 0; i < a.rma_count; i++) {
		o.rma[i] = {a.rma[i].addr, a.rma[i].count * bytes, a.rma[i].key};
		o.len += o.rma[i].len;
	}
	o.rma_count = a.rma_count;
	if (o.len == 0 || o.len > kMaxBytes)
		return -FI_EINVAL;
	const bool reads_only = op_code == FI_ATOMIC_READ; // its operand may be NULL and is not read
	o.iov_count = reads_only ? 0 : a.in_count;
	o.cmp_count = a.form == kAmoCompare ? a.cmp_count : 0;
	o.res_count = a.form ? a.res_count : 0;
	if ((!reads_only && (!a.in_count || !fill_iov(a.operand, a.in_count, bytes, o.iov, o.len))) ||
	    (o.cmp_count && !fill_iov(a.cmp, a.cmp_count, bytes, o.cmp, o.len)) ||
	    (o.res_count && !fill_iov(a.res, a.res_count, bytes, o.res, o.len)))
		return -FI_EINVAL;
	if ((a.flags & FI_INJECT) && o.len > core_of(fid)->inject_limit)
		return -FI_EINVAL;
	return 0;
}

namespace {

template <class Buffers>
ssize_t submit_amo(fid_ep *fid, fi_addr_t dest, fi_datatype type, fi_op op_code, const amo_args &a, Buffers buffers)
{
	return guard([&, buffers]() -> int {
		op o;
		if (const int err = amo_make(o, fid, type, op_code, a))
			return err;
		return buffers.submit(fid, dest, o);
	});
}

template <class Buffers>
ssize_t write(fid_ep *f, const void *buf, size_t count, void *desc, fi_addr_t dest, uint64_t addr, uint64_t key,
	      fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_ioc operand{const_cast<void *>(buf), count};
	const fi_rma_ioc rma{addr, count, key};
	return submit_amo(f, dest, type, op_code,
			  {.operand = &operand,
			   .in_count = 1,
			   .rma = &rma,
			   .rma_count = 1,
			   .flags = front_of(f)->op_flags,
			   .context = context},
			  Buffers(&desc));
}

template <class Buffers>
ssize_t writev(fid_ep *f, const fi_ioc *iov, void **desc, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
	       fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_rma_ioc rma{addr, ioc_total(iov, count), key};
	return submit_amo(f, dest, type, op_code,
			  {.operand = iov,
			   .in_count = count,
			   .rma = &rma,
			   .rma_count = 1,
			   .flags = front_of(f)->op_flags,
			   .context = context},
			  Buffers(desc));
}

template <class Buffers>
ssize_t writemsg(fid_ep *f, const fi_msg_atomic *m, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::atomicmsg>(flags))
		return err;
	return submit_amo(f, m->addr, m->datatype, m->op,
			  {.operand = m->msg_iov,
			   .in_count = m->iov_count,
			   .rma = m->rma_iov,
			   .rma_count = m->rma_iov_count,
			   .flags = flags,
			   .context = m->context},
			  Buffers(m->desc));
}

// The one-instruction operations of pgas_hot.h, by operation; all others take the general path.
template <bool Fetch>
bool try_hot_amo(pgas_ep *ep, uint32_t hot, const void *buf, void *result, size_t count, fi_addr_t dest, uint64_t addr,
		 uint64_t key, fi_datatype type, fi_op op_code)
{
	if (count != 1)
		return false;
	const uint64_t bytes = type >= FI_INT64 ? 8 : 4;
	const uint64_t off = pgas_hot_offset(ep, addr);
	const auto run = [&](pgas_hot_op o) {
		return bytes == 8
			       ? pgas_hot_amo(ep, hot, Fetch, buf, nullptr, result, 8, dest, off, key, o, PGAS_CHECKED)
			       : pgas_hot_amo(ep, hot, Fetch, buf, nullptr, result, 4, dest, off, key, o, PGAS_CHECKED);
	};
	switch (pgas_hot_op_of(type, op_code, Fetch)) {
	case PGAS_OP_SUM:
		return run(PGAS_OP_SUM);
	case PGAS_OP_BOR:
		return run(PGAS_OP_BOR);
	case PGAS_OP_BAND:
		return run(PGAS_OP_BAND);
	case PGAS_OP_BXOR:
		return run(PGAS_OP_BXOR);
	case PGAS_OP_WRITE:
		return run(PGAS_OP_WRITE);
	case PGAS_OP_READ:
		return run(PGAS_OP_READ);
	default:
		return false;
	}
}

// One sum of 8 bytes of key 0 comes first (paths.def: *_table); the rest is out of line, with the same arguments.
bool is_sum_of_8(size_t count, fi_datatype type, fi_op op_code, uint64_t key)
{
	return PGAS_LIKELY(op_code == FI_SUM) && PGAS_LIKELY(type == FI_INT64) && PGAS_LIKELY(((count - 1) | key) == 0);
}

template <class Buffers>
PGAS_COLD ssize_t inject_other(fid_ep *f, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key,
			       fi_datatype type, fi_op op_code) noexcept
{
	pgas_ep *ep = front_of(f);
	const typename Buffers::injected input(f, buf, count, type);
	if (input.err)
		return input.err;
	if (try_hot_amo<false>(ep, pgas_load_relaxed(&ep->hot_inject), input.buf, nullptr, count, dest, addr, key, type,
			       op_code))
		return 0;
	if (count == 1 && amo_valid(type, op_code, kAmoPlain))
		if (const int rc = inject_short_amo(ep, dest, input.buf, type, op_code, addr, key); rc != kNoShortWay)
			return rc;
	const fi_ioc operand{const_cast<void *>(input.buf), count};
	const fi_rma_ioc rma{addr, count, key};
	return submit_amo(
		f, dest, type, op_code,
		{.operand = &operand, .in_count = 1, .rma = &rma, .rma_count = 1, .flags = FI_INJECT, .quiet = true},
		host_buffers());
}

template <class Buffers>
PGAS_COLD ssize_t readwrite_other(fid_ep *f, const void *buf, size_t count, void *desc, void *result, void *result_desc,
				  fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code,
				  void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	if (!Buffers::kDevices &&
	    try_hot_amo<true>(ep, pgas_load_relaxed(&ep->hot_rma), buf, result, count, dest, addr, key, type, op_code))
		return 0;
	const fi_ioc operand{const_cast<void *>(buf), count}, res{result, count};
	const fi_rma_ioc rma{addr, count, key};
	return submit_amo(f, dest, type, op_code,
			  {.operand = &operand,
			   .in_count = 1,
			   .res = &res,
			   .res_count = 1,
			   .rma = &rma,
			   .rma_count = 1,
			   .flags = ep->op_flags,
			   .context = context,
			   .form = kAmoFetch},
			  Buffers(&desc, nullptr, &result_desc));
}

// Only in the table of endpoints whose injects are MAGIC_HOT.
ssize_t inject(fid_ep *f, const void *buf, size_t count, fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type,
	       fi_op op_code) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (is_sum_of_8(count, type, op_code, key) &&
	    PGAS_LIKELY(pgas_hot_amo(ep, PGAS_MAGIC_HOT, 0, buf, nullptr, nullptr, 8, dest, off, 0, PGAS_OP_SUM,
				     PGAS_CHECKED)))
		return 0;
	return pgas_hot_exit(
		inject_other<host_buffers>(f, buf, count, dest, pgas_hot_addr(ep, off), key, type, op_code));
}

ssize_t readwrite(fid_ep *f, const void *buf, size_t count, void *desc, void *result, void *result_desc, fi_addr_t dest,
		  uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code, void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	const uint64_t off = pgas_hot_offset(ep, addr);
	if (is_sum_of_8(count, type, op_code, key) && ep->hot_rma == PGAS_MAGIC_HOT &&
	    PGAS_LIKELY(pgas_hot_amo(ep, PGAS_MAGIC_HOT, 1, buf, nullptr, result, 8, dest, off, 0, PGAS_OP_SUM,
				     PGAS_CHECKED)))
		return 0;
	return pgas_hot_exit(readwrite_other<host_buffers>(f, buf, count, desc, result, result_desc, dest,
							   pgas_hot_addr(ep, off), key, type, op_code, context));
}

template <class Buffers>
ssize_t readwritev(fid_ep *f, const fi_ioc *iov, void **desc, size_t count, fi_ioc *res, void **res_desc,
		   size_t res_count, fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code,
		   void *context) noexcept
{
	const fi_rma_ioc rma{addr, ioc_total(res, res_count), key};
	return submit_amo(f, dest, type, op_code,
			  {.operand = iov,
			   .in_count = count,
			   .res = res,
			   .res_count = res_count,
			   .rma = &rma,
			   .rma_count = 1,
			   .flags = front_of(f)->op_flags,
			   .context = context,
			   .form = kAmoFetch},
			  Buffers(desc, nullptr, res_desc));
}

template <class Buffers>
ssize_t readwritemsg(fid_ep *f, const fi_msg_atomic *m, fi_ioc *res, void **res_desc, size_t res_count,
		     uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::fetch_atomicmsg>(flags))
		return err;
	return submit_amo(f, m->addr, m->datatype, m->op,
			  {.operand = m->msg_iov,
			   .in_count = m->iov_count,
			   .res = res,
			   .res_count = res_count,
			   .rma = m->rma_iov,
			   .rma_count = m->rma_iov_count,
			   .flags = flags,
			   .context = m->context,
			   .form = kAmoFetch},
			  Buffers(m->desc, nullptr, res_desc));
}

template <class Buffers>
ssize_t compwrite(fid_ep *f, const void *buf, size_t count, void *desc, const void *cmp, void *cmp_desc, void *result,
		  void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key, fi_datatype type, fi_op op_code,
		  void *context) noexcept
{
	pgas_ep *ep = front_of(f);
	if (!Buffers::kDevices && count == 1 && op_code == FI_CSWAP && type >= FI_INT32 && type <= FI_UINT64) {
		const uint64_t off = pgas_hot_offset(ep, addr);
		const bool done = type >= FI_INT64
					  ? pgas_hot_amo(ep, pgas_load_relaxed(&ep->hot_rma), 1, buf, cmp, result, 8,
							 dest, off, key, PGAS_OP_CSWAP, PGAS_CHECKED)
					  : pgas_hot_amo(ep, pgas_load_relaxed(&ep->hot_rma), 1, buf, cmp, result, 4,
							 dest, off, key, PGAS_OP_CSWAP, PGAS_CHECKED);
		if (done)
			return 0;
	}
	const fi_ioc operand{const_cast<void *>(buf), count}, with{const_cast<void *>(cmp), count}, res{result, count};
	const fi_rma_ioc rma{addr, count, key};
	return submit_amo(f, dest, type, op_code,
			  {.operand = &operand,
			   .in_count = 1,
			   .cmp = &with,
			   .cmp_count = 1,
			   .res = &res,
			   .res_count = 1,
			   .rma = &rma,
			   .rma_count = 1,
			   .flags = ep->op_flags,
			   .context = context,
			   .form = kAmoCompare},
			  Buffers(&desc, &cmp_desc, &result_desc));
}

template <class Buffers>
ssize_t compwritev(fid_ep *f, const fi_ioc *iov, void **desc, size_t count, const fi_ioc *cmp, void **cmp_desc,
		   size_t cmp_count, fi_ioc *res, void **res_desc, size_t res_count, fi_addr_t dest, uint64_t addr,
		   uint64_t key, fi_datatype type, fi_op op_code, void *context) noexcept
{
	const fi_rma_ioc rma{addr, ioc_total(res, res_count), key};
	return submit_amo(f, dest, type, op_code,
			  {.operand = iov,
			   .in_count = count,
			   .cmp = cmp,
			   .cmp_count = cmp_count,
			   .res = res,
			   .res_count = res_count,
			   .rma = &rma,
			   .rma_count = 1,
			   .flags = front_of(f)->op_flags,
			   .context = context,
			   .form = kAmoCompare},
			  Buffers(desc, cmp_desc, res_desc));
}

template <class Buffers>
ssize_t compwritemsg(fid_ep *f, const fi_msg_atomic *m, const fi_ioc *cmp, void **cmp_desc, size_t cmp_count,
		     fi_ioc *res, void **res_desc, size_t res_count, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::compare_atomicmsg>(flags))
		return err;
	return submit_amo(f, m->addr, m->datatype, m->op,
			  {.operand = m->msg_iov,
			   .in_count = m->iov_count,
			   .cmp = cmp,
			   .cmp_count = cmp_count,
			   .res = res,
			   .res_count = res_count,
			   .rma = m->rma_iov,
			   .rma_count = m->rma_iov_count,
			   .flags = flags,
			   .context = m->context,
			   .form = kAmoCompare},
			  Buffers(m->desc, cmp_desc, res_desc));
}

int writevalid(fid_ep *, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return report_valid(type, op_code, count, kAmoPlain);
}

int readwritevalid(fid_ep *, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return report_valid(type, op_code, count, kAmoFetch);
}

int compwritevalid(fid_ep *, fi_datatype type, fi_op op_code, size_t *count) noexcept
{
	return report_valid(type, op_code, count, kAmoCompare);
}

template <class Buffers>
consteval fi_ops_atomic make_table(decltype(fi_ops_atomic::inject) inject_arg,
				   decltype(fi_ops_atomic::readwrite) readwrite_arg)
{
	return make_ops<fi_ops_atomic>([=](fi_ops_atomic &ops) {
		ops.write = write<Buffers>;
		ops.writev = writev<Buffers>;
		ops.writemsg = writemsg<Buffers>;
		ops.inject = inject_arg;
		ops.readwrite = readwrite_arg;
		ops.readwritev = readwritev<Buffers>;
		ops.readwritemsg = readwritemsg<Buffers>;
		ops.compwrite = compwrite<Buffers>;
		ops.compwritev = compwritev<Buffers>;
		ops.compwritemsg = compwritemsg<Buffers>;
		ops.writevalid = writevalid;
		ops.readwritevalid = readwritevalid;
		ops.compwritevalid = compwritevalid;
	});
}

} // namespace

constinit fi_ops_atomic g_amo_ops = make_table<host_buffers>(inject_other<host_buffers>, readwrite);
constinit fi_ops_atomic g_amo_ops_hot = make_table<host_buffers>(inject, readwrite);
constinit fi_ops_atomic g_amo_ops_hmem =
	make_table<described_buffers>(inject_other<described_buffers>, readwrite_other<described_buffers>);

int amo_query(fid_domain *, fi_datatype type, fi_op op_code, fi_atomic_attr *attr, uint64_t flags) noexcept
{
	if (const int err = flags_check<flags_of::query_atomic>(flags))
		return err;
	if (flags & FI_TAGGED)
		return -FI_EOPNOTSUPP;
	size_t count;
	const amo_form form = flags & FI_COMPARE_ATOMIC ? kAmoCompare : flags & FI_FETCH_ATOMIC ? kAmoFetch : kAmoPlain;
	if (const int err = report_valid(type, op_code, &count, form))
		return err;
	attr->size = amo_type_bytes(type);
	attr->count = count;
	return 0;
}

} // namespace pgas
