// SPDX-License-Identifier: BSD-3-Clause
//
// The shared-memory wire: peers on this host. Its state per domain, endpoint and peer, and the calls between its files.
// Nothing outside this folder includes this.
//
//   shm_wire    the table; life, addresses, connections       shm_ring     sending into a peer's ring
//   shm_attach  our entry in a peer's list of senders          shm_drain    receiving from our own ring
//   shm_rma     writes, reads and atomics by the initiator     shm_inplace  messages that are read in place
//   shm_send    messages; long ones read from the sender       shm_remote   memory of peers, mapped here
//   shm_key     regions that peers can look up                 shm_window   memory of peers for inline code
//   shm_door    sleeping and waking                            shm_watch    the death of peers and senders
//   shm_lock    the lock for wide atomics                      shm_segment, shm_process
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/pgas_ep.hpp"
#include "support/pgas_iov.hpp"
#include "engine/pgas_peer.hpp"
#include "engine/pgas_request.hpp"
#include "engine/pgas_target.hpp"
#include "shm_segment.hpp"

namespace pgas {

struct remote_domain;

// --- this process ----------------------------------------------------------------------------------------------------

// The registrations of a domain, in memory that peers read.
struct key_table {
	key_entry *entries = nullptr;
	part_entry *parts = nullptr;
	std::unordered_map<uint64_t, uint32_t> index;          // live keys
	std::vector<std::pair<uint32_t, uint32_t>> free_parts; // first, count
	uint32_t parts_used = 0;

	// Fills an entry; publish() makes it live. -FI_ENOSPC if there is no room.
	int open(const mr &m);
	void publish(uint64_t key, uint16_t wr_cntr, uint16_t rd_cntr);
	void close(uint64_t key);
	key_entry *find(uint64_t key);
};
// Reads an entry of a table that its owner may change meanwhile. Returns false if the key is not live.
bool key_read(const key_entry *table, uint64_t key, key_entry &copy, const key_entry **where);

struct shm_domain : wire_domain {
	segment shared;
	key_table keys;
	std::unordered_map<uint64_t, std::unique_ptr<remote_domain>> remotes; // by nonce

	pgas_door *door() const { return shared.at<pgas_door>(kDoorOff); }
};
inline shm_domain &shm_of(const domain *dom) // shm is always the first wire
{
	return *static_cast<shm_domain *>(dom->wires[0]);
}

struct shm_ep : wire_ep {
	segment seg;
	ep_shared *shared = nullptr;
	pgas_ring *ring = nullptr;
	uint64_t head = 0; // of the ring; the shared copy is for senders. The watcher reads this one
	uint64_t mask = 0;
	pgas_slot *slots = nullptr;
	eager_area eager;
	bool told_garbage = false;         // report only once
	uint64_t watch_state = 0;          // watcher: the state that it saw at the head of the ring
	std::vector<uint64_t> watch_eager; // watcher: the claims of the eager buffers at its last check
	std::unordered_map<uint64_t, remote_domain *>
		open_windows; // ranks that inline code reaches; under watch_barrier

	attach_entry *attaches() const { return seg.at<attach_entry>(kAttachOff); }
	uint64_t head_state() const { return pgas_load_acquire(&slots[head & mask].state); }
	bool head_is_free() const { return slot_state_of(head_state(), head) == slot_state::free; }
};
inline shm_ep &shm_of(wire_ep &ep)
{
	return static_cast<shm_ep &>(ep);
}
inline const shm_ep &shm_of(const wire_ep &ep)
{
	return static_cast<const shm_ep &>(ep);
}
inline shm_ep *shm_of(const ep_core *ep) // null before it is enabled
{
	return static_cast<shm_ep *>(ep->wire_eps[0]);
}

// --- other processes -------------------------------------------------------------------------------------------------

// How the memory of one part of a peer's region is reached.
enum class part_access : uint8_t {
	here, // `local` is its address here: mapped, or our own memory
	far,  // by process_vm, at `va` of the peer; or by request
};

struct xlate_part {
	uint64_t off, len;
	part_access how;
	char *local;
	uint64_t va;
	mapping map;
};

// A key of a peer, translated.
struct xlate {
	const key_entry *entry = nullptr;
	uint64_t live = 0;
	uint64_t base = 0, len = 0;
	uint32_t access = 0, flags = 0;
	uint16_t wr_cntr = kNoCounter, rd_cntr = kNoCounter;
	mapping reserve; // guard pages around a contiguous window
	std::vector<xlate_part> parts;
	char *window = nullptr; // the whole region here, by its offsets or as our own is (laid_out: domain::layout)
	uint64_t window_len = 0;
	bool laid_out = false;
	bool shown = false; // fronts have or had the window: inline code may be using it
	uint64_t to_offset(uint64_t addr, bool &ok) const;
};

// A domain of another process on this host (or our own), shared by all endpoints that talk to it.
struct remote_domain {
	domain *dom; // ours
	segment seg; // the peer's, unless self
	char *shared = nullptr;
	bool self = false;
	bool cma = false; // process_vm works for it
	std::atomic<bool> dead{false};
	uint32_t pid = 0;
	uint64_t start_time = 0;
	uint64_t nonce = 0;
	uint32_t users = 0;
	bool given_out = false; // the application has addresses in its windows (fi_pgas_ops::window)
	std::unordered_map<uint64_t, std::unique_ptr<xlate>> cache; // by key
	std::vector<std::unique_ptr<xlate>> retired; // windows of closed regions whose address range must stay
	pgas_door *door() const { return reinterpret_cast<pgas_door *>(shared + kDoorOff); }
	remote_counter *counters() const { return reinterpret_cast<remote_counter *>(shared + kCountersOff); }
	amo_lock *lock() const { return reinterpret_cast<amo_lock *>(shared + kLockOff); }
	const key_entry *keys() const { return reinterpret_cast<const key_entry *>(shared + kKeysOff); }
	const part_entry *parts() const { return reinterpret_cast<const part_entry *>(shared + kPartsOff); }
	~remote_domain();
};
int remote_domain_get(domain *dom, uint32_t pid, int fd, uint64_t nonce, remote_domain **out);
void remote_domain_put(remote_domain *r);
// Frees the memory behind all of its mappings and replaces it by private memory: threads may still be using it.
void remote_domain_hollow(remote_domain *r);
// Returns the translation of a key, made or renewed as needed. -FI_EKEYREJECTED if the key is not registered.
int remote_translate(remote_domain *r, uint64_t key, xlate **out);

inline constexpr uint32_t kTurns = 8; // threads that each rotate through eager buffers of their own

struct shm_peer : wire_peer {
	peer *engine_peer = nullptr;
	remote_domain *rdom = nullptr;
	segment seg; // its endpoint segment
	ep_shared *shared = nullptr;
	pgas_ring *ring = nullptr;
	uint64_t mask = 0; // of the ring; it and eager are what the owner wrote, checked at connect
	eager_area eager;
	// eager.returns as we last saw them: 32-bit counts that only grow, so old values do not mislead
	uint32_t *returns_seen = nullptr; // in returns_room, starting at a cache line as those do
	std::vector<uint32_t> returns_room;
	struct alignas(PGAS_CACHE_LINE) turn {
		uint32_t buffer; // the buffer to try first
	};
	turn turns[kTurns];  // by thread; the first is for the thread that holds the lock
	uint32_t attach = 0; // our index in its attach table
	uint32_t places = 0; // claimed under the lock and not published: a thread writes there
	bool hollow = false; // dead, and its memory was freed; the addresses stay

	bool dead() const { return rdom->dead.load(std::memory_order_acquire); }
};
inline shm_peer &shm_state_of(const peer &p)
{
	return wire_state_of<shm_peer>(p, g_shm_wire);
}
inline shm_peer &shm_of(const peer &p) // for a peer whose own table was called: transfers have no instruction to spare
{
	return *static_cast<shm_peer *>(p.wire_state.get());
}

// --- connections -----------------------------------------------------------------------------------------------------

int shm_attach(const ep_core *ep, shm_peer *p); // enters us in the peer's attach table; -FI_EAGAIN: try again soon
void shm_detach(shm_peer *p);

// --- windows (shm_window.cpp) ----------------------------------------------------------------------------------------

void open_to_inline_code(shm_ep *ep, shm_peer *p);
void close_to_inline_code(shm_ep *ep, const peer *p);
void publish_window(shm_ep *ep, shm_peer *p);
// Was key 0 used without a window yet, or with one of an earlier registration?
bool wants_window(const peer *p, const op &o, const xlate &x);
// Does the application have addresses in the windows, from the window call or symmetric addressing? It may read what
// the dead peer left, and store, at any time: nothing changes there before fi_av_remove.
bool windows_given_out(const remote_domain *r);
// Has inline code certainly left all windows of this domain, once the fronts no longer show them? Domain's lock held.
bool windows_quiet(const remote_domain *r);
void windows_close_all(const remote_domain *r, bool messages_too); // on all fronts
void shm_windows_close(wire_ep &ep, pgas_ep *front);
void shm_windows_rebias(wire_ep &ep, pgas_ep *front, uint64_t bias);
void shm_window(wire_ep &ep, peer &p);

// --- one-sided, messages ---------------------------------------------------------------------------------------------

int shm_rma(wire_ep &ep, peer &p, op &o);
int shm_amo(wire_ep &ep, peer &p, op &o);
wide_lock shm_wide_lock(amo_lock *addr);

int shm_send(wire_ep &ep, peer &p, op &o);
int shm_send_pieces(peer &p, const void *head, size_t head_len, const void *data, size_t len);
int shm_pull(wire_ep &ep, peer &sender, rx_entry *rx, const char *bytes, completion &c);
void shm_discard(peer &sender, const char *bytes);
int shm_control(peer &p, const control &m);
size_t shm_control_room(const peer &p);
int shm_claim(peer &p, size_t len, fi_pgas_place *place);
int shm_publish(peer &p, fi_pgas_place *place, size_t head_len, size_t len);
void shm_abandon(peer &p, fi_pgas_place *place);
size_t shm_take(wire_ep &ep, fi_pgas_message *m, size_t count);
void shm_give_back(const fi_pgas_message *m, size_t count);

// The contents of one slot; the payload is gathered from a head and an iov (from `skip` on).
struct ring_message {
	uint8_t kind;
	uint8_t flags = 0;
	uint64_t len = 0;
	uint64_t word = 0; // by kind: tag, code or head_bytes of pgas_slot
	uint64_t data = 0;
	const void *head = nullptr;
	size_t head_len = 0;
	const iovec *iov = nullptr;
	size_t iov_count = 0;
	size_t skip = 0;
	size_t iov_len = 0;
};
// Sends it inline or through an eager buffer. -FI_EAGAIN if there is no room, -FI_ECONNRESET if there never will be,
// -FI_EMSGSIZE if it fits neither.
int ring_send(shm_peer *p, const ring_message &m);
// The same for an fi_send message in two pieces; the slot also gets a copy of the first one (message_send of
// fi_ext_pgas.h).
int ring_send_pieces(shm_peer *p, const void *head, size_t head_len, const void *data, size_t len);
// The first position that no sender has claimed. The hint may be below it: a sender stores it after its claim, so other
// senders may move it back, and a sender that is killed in between never stores it.
uint64_t ring_tail(const shm_peer *p);

// The claim that a message just received from the ring has on its buffer, and returning that claim: by number, so that
// returning it twice (a sender that died while its message was handled) has no further effect, even if another sender
// has claimed the buffer in between.
inline uint32_t eager_holder(const uint32_t *returns)
{
	return pgas_load_relaxed(returns) + 1;
}
inline void eager_return(uint32_t *returns, uint32_t claim)
{
	if (PGAS_LIKELY(claim - pgas_load_relaxed(returns) == 1))
		pgas_store_release(returns,
				   claim); // pairs with load_acquire in refresh_returns(): we have read the bytes
}

// What is sent if the bytes stay at the sender.
struct long_message {
	uint64_t op_id;
	uint32_t iov_count;
	uint32_t pad_;
	struct {
		uint64_t addr, len;
	} iov[kIovLimit];
};
static_assert(sizeof(long_message) <= PGAS_SLOT_INLINE);

// A slot as the receiver reads it: copied once, because the sender's process could still write to it, and checked.
// Valid: src is an index of the attach table, kind a kind, aux (with PGAS_SLOT_EAGER) a buffer, and bytes has the len
// bytes, or the head of a long message. The bytes themselves are checked by the code that reads them.
struct slot_message {
	uint32_t src;
	uint8_t kind, flags;
	uint16_t aux;
	uint64_t len, word, data;
	const char *bytes;
	bool read(const shm_ep *ep, const pgas_slot *s);
};
// Reports something in shared memory that this provider never writes, once per endpoint.
void garbage_found(shm_ep *ep, const char *what);

bool shm_settle(wire_ep &ep);
bool shm_progress(wire_ep &ep);

// --- sleeping, death of peers ----------------------------------------------------------------------------------------

void door_register(); // once per process that may ring doors
uint32_t shm_announce(wire_domain &d);
void shm_sleep(wire_domain &d, uint32_t ticket, uint64_t max_ns);
void shm_wake(wire_domain &d);

bool sender_gone(const shm_ep *ep, uint32_t attach); // the process of one of our attach entries
bool watch_start();                                  // false: its thread cannot be started, and nothing closes counters
void watch_domain(domain *dom);
void unwatch_domain(domain *dom);
void watch_remote(remote_domain *r);
void unwatch_remote(remote_domain *r);

} // namespace pgas
