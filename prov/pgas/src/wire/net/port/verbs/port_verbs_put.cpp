// SPDX-License-Identifier: BSD-3-Clause
//
// Single words of the port over an RDMA adapter: a WRITE of up to eight bytes, inline, with an immediate word,
// followed, with the same doorbell, by a READ of those bytes. The WRITE's own completion would mean that the other
// adapter has them; the answer to the READ means that they are in memory, because neither adapters nor the bus let a
// read overtake a write. It needs no CPU of the peer. The immediate word consumes a receive of the peer, as packets do,
// and is counted with them: when a line is re-established, the put is posted again only if the peer did not count it.
#include "port_verbs.hpp"

#include <rdma/fi_errno.h>

#include <cstring>

namespace pgas {

int put_again(verbs_line &l, uint32_t i)
{
	ibv_send_wr &wr = l.at(i).kind == posting_kind::put ? l.put.wr : l.put.flush, *refused;
	l.put.wr.next = nullptr; // its flush is a separate posting
	wr.wr_id = number_of(l, i);
	return ibv_post_send(l.qp, &wr, &refused);
}

// The put may have been posted without its flush: then the line is re-established, which posts the missing flush.
[[gnu::cold, gnu::noinline]] static bool put_is_out(verbs_put &s, const ibv_send_wr *refused, int err)
{
	if (refused != &s.flush)
		return not_posted(*s.port, *s.line, err) == 0;
	s.port->broken.push_back({s.line, std::string("cannot post: ") + strerror(err), true});
	return true;
}

// Prepares everything that does not change from put to put. A pending read would require a fence.
port_put *verbs_put_ready(port &base, uint64_t line, uint64_t key)
{
	verbs_port &p = verbs_of(base);
	verbs_line *l = line_to(p, line);
	if (!l || l->state != line_state::up || l->reads || p.inline_most < sizeof(uint64_t))
		return nullptr;
	verbs_put &s = l->put;
	s.port = &p;
	s.line = l;
	s.numbers = number_of(*l, 0);
	s.sge = {reinterpret_cast<uint64_t>(&s.value), sizeof s.value, 0};
	s.flush_sge = {p.receives.back().sge.addr + p.limits.packet, sizeof s.value, p.memory_mr->lkey};
	s.flush = {};
	s.flush.sg_list = &s.flush_sge;
	s.flush.num_sge = 1;
	s.flush.opcode = IBV_WR_RDMA_READ;
	s.flush.send_flags = IBV_SEND_SIGNALED;
	s.flush.wr.rdma.rkey = static_cast<uint32_t>(key);
	s.wr = s.flush;
	s.wr.wr_id = s.numbers; // reported only on failure
	s.wr.next = &s.flush;
	s.wr.sg_list = &s.sge;
	s.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	s.wr.send_flags = IBV_SEND_INLINE;
	s.ready = true;
	return &s;
}

// To the doorbell in few instructions: paths.def, shmem_long_p_verbs.
int verbs_put_word(port_put &put, uint64_t addr, uint64_t value, size_t len, uint32_t word)
{
	auto &s = static_cast<verbs_put &>(put);
	verbs_line &l = *s.line;
	if (!s.ready || l.room() < 2 || s.port->completions_left < 2) [[unlikely]]
		return -FI_EAGAIN;
	s.value = value; // little endian: its bytes come first
	s.sge.length = static_cast<uint32_t>(len);
	s.wr.wr.rdma.remote_addr = s.flush.wr.rdma.remote_addr = addr;
	s.wr.imm_data = word;
	s.flush.wr_id = s.numbers | ((l.next + 1) & 0xffff);
	ibv_send_wr *refused;
	if (const int err = ibv_post_send(l.qp, &s.wr, &refused); err && !put_is_out(s, refused, err)) [[unlikely]]
		return -FI_EAGAIN;
	l.at(l.next++).kind = posting_kind::put;
	l.at(l.next++).kind = posting_kind::flush;
	l.sends++;
	s.port->completions_left -= 2;
	return 0;
}

} // namespace pgas
