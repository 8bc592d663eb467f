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

fi_ops_ep g_stx_ops = {
	.size = sizeof(fi_ops_ep),
	PGAS_NOSYS(fi_ops_ep, cancel),
	PGAS_NOSYS(fi_ops_ep, getopt),
	PGAS_NOSYS(fi_ops_ep, setopt),
	PGAS_NOSYS(fi_ops_ep, tx_ctx),
	PGAS_NOSYS(fi_ops_ep, rx_ctx),
	PGAS_NOSYS(fi_ops_ep, rx_size_left),
	PGAS_NOSYS(fi_ops_ep, tx_size_left),
};

fi_ops g_stx_fid_ops = {
	.size = sizeof(fi_ops),
	.close = stx_close,
	PGAS_NOSYS(fi_ops, bind),
	PGAS_NOSYS(fi_ops, control),
	PGAS_NOSYS(fi_ops, ops_open),
	PGAS_NOSYS(fi_ops, tostr),
	PGAS_NOSYS(fi_ops, ops_set),
};

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
