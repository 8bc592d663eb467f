// SPDX-License-Identifier: BSD-3-Clause
//
// Shared transmit contexts: accepted, although there is nothing to share.
#include "engine/pgas_ep.hpp"
#include "support/pgas_flags.hpp"
#include "support/pgas_nosys.hpp"

namespace pgas {
namespace {

struct stx {
	fid_stx fid{};
	domain *dom;
};

int stx_close(fid *f) noexcept
{
	auto *s = reinterpret_cast<stx *>(f);
	s->dom->users--;
	delete s;
	return 0;
}

constinit fi_ops_ep g_stx_ops = make_ops<fi_ops_ep>([](fi_ops_ep &ops) {
	refuse_calls(ops.cancel, ops.getopt, ops.setopt, ops.tx_ctx, ops.rx_ctx, ops.rx_size_left, ops.tx_size_left);
});

constinit fi_ops g_stx_fid_ops = make_ops<fi_ops>([](fi_ops &ops) {
	ops.close = stx_close;
	refuse_calls(ops.bind, ops.control, ops.ops_open, ops.tostr, ops.ops_set);
});

} // namespace

int stx_open(fid_domain *d, fi_tx_attr *attr, fid_stx **out, void *context) noexcept
{
	return guard([&] {
		if (const int err = flags_check<flags_of::tx_op>(attr ? attr->op_flags : 0))
			return err;
		auto *s = new stx;
		s->dom = reinterpret_cast<domain *>(d);
		s->fid.fid = {FI_CLASS_STX_CTX, context, &g_stx_fid_ops};
		s->fid.ops = &g_stx_ops;
		s->dom->users++;
		*out = &s->fid;
		return 0;
	});
}

} // namespace pgas
