/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the pgas provider offers beyond libfabric's own calls: memory that peers can map, and one region made of several
 * mapped parts with holes between them. See fi_pgas(7).
 *
 *	struct fi_pgas_ops *ops;
 *	fi_open_ops(&domain->fid, FI_PGAS_OPS, 0, (void **) &ops, NULL);
 */
#ifndef FI_EXT_PGAS_H
#define FI_EXT_PGAS_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FI_PGAS_OPS "pgas_ops_v1"

/*
 * Flag of fi_ep_alias: this alias is used by one thread at a time, whatever the domain's threading says. Its puts, gets
 * and atomics to mapped memory go straight, execute no locked instruction for bookkeeping, and move no bound counter.
 */
#define FI_PGAS_PRIVATE (1ULL << 60)

/*
 * Flag of fi_readmsg, fi_writemsg, fi_atomicmsg, fi_fetch_atomicmsg and fi_compare_atomicmsg: the call returns when
 * this one operation is complete, a write at its target, and returns how it ended. It waits where others return
 * -FI_EAGAIN, makes progress on the whole domain meanwhile, and writes no completion entry. Bound counters count its
 * success. A write with FI_TRANSMIT_COMPLETE as well may return as soon as its source can be reused; a failure after
 * that is counted and told by failed().
 */
#define FI_PGAS_WAIT (1ULL << 61)

/* len bytes at offset off of a region are file fd from fd_off on. off, fd_off and len are multiples of the page
 * size. */
struct fi_pgas_part {
	uint64_t off;
	uint64_t len;
	int fd;
	uint64_t fd_off;
};

/* len bytes at offset off of this process's own key-0 region lie at addr; all three are multiples of the page size. */
struct fi_pgas_piece {
	const void *addr;
	uint64_t off;
	uint64_t len;
};

/* A message that was taken and not given back yet. */
struct fi_pgas_message {
	void *buf; /* the receiver's own memory, which it may change */
	size_t len;
	/* the first piece of message_send once more, where reading it costs less; NULL: it is in buf only */
	const void *head;
	void *place_;
	uint64_t state_;
	void *eager_;
	uint32_t claim_;
};

/* A place at a peer for one message, to be filled. */
struct fi_pgas_place {
	/* a place of up to PGAS_SLOT_PLAIN bytes begins 8 behind a multiple of 16, a larger one at one of 64 */
	void *buf;
	size_t room; /* at least what was asked for */
	fi_addr_t peer_;
	void *line_;
	void *slot_;
	uint64_t at_;
	uint32_t index_, claim_;
};

#define FI_PGAS_GATE_BYTES 512

struct fi_pgas_ops {
	size_t size;

	/*
	 * Registers [base, base + span) under key, of which only the parts exist. Peers see it at one base address,
	 * with guard pages in the holes, so that one subtraction turns an address into an offset.
	 */
	int (*mr_reg_parts)(struct fid_domain *domain, void *base, size_t span, uint64_t access, uint64_t key,
			    const struct fi_pgas_part *parts, size_t count, struct fid_mr **mr);

	/* Memory backed by a descriptor of this process, so that a registration of it can be mapped by peers. */
	int (*mem_alloc)(struct fid_domain *domain, size_t len, void **ptr);
	int (*mem_free)(struct fid_domain *domain, void *ptr, size_t len);

	/*
	 * Connects to a peer now instead of at the first transfer, and returns the address at which its key-0 region is
	 * mapped here (NULL: it is not mapped).
	 */
	int (*window)(struct fid_ep *ep, fi_addr_t addr, void **base);

	/*
	 * Symmetric addressing: from now on key-0 addresses given to this endpoint (or alias) are addresses of this
	 * process's own key-0 region, which begins at base; a multiple of the page size. Saves the caller the
	 * subtraction.
	 */
	int (*symmetric)(struct fid_ep *ep, const void *base);

	/* Makes progress until everything this endpoint started before is complete. */
	int (*drain)(struct fid_ep *ep);

	/*
	 * Receiving without posted buffers: the next message of fi_send's kind where it arrived, or -FI_EAGAIN. It
	 * stays there until message_release, in any order and from any thread; places are few, so that should be soon.
	 * An endpoint that takes messages posts no receives, and its messages are not longer than FI_PGAS_EAGER_SIZE. A
	 * message of up to PGAS_SLOT_PLAIN bytes begins 8 bytes behind a multiple of 16, a longer one at a multiple of
	 * 64; but one that the provider had to move begins at a multiple of 16. fi_cq_read of the queue bound with
	 * FI_RECV returns -FI_EAGAIN at once, inline, as long as nothing is to be taken.
	 */
	int (*message_take)(struct fid_ep *ep, struct fi_pgas_message *message);
	void (*message_release)(struct fid_ep *ep, struct fi_pgas_message *message);

	/*
	 * One message of two pieces, up to FI_PGAS_EAGER_SIZE bytes; the pieces may be reused when it returns. No
	 * completion, no count, no progress: -FI_EAGAIN leaves the caller to take its own messages first.
	 */
	ssize_t (*message_send)(struct fid_ep *ep, fi_addr_t addr, const void *head, size_t head_len, const void *data,
				size_t len);

	/*
	 * Symmetric addressing of a key-0 region in pieces, whose distances differ from process to process: offsets are
	 * the same everywhere, addresses need not be. mr_reg_parts of key 0 then finds its parts at the addresses given
	 * here (base: the lowest of them), symmetric takes that base, and windows on peers have the distances of our
	 * own pieces. To be called before key 0 is registered and before the first transfer: -FI_EBUSY later.
	 */
	int (*symmetric_layout)(struct fid_domain *domain, const struct fi_pgas_piece *pieces, size_t count);

	/*
	 * Order: one-sided operations that are submitted to a peer from now on run there behind all that were submitted
	 * to it before. Where the way to the peer keeps order by itself that is so already and nothing is waited for.
	 */
	int (*fence)(struct fid_ep *ep);

	/*
	 * The first one-sided operation of this endpoint that failed after its call had returned, since the last time
	 * this was asked: -FI_E*, and *addr is its peer (FI_ADDR_NOTAVAIL: one that is in no address vector). 0: none.
	 */
	int (*failed)(struct fid_ep *ep, fi_addr_t *addr);

	/*
	 * Progress of everything in the domain: 1 when something moved, 0 when not. wait sleeps when nothing moved,
	 * until something arrives or max_ns have passed; what peers store into our memory does not end it. Not with
	 * FI_THREAD_COMPLETION, where endpoints belong to different threads: -FI_EOPNOTSUPP.
	 */
	int (*progress)(struct fid_domain *domain);
	int (*wait)(struct fid_domain *domain, uint64_t max_ns);

	/* Progress, and then: 1 when everything that this endpoint started is complete, else 0. */
	int (*settled)(struct fid_ep *ep);

	/*
	 * The shortest way of an injected write to another host: the first len bytes (1 to 8) of value, little endian,
	 * to key 0. 0: they are in a packet that is being filled, or on their way. -FI_EAGAIN: not now, and nothing was
	 * done, be it that there is no such packet or that something is wrong; fi_inject_write then does it, or says
	 * what.
	 */
	int (*put_word)(struct fid_ep *ep, uint64_t addr, uint64_t value, size_t len, fi_addr_t dest);

	/*
	 * Likewise for a read of len bytes (1 to 8), and a fetching or comparing atomic on one element of up to 8
	 * bytes, whose operands are in the first bytes of the words. These wait for their answer, as with FI_PGAS_WAIT,
	 * but move no counter. -FI_EAGAIN as above; any other error is the operation's.
	 */
	int (*get_word)(struct fid_ep *ep, uint64_t addr, size_t len, fi_addr_t dest, uint64_t *value);
	int (*fetch_word)(struct fid_ep *ep, uint64_t addr, enum fi_datatype datatype, enum fi_op op, uint64_t operand,
			  uint64_t compare, fi_addr_t dest, uint64_t *old);

	/*
	 * Why a peer is lost, for people: a text of at most room bytes with its end, and its length; 0 when no more is
	 * known than the error of the operations to it.
	 */
	size_t (*reason)(struct fid_ep *ep, fi_addr_t peer, char *text, size_t room);

	/*
	 * Registers a gate under key: a peer of another host that puts up to len bytes (FI_PGAS_GATE_BYTES at most) at
	 * offset 0 of it has serve called here with them, in whichever thread makes progress, before the put counts as
	 * complete. serve returns 0 or -FI_E*, which the peer's operation ends with. It must check what it is given,
	 * and call nothing of this domain. The region is no memory: other operations on it are refused or without
	 * effect, and peers of this host get no call.
	 */
	int (*mr_reg_gate)(struct fid_domain *domain, size_t len, uint64_t key,
			   int (*serve)(void *arg, const void *bytes, size_t len), void *arg, struct fid_mr **mr);

	/*
	 * message_take for up to count messages, at the cost of locking once where threads share the domain: how many
	 * they are, at least one, or -FI_EAGAIN. count is at most half of FI_PGAS_RX_SLOTS.
	 */
	int (*messages_take)(struct fid_ep *ep, struct fi_pgas_message *messages, size_t count);

	/*
	 * Sending without a copy, to peers of this host: a place for a message of up to len bytes where it will arrive.
	 * The caller writes it there and publishes the len bytes it has, of which the receiver reads the first head_len
	 * first; or abandons the place. Both by the thread that claimed it, and soon: what others send to the peer may
	 * wait behind it, until this process ends. A peer with a claimed place may die, but must not be removed.
	 * message_claim: -FI_EAGAIN: none is free; -FI_EOPNOTSUPP: this peer has none to give. message_publish:
	 * -FI_EAGAIN: not now, and the place stays claimed; with any other error it is given back.
	 */
	int (*message_claim)(struct fid_ep *ep, fi_addr_t addr, size_t len, struct fi_pgas_place *place);
	int (*message_publish)(struct fid_ep *ep, struct fi_pgas_place *place, size_t head_len, size_t len);
	void (*message_abandon)(struct fid_ep *ep, struct fi_pgas_place *place);

	/*
	 * Device memory of a domain with FI_HMEM. mr_direct: 1 when the network to other hosts reaches this region by
	 * itself, so that long puts and gets go straight there; it is registered with that network now. Else 0: they
	 * go through memory of the host, on the owner's side. device_rma: write, read and their like that look at
	 * descriptors, for endpoints whose own calls do not because they were opened without FI_HMEM.
	 */
	int (*mr_direct)(struct fid_mr *mr);
	const struct fi_ops_rma *device_rma;

	/*
	 * Somebody else ends this process when a peer on this host dies, as a launcher does that watches the whole job:
	 * the provider starts no thread to notice it, and a program without threads keeps an allocator without locks.
	 * Operations to such a peer do not fail then, and what it held is not given back. That thread also notices
	 * requests of peers that lie in front of a program that reads nothing but hot counters; without it fi_cntr_read
	 * makes progress each time, through the table. To be called before the first endpoint of the domain is opened:
	 * -FI_EBUSY later.
	 */
	int (*peers_watched)(struct fid_domain *domain);

	/* message_release of messages that were taken together, behind one fence. */
	void (*messages_release)(struct fid_ep *ep, struct fi_pgas_message *messages, size_t count);

	/*
	 * A question, asked before a peer of another host is given up because nothing came from it for
	 * FI_PGAS_PEER_TIMEOUT: is its process known to be stopped, or held by a debugger? While the answer is true,
	 * and for the same time after that, the peer is waited for. peer: its address in the vector of an endpoint of
	 * this domain. stopped is called with the domain's lock held, by whichever thread makes progress, the
	 * provider's own included: it must answer at once and call nothing of this domain. NULL: nobody knows, as at
	 * the beginning.
	 */
	int (*peers_stopped)(struct fid_domain *domain, bool (*stopped)(void *context, fi_addr_t peer), void *context);
};

#ifdef __cplusplus
}
#endif

#endif /* FI_EXT_PGAS_H */
