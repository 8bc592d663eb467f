// SPDX-License-Identifier: BSD-3-Clause
//
// Single words of the port over an RDMA adapter: a WRITE of up to eight bytes, inline, with an immediate word. It takes
// a receive of the peer, as packets do, and is counted with them: when a line is made again, it is posted again only if
// the peer did not count it. The adapter delivers the word behind the bytes.
#include "port_verbs.hpp"

#include <rdma/fi_errno.h>

#include <arpa/inet.h>

namespace pgas {

static int put_post(verbs_line &l, uint64_t number)
{
	ibv_send_wr *refused;
	l.put.wr.wr_id = number;
	return ibv_post_send(l.qp, &l.put.wr, &refused);
}

int put_again(verbs_line &l, uint32_t i)
{
	return put_post(l, number_of(l, i));
}

// All that does not change from put to put. A read that is not over would want a fence.
port_put *verbs_put_ready(port &of, uint64_t to, uint64_t key)
{
	verbs_port &p = verbs_of(of);
	verbs_line *l = line_to(p, to);
	if (!l || l->state != line_state::up || l->reads || p.inline_most < sizeof(uint64_t))
		return nullptr;
	verbs_put &s = l->put;
	s.port = &p;
	s.line = l;
	s.numbers = number_of(*l, 0);
	s.sge = {reinterpret_cast<uint64_t>(&s.value), sizeof s.value, 0};
	s.wr = {};
	s.wr.sg_list = &s.sge;
	s.wr.num_sge = 1;
	s.wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	s.wr.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	s.wr.wr.rdma.rkey = static_cast<uint32_t>(key);
	s.ready = true;
	return &s;
}

// To the doorbell in few instructions: paths.def, shmem_long_p_verbs.
int verbs_put_word(port_put &of, uint64_t addr, uint64_t value, size_t len, uint32_t word)
{
	auto &s = static_cast<verbs_put &>(of);
	verbs_line &l = *s.line;
	if (!s.ready || !l.room() || !s.port->completions_left) [[unlikely]]
		return -FI_EAGAIN;
	s.value = value; // little endian: its bytes come first
	s.sge.length = static_cast<uint32_t>(len);
	s.wr.wr.rdma.remote_addr = addr;
	s.wr.imm_data = htonl(word);
	if (const int err = put_post(l, s.numbers | (l.next & 0xffff))) [[unlikely]]
		return not_posted(*s.port, l, err);
	l.at(l.next++).kind = posting_kind::put;
	l.sends++;
	s.port->completions_left--;
	return 0;
}

} // namespace pgas
