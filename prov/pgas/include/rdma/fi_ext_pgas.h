/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extensions of the pgas provider beyond libfabric's own calls, among them memory that peers can map, and one region
 * made of several mapped parts with holes between them. See fi_pgas(7).
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

/* ep_attr->protocol. Positive as an int, since some clients keep it in one; libfabric's own numbers are small. */
#define FI_PGAS_PROTOCOL 0x7067

/*
 * Flag of fi_ep_alias: one thread at a time uses this alias, whatever the domain's threading model. Its puts, gets and
 * atomics to mapped memory take the fast path, execute no locked instruction for bookkeeping, and do not change bound
 * counters.
 */
#define FI_PGAS_PRIVATE (1ULL << 60)

/*
 * Flag of fi_readmsg, fi_writemsg, fi_atomicmsg, fi_fetch_atomicmsg and fi_compare_atomicmsg: the call returns when
 * this one operation is complete (a write: at its target), and returns its result. It waits where others return
 * -FI_EAGAIN, makes progress on the whole domain meanwhile, and writes no completion entry. Bound counters count its
 * success. A write that has FI_TRANSMIT_COMPLETE too may return as soon as its source can be reused; a later failure is
 * counted and reported by failed().
 */
#define FI_PGAS_WAIT (1ULL << 61)

/*
 * len bytes at offset off of a region are backed by file fd from fd_off on. off, fd_off and len are multiples of the
 * page size.
 */
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

/* A message that was taken and not released yet. */
struct fi_pgas_message {
	void *buf; /* the receiver's own memory, which it may change */
	size_t len;
	/* a second copy of the first piece of message_send, where reading it is cheaper; NULL: it is in buf only */
	const void *head;
	uint64_t opaque_[4];
};

/* A place at a peer for one message, to be filled. */
struct fi_pgas_place {
	/* a place of up to PGAS_SLOT_PLAIN bytes begins 8 bytes after a multiple of 16, a larger one at one of 64 */
	void *buf;
	size_t room; /* at least the requested size */
	uint64_t opaque_[5];
};

#define FI_PGAS_GATE_BYTES 512
#define FI_PGAS_START_BYTES 64

struct fi_pgas_ops {
	size_t size;

	/*
	 * Registers [base, base + span) under key, of which only the parts exist. Peers map it at one base address,
	 * with guard pages in the holes, so that one subtraction turns an address into an offset.
	 */
	int (*mr_reg_parts)(struct fid_domain *domain, void *base, size_t span, uint64_t access, uint64_t key,
			    const struct fi_pgas_part *parts, size_t count, struct fid_mr **mr);

	/* Memory backed by a descriptor of this process, so that peers can map a registration of it. */
	int (*mem_alloc)(struct fid_domain *domain, size_t len, void **ptr);
	int (*mem_free)(struct fid_domain *domain, void *ptr, size_t len);

	/*
	 * Connects to a peer now instead of at the first transfer, and returns the address at which its key-0 region is
	 * mapped in this process (NULL: it is not mapped).
	 */
	int (*window)(struct fid_ep *ep, fi_addr_t addr, void **base);

	/*
	 * Symmetric addressing: from now on key-0 addresses given to this endpoint (or alias) are addresses of this
	 * process's own key-0 region, which begins at base, a multiple of the page size. Saves the caller the
	 * subtraction.
	 */
	int (*symmetric)(struct fid_ep *ep, const void *base);

	/* Makes progress until every operation that this endpoint started before is complete. */
	int (*drain)(struct fid_ep *ep);

	void (*unused_[2])(void); /* they had the forms of messages_take and messages_release for one message */

	/*
	 * Sends one message of two pieces, up to FI_PGAS_EAGER_SIZE bytes; the pieces may be reused when it returns. No
	 * completion, no count, no progress: after -FI_EAGAIN the caller should take its own messages first.
	 */
	ssize_t (*message_send)(struct fid_ep *ep, fi_addr_t addr, const void *head, size_t head_len, const void *data,
				size_t len);

	/*
	 * Symmetric addressing of a key-0 region in pieces, whose distances differ from process to process: offsets are
	 * the same everywhere, addresses need not be. mr_reg_parts of key 0 then finds its parts at the addresses given
	 * here (base: the lowest of them), symmetric takes that base, and windows on peers have the distances of our
	 * own pieces. Call it before key 0 is registered and before the first transfer; later it returns -FI_EBUSY.
	 */
	int (*symmetric_layout)(struct fid_domain *domain, const struct fi_pgas_piece *pieces, size_t count);

	/*
	 * Order: one-sided operations submitted to a peer from now on run there after all those submitted to it before.
	 * Where the connection to the peer keeps order anyway, there is no wait.
	 */
	int (*fence)(struct fid_ep *ep);

	/*
	 * The first one-sided operation of this endpoint that failed after its call had returned, since the last call
	 * of this function: -FI_E*, and *addr is its peer (FI_ADDR_NOTAVAIL: a peer in no address vector). 0: none.
	 */
	int (*failed)(struct fid_ep *ep, fi_addr_t *addr);

	/*
	 * Progress of everything in the domain: 1 when something moved, 0 when not. wait sleeps when nothing moved,
	 * until something arrives or max_ns have passed; peers' stores into our memory do not end the sleep.
	 * -FI_EOPNOTSUPP with FI_THREAD_COMPLETION, where endpoints belong to different threads.
	 */
	int (*progress)(struct fid_domain *domain);
	int (*wait)(struct fid_domain *domain, uint64_t max_ns);

	/* Makes progress, then returns 1 when everything that this endpoint started is complete, else 0. */
	int (*settled)(struct fid_ep *ep);

	/*
	 * The fastest form of an injected write to another host: the first len bytes (1 to 8) of value, little endian,
	 * to key 0. 0: they are in a packet that is being filled, or in flight. -FI_EAGAIN: not possible now, and
	 * nothing was done, whether there is no such packet or there is an error; fi_inject_write then does it, or
	 * returns the error.
	 */
	int (*put_word)(struct fid_ep *ep, uint64_t addr, uint64_t value, size_t len, fi_addr_t dest);

	/*
	 * The same for a read of len bytes (1 to 8), and for a fetching or comparing atomic on one element of up to 8
	 * bytes, whose operands are in the first bytes of the words. These wait for their result, as with FI_PGAS_WAIT,
	 * but increment no counter. -FI_EAGAIN as above; any other error is the operation's.
	 */
	int (*get_word)(struct fid_ep *ep, uint64_t addr, size_t len, fi_addr_t dest, uint64_t *value);
	int (*fetch_word)(struct fid_ep *ep, uint64_t addr, enum fi_datatype datatype, enum fi_op op, uint64_t operand,
			  uint64_t compare, fi_addr_t dest, uint64_t *old);

	/*
	 * Why a peer is lost, as readable text: at most room bytes with the terminating zero. Returns its length; 0
	 * when nothing is known beyond the error of the operations to it.
	 */
	size_t (*reason)(struct fid_ep *ep, fi_addr_t peer, char *text, size_t room);

	/*
	 * Registers a gate under key: when a peer on another host puts up to len bytes (FI_PGAS_GATE_BYTES at most) at
	 * offset 0 of it, serve is called here with them, by whichever thread makes progress, before the put counts as
	 * complete. serve returns 0 or -FI_E*, which becomes the result of the peer's operation. It must check its
	 * input, and call nothing of this domain. The region is not memory: other operations on it are refused or have
	 * no effect, and puts by peers on this host do not call serve.
	 */
	int (*mr_reg_gate)(struct fid_domain *domain, size_t len, uint64_t key,
			   int (*serve)(void *arg, const void *bytes, size_t len), void *arg, struct fid_mr **mr);

	/*
	 * Receiving without posted buffers: returns the next fi_send messages where they arrived, up to count (at most
	 * half of FI_PGAS_RX_SLOTS), and their number, at least one; or -FI_EAGAIN. They stay there until
	 * messages_release, which may be called in any order and from any thread; places are few, so release soon. An
	 * endpoint that takes messages posts no receives, and its messages are at most FI_PGAS_EAGER_SIZE long. A
	 * message of up to PGAS_SLOT_PLAIN bytes begins 8 bytes after a multiple of 16, a longer one at a multiple of
	 * 64; one that the provider had to move begins at a multiple of 16. Where threads share the domain, one call
	 * locks once. fi_cq_read of the queue bound with FI_RECV returns -FI_EAGAIN at once, inline, as long as there
	 * is no message to take.
	 */
	int (*messages_take)(struct fid_ep *ep, struct fi_pgas_message *messages, size_t count);

	/*
	 * Sending without a copy, to peers on this host: claims a place for a message of up to len bytes where it will
	 * arrive. The caller writes the message there and publishes its len bytes, of which the receiver reads the
	 * first head_len first; or abandons the place. Both must be done by the thread that claimed it, and soon:
	 * messages from other senders to the peer may wait for it, until this process ends. A peer with a claimed place
	 * may die, but must not be removed. message_claim: -FI_EAGAIN: no place is free; -FI_EOPNOTSUPP: this peer does
	 * not offer places. message_publish: -FI_EAGAIN: not now, and the place stays claimed; with any other error the
	 * place is released.
	 */
	int (*message_claim)(struct fid_ep *ep, fi_addr_t addr, size_t len, struct fi_pgas_place *place);
	int (*message_publish)(struct fid_ep *ep, struct fi_pgas_place *place, size_t head_len, size_t len);
	void (*message_abandon)(struct fid_ep *ep, struct fi_pgas_place *place);

	/*
	 * Device memory of a domain with FI_HMEM. mr_direct: 1 when the network to other hosts accesses this region
	 * directly, so that long puts and gets bypass host memory; the region is registered with that network now.
	 * Otherwise 0: they are staged in host memory, on the owner's side. device_rma: write, read and their variants
	 * that check descriptors, for endpoints whose own calls do not because they were opened without FI_HMEM.
	 */
	int (*mr_direct)(struct fid_mr *mr);
	const struct fi_ops_rma *device_rma;

	/*
	 * Another party ends this process when a peer on this host dies, such as a launcher that watches the whole job:
	 * the provider starts no thread to detect it, and a program without threads keeps an allocator without locks.
	 * Operations to such a peer then do not fail, and its resources are not released. That thread also detects
	 * requests of peers that are pending at a program that reads nothing but hot counters; without it every
	 * fi_cntr_read makes progress, through the table. Call it before the first endpoint of the domain is opened;
	 * later it returns -FI_EBUSY.
	 */
	int (*peers_watched)(struct fid_domain *domain);

	/* Releases messages that were taken together, or some of them, with one fence. */
	void (*messages_release)(struct fid_ep *ep, struct fi_pgas_message *messages, size_t count);

	/*
	 * A callback, called before a peer on another host is given up because nothing arrived from it for
	 * FI_PGAS_PEER_TIMEOUT: is its process known to be stopped, or held by a debugger? While it returns true, and
	 * for the same time after that, the provider keeps waiting for the peer. peer: its address in the vector of an
	 * endpoint of this domain. stopped is called with the domain's lock held, by whichever thread makes progress,
	 * including the provider's own: it must return at once and call nothing of this domain. NULL, the initial
	 * state: no callback.
	 */
	int (*peers_stopped)(struct fid_domain *domain, bool (*stopped)(void *context, fi_addr_t peer), void *context);

	/*
	 * A callback, called again and again by a thread that waits for a peer inside drain, or inside a call with
	 * FI_PGAS_WAIT, once the wait has lasted for a while. No lock is held, but the call is not over: the callback
	 * calls nothing of this domain. NULL, the initial state: no callback.
	 */
	int (*on_wait)(struct fid_domain *domain, void (*waits)(void));

	/*
	 * get_word and fetch_word without the wait: many of them travel in one packet, and so do their results. A read
	 * may have up to FI_PGAS_START_BYTES. 0: started, and place has the result when drain or settled says that all
	 * is complete; until then the provider writes there, from any thread. It must be host memory. If the operation
	 * fails, place is unchanged, and failed() reports the error. While too many are in flight, the call makes
	 * progress on the domain and waits. -FI_EAGAIN as for put_word.
	 */
	int (*start_get)(struct fid_ep *ep, uint64_t addr, size_t len, fi_addr_t dest, void *place);
	int (*start_fetch)(struct fid_ep *ep, uint64_t addr, enum fi_datatype datatype, enum fi_op op, uint64_t operand,
			   uint64_t compare, fi_addr_t dest, void *place);

	/*
	 * While a domain is held, a short operation to another host that finds nothing in flight there waits for others
	 * in its packet, instead of leaving alone. The packet leaves when it has some, and at every progress, drain and
	 * settled. For a batch of operations, between begin = 1 and begin = 0, which sends what waits; pairs nest.
	 */
	int (*hold)(struct fid_domain *domain, int begin);
};

#ifdef __cplusplus
}
#endif

#endif /* FI_EXT_PGAS_H */
