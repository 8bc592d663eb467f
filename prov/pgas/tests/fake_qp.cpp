// SPDX-License-Identifier: BSD-3-Clause
//
// The queues and queue pairs of fake_verbs.hpp: requests are executed in order, late, and complete later still.
#include "fake_verbs.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace fake_rdma {
namespace {

constexpr unsigned kTriesMost = 40; // of an adapter, until it gives up on a silent peer

fake_qp &of(ibv_qp *q)
{
	return *static_cast<fake_qp *>(q);
}
fake_cq &of(ibv_cq *q)
{
	return *static_cast<fake_cq *>(q);
}
fake_srq &of(ibv_srq *q)
{
	return *static_cast<fake_srq *>(q);
}

// --- memory ----------------------------------------------------------------------------------------------------------

bool covers(const fake_mr &m, uint64_t addr, uint64_t len)
{
	const auto base = reinterpret_cast<uint64_t>(m.addr);
	return addr >= base && len <= m.length && addr - base <= m.length - len;
}

bool allowed(network &n, const host &machine, uint32_t key, uint64_t addr, uint64_t len, int access)
{
	const auto it = n.memories.find(key);
	return it != n.memories.end() && it->second->machine == &machine && (it->second->access & access) == access &&
	       covers(*it->second, addr, len);
}

// --- queues ----------------------------------------------------------------------------------------------------------

// There must be room for every possible completion before the next poll.
void check_room(host &h)
{
	size_t all = h.cq->done.size() + (h.srq ? h.srq->posted.size() : 0);
	for (const auto &[number, q] : h.net->qps)
		if (q->send_cq == h.cq)
			all += q->queue.size() + q->flushing.size();
	FAKE_CHECK(all <= static_cast<size_t>(h.cq->cqe), "more is posted than the completion queue has room for");
}

void push(fake_cq &cq, const ibv_wc &wc)
{
	FAKE_CHECK(cq.done.size() < static_cast<size_t>(cq.cqe), "the completion queue is overrun");
	cq.done.push_back(wc);
	if (!std::exchange(cq.notify, false) || !cq.channel)
		return;
	auto *c = static_cast<fake_channel *>(cq.channel);
	c->rang = &cq;
	c->rings++;
	ring(c->fd, 1);
}

int poll_cq(ibv_cq *queue, int most, ibv_wc *out)
{
	fake_cq &cq = of(queue);
	network &n = *cq.machine->net;
	n.steps(n.below(n.steps_most + 1));
	int got = 0;
	// at least one, if there is one; now and then not all
	const int stop = n.below(4) ? most : 1 + static_cast<int>(n.below(static_cast<unsigned>(most)));
	while (got < stop && !cq.done.empty()) {
		const ibv_wc wc = out[got++] = cq.done.front();
		cq.done.pop_front();
		fake_qp *q = n.qp_at(wc.qp_num);
		if (!q || wc.opcode & IBV_WC_RECV)
			continue;
		q->held -= 1 + wc.vendor_err;
		q->through += wc.status == IBV_WC_SUCCESS;
	}
	return got;
}

int req_notify_cq(ibv_cq *cq, int solicited_only)
{
	FAKE_CHECK(!solicited_only, "not used");
	of(cq).notify = true;
	return 0;
}

int get_cq_event(ibv_comp_channel *channel, ibv_cq **cq, void **context)
{
	auto *c = static_cast<fake_channel *>(channel);
	if (!c->rings) {
		expect_nonblocking(c->fd);
		errno = EAGAIN;
		return -1;
	}
	c->rings--;
	ring(c->fd, -1);
	of(c->rang).unacked++;
	*cq = c->rang;
	*context = c->rang->cq_context;
	return 0;
}

int post_srq_recv(ibv_srq *queue, ibv_recv_wr *wr, ibv_recv_wr **bad)
{
	fake_srq &q = of(queue);
	for (; wr; wr = wr->next) {
		FAKE_CHECK(wr->num_sge == 1, "one piece each");
		if (q.posted.size() >= q.most || q.machine->dead) {
			*bad = wr;
			return ENOMEM;
		}
		FAKE_CHECK(allowed(*q.machine->net, *q.machine, wr->sg_list->lkey, wr->sg_list->addr,
				   wr->sg_list->length, IBV_ACCESS_LOCAL_WRITE),
			   "a receive outside of registered memory");
		q.posted.push_back(*wr);
		q.places.push_back(*wr->sg_list);
	}
	check_room(*q.machine);
	return 0;
}

// --- queue pairs -----------------------------------------------------------------------------------------------------

ibv_wc completion(const fake_qp &q, const request &r, ibv_wc_status status)
{
	ibv_wc wc{};
	wc.wr_id = r.wr.wr_id;
	wc.status = status;
	wc.opcode = r.wr.opcode == IBV_WR_SEND        ? IBV_WC_SEND
		    : r.wr.opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
						      : IBV_WC_RDMA_WRITE;
	wc.qp_num = q.qp_num;
	return wc;
}

// The oldest request gets the status, all others are flushed; their completions come later.
void fail_all(fake_qp &q, ibv_wc_status status)
{
	q.state = IBV_QPS_ERR;
	for (const request &r : q.queue) {
		q.flushing.push_back(completion(q, r, status));
		status = IBV_WC_WR_FLUSH_ERR;
	}
	q.queue.clear();
}

void flush_some(fake_qp &q, size_t most)
{
	for (; most && !q.flushing.empty(); most--) {
		push(of(q.send_cq), q.flushing.front());
		q.flushing.pop_front();
	}
}

fake_qp *reachable(network &n, const fake_qp &q)
{
	fake_qp *p = n.qp_at(q.dest);
	return p && p->dest == q.qp_num && (p->state == IBV_QPS_RTR || p->state == IBV_QPS_RTS) && !p->machine->dead &&
			       !p->machine->silent && !p->machine->cut && !q.machine->cut
		       ? p
		       : nullptr;
}

const void *bytes_of(const request &r)
{
	return r.inlined.empty() ? reinterpret_cast<const void *>(r.sge.addr) : r.inlined.data();
}

// Returns false if there is no room: try later.
bool receive(network &n, fake_qp &there, const request &r)
{
	fake_srq &srq = of(there.srq);
	if (srq.posted.empty()) {
		n.rnr++;
		return false;
	}
	const ibv_recv_wr wr = srq.posted.front();
	const ibv_sge place = srq.places.front();
	srq.posted.pop_front();
	srq.places.pop_front();
	const bool put = r.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM; // the immediate's receive holds no bytes
	const size_t len = r.inlined.empty() ? r.sge.length : r.inlined.size();
	FAKE_CHECK(put || len <= place.length, "a packet longer than a receive");
	if (!put)
		memcpy(reinterpret_cast<void *>(place.addr), bytes_of(r), len);
	ibv_wc wc{};
	wc.wr_id = wr.wr_id;
	wc.status = IBV_WC_SUCCESS;
	wc.opcode = put ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	wc.imm_data = r.wr.imm_data;
	wc.qp_num = there.qp_num;
	wc.byte_len = static_cast<uint32_t>(len);
	push(of(there.recv_cq), wc);
	return true;
}

void transfer(network &n, fake_qp &there, request &r)
{
	const bool read = r.wr.opcode == IBV_WR_RDMA_READ;
	const int right = read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
	if (!(there.access & static_cast<unsigned>(right)) ||
	    !allowed(n, *there.machine, r.wr.wr.rdma.rkey, r.wr.wr.rdma.remote_addr, r.sge.length, right)) {
		r.status = IBV_WC_REM_ACCESS_ERR;
		n.tell(*there.machine, IBV_EVENT_QP_ACCESS_ERR, &there);
		fail_all(there, IBV_WC_WR_FLUSH_ERR);
	} else if (!read) {
		memcpy(reinterpret_cast<void *>(r.wr.wr.rdma.remote_addr), bytes_of(r), r.sge.length);
	}
}

// Executes the next request that was not executed yet. Returns false if it cannot run yet.
bool execute(network &n, fake_qp &q)
{
	unsigned reads = 0;
	for (request &r : q.queue) {
		const bool read = r.wr.opcode == IBV_WR_RDMA_READ;
		if (r.executed) {
			reads += read;
			if (r.status != IBV_WC_SUCCESS)
				return false;
			continue;
		}
		if ((reads && r.wr.send_flags & IBV_SEND_FENCE) || (read && reads >= q.reads))
			return false;
		fake_qp *there = reachable(n, q);
		if (!there)
			return false;
		q.tries = 0;
		if (r.inlined.empty() &&
		    !allowed(n, *q.machine, r.sge.lkey, r.sge.addr, r.sge.length, read ? IBV_ACCESS_LOCAL_WRITE : 0))
			r.status = IBV_WC_LOC_PROT_ERR;
		else if (r.wr.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && of(there->srq).posted.empty())
			return n.rnr++, false; // nothing is written before there is a receive
		else if (r.wr.opcode != IBV_WR_SEND)
			transfer(n, *there, r);
		if (r.status == IBV_WC_SUCCESS && r.wr.opcode != IBV_WR_RDMA_WRITE && !read && !receive(n, *there, r))
			return false;
		return r.executed = true;
	}
	return false;
}

// Completes the oldest request, if it was executed. Returns false if it was not.
bool complete(network &n, fake_qp &q)
{
	if (q.queue.empty() || !q.queue.front().executed || !q.flushing.empty())
		return false;
	const request &r = q.queue.front();
	if (r.status != IBV_WC_SUCCESS) {
		fail_all(q, r.status);
		return true;
	}
	if (r.wr.opcode == IBV_WR_RDMA_READ) {
		const fake_qp *there = reachable(n, q);
		if (!there)
			return false;
		if (!allowed(n, *there->machine, r.wr.wr.rdma.rkey, r.wr.wr.rdma.remote_addr, r.sge.length,
			     IBV_ACCESS_REMOTE_READ)) { // no more
			fail_all(q, IBV_WC_REM_ACCESS_ERR);
			return true;
		}
		memcpy(reinterpret_cast<void *>(r.sge.addr), reinterpret_cast<void *>(r.wr.wr.rdma.remote_addr),
		       r.sge.length);
	}
	if (r.wr.send_flags & IBV_SEND_SIGNALED) {
		ibv_wc wc = completion(q, r, IBV_WC_SUCCESS);
		wc.vendor_err = std::exchange(q.silent, 0); // their places are released by this one
		push(of(q.send_cq), wc);
	} else {
		q.silent++;
	}
	q.queue.pop_front();
	return true;
}

void qp_step(network &n, fake_qp &q)
{
	if (q.machine->dead || q.machine->silent)
		return;
	if (!q.flushing.empty()) {
		flush_some(q, 1 + n.below(8));
		return;
	}
	if (q.state != IBV_QPS_RTS || q.queue.empty() || n.still)
		return;
	if (!reachable(n, q)) {
		if (++q.tries > kTriesMost)
			fail_all(q, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	for (unsigned i = 1 + n.below(4); i; i--)
		if (n.below(2) ? !complete(n, q) : !execute(n, q))
			break;
}

int post_send(ibv_qp *pair, ibv_send_wr *wr, ibv_send_wr **bad)
{
	fake_qp &q = of(pair);
	FAKE_CHECK(wr->num_sge == 1 && (wr->send_flags & IBV_SEND_SIGNALED || wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM),
		   "what the port posts");
	if (q.machine->dead || (q.state != IBV_QPS_RTS && q.state != IBV_QPS_ERR)) {
		*bad = wr;
		return EINVAL;
	}
	if (q.machine->post_error) {
		*bad = wr;
		return q.machine->post_error;
	}
	FAKE_CHECK(q.held < q.depth, "the send queue is overrun");
	request r{*wr, *wr->sg_list, {}};
	if (wr->send_flags & IBV_SEND_INLINE) {
		FAKE_CHECK(r.sge.length <= q.inline_most && r.sge.length && wr->opcode != IBV_WR_RDMA_READ,
			   "not so many bytes inline");
		r.inlined.assign(reinterpret_cast<const char *>(r.sge.addr), r.sge.length);
	}
	q.held++;
	q.posted++;
	if (q.state == IBV_QPS_ERR)
		q.flushing.push_back(completion(q, r, IBV_WC_WR_FLUSH_ERR));
	else
		q.queue.push_back(std::move(r));
	check_room(*q.machine);
	return wr->next ? post_send(pair, wr->next, bad) : 0;
}

ibv_qp *create_qp(ibv_pd *pd, ibv_qp_init_attr *a)
{
	host &h = host_of(pd->context);
	if (h.dead || h.queue_pairs_left == 0 || a->cap.max_inline_data > h.inline_most) {
		errno = h.dead ? EIO : h.queue_pairs_left == 0 ? ENOMEM : EINVAL;
		return nullptr;
	}
	if (h.queue_pairs_left > 0)
		h.queue_pairs_left--;
	auto *q = new fake_qp{};
	q->context = pd->context;
	q->pd = pd;
	q->send_cq = a->send_cq;
	q->recv_cq = a->recv_cq;
	q->srq = a->srq;
	q->qp_num = h.net->next_qpn++;
	q->state = IBV_QPS_RESET;
	q->machine = &h;
	q->depth = a->cap.max_send_wr;
	q->inline_most = a->cap.max_inline_data;
	h.net->qps[q->qp_num] = q;
	return q;
}

int destroy_qp(ibv_qp *pair)
{
	fake_qp &q = of(pair);
	host &h = *q.machine;
	fake_cq &cq = of(q.send_cq);
	std::erase_if(h.async, [&](const ibv_async_event &e) {
		const bool its = e.element.qp == pair;
		if (its)
			ring(h.context.context.async_fd, -1);
		return its;
	});
	if (!h.purges) {
		fail_all(q, IBV_WC_WR_FLUSH_ERR);
		flush_some(q, SIZE_MAX);
	}
	h.net->qps.erase(q.qp_num);
	if (h.purges)
		std::erase_if(cq.done, [&](const ibv_wc &wc) { return wc.qp_num == q.qp_num; });
	delete &q;
	return 0;
}

// The attributes that each transition of a queue pair requires.
int needed_for(ibv_qp_state source, ibv_qp_state dest)
{
	if (dest == IBV_QPS_INIT && (source == IBV_QPS_RESET || source == IBV_QPS_INIT))
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	if (dest == IBV_QPS_RTR && source == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (dest == IBV_QPS_RTS && source == IBV_QPS_RTR)
		return IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC;
	return dest == IBV_QPS_ERR ? IBV_QP_STATE : -1;
}

int modify_qp(ibv_qp *pair, ibv_qp_attr *a, int mask)
{
	fake_qp &q = of(pair);
	if (mask == IBV_QP_ACCESS_FLAGS) { // the access rights only
		if (q.machine->dead || q.state != IBV_QPS_RTS)
			return q.machine->dead ? EIO : EINVAL;
		q.access = a->qp_access_flags;
		return 0;
	}
	const int needed = needed_for(q.state, a->qp_state);
	if (needed < 0 || (mask & needed) != needed || q.machine->dead)
		return q.machine->dead ? EIO : EINVAL;
	if (mask & IBV_QP_ACCESS_FLAGS)
		q.access = a->qp_access_flags;
	if (a->qp_state == IBV_QPS_RTR) {
		q.dest = a->dest_qp_num;
		q.reads_served = a->max_dest_rd_atomic;
	}
	if (a->qp_state == IBV_QPS_RTS) {
		q.reads = std::max<unsigned>(1, a->max_rd_atomic);
		FAKE_CHECK(a->timeout && a->retry_cnt < 7 && a->rnr_retry == 7,
			   "patience that ends nowhere, or too soon");
	}
	if (a->qp_state == IBV_QPS_ERR)
		fail_all(q, IBV_WC_WR_FLUSH_ERR);
	q.state = a->qp_state;
	return 0;
}

} // namespace

void qp_fill(pgas::verbs_api &a, ibv_context_ops *ops)
{
	a.ibv_get_cq_event = get_cq_event;
	a.ibv_create_qp = create_qp;
	a.ibv_destroy_qp = destroy_qp;
	a.ibv_modify_qp = modify_qp;
	if (!ops)
		return;
	ops->poll_cq = poll_cq;
	ops->req_notify_cq = req_notify_cq;
	ops->post_srq_recv = post_srq_recv;
	ops->post_send = post_send;
}

void network::step()
{
	if (below(3) == 0 && cm_step(*this))
		return;
	if (qps.empty())
		return;
	auto it = qps.begin();
	std::advance(it, below(static_cast<unsigned>(qps.size())));
	qp_step(*this, *it->second);
}

void network::break_qp(fake_qp &q, unsigned delivered, ibv_wc_status status)
{
	breaks++;
	while (delivered-- && execute(*this, q)) {}
	if (q.queue.empty() && below(2))
		tell(*q.machine, IBV_EVENT_QP_FATAL, &q);
	fail_all(q, status);
}

std::vector<fake_qp *> network::qps_of(const host &h, const host *dst)
{
	std::vector<fake_qp *> all;
	for (const auto &[number, q] : qps)
		if (q->machine == &h && (!dst || (qp_at(q->dest) && qp_at(q->dest)->machine == dst)))
			all.push_back(q);
	return all;
}

} // namespace fake_rdma
