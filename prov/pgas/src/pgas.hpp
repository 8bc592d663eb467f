// SPDX-License-Identifier: BSD-3-Clause
//
// Internal declarations of the provider: its objects, who owns whom, and the calls between the files. Nothing outside
// prov/pgas/src includes this.
//
//   fabric -> domain -> { ep_core -> peer -> remote_domain, av, cq_core, cntr_core, mr, poll }
//
// Locking: one maybe_mutex per domain guards everything cold of that domain. It is off for FI_THREAD_DOMAIN and
// FI_THREAD_COMPLETION with manual progress, on otherwise. Hot calls never take it.
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include "pgas_fifo.hpp"
#include "pgas_segment.hpp"
#include "pgas_util.hpp"
#include <pgas/pgas_hot.h>
#include <rdma/fi_ext_pgas.h>

namespace pgas {

struct params {
#define PGAS_PARAM(name_arg, field_arg, default_arg, min_arg, max_arg, text_arg) size_t field_arg = (default_arg);
#include "pgas_params.def"
#undef PGAS_PARAM
};
const params &parameters();

inline constexpr size_t kInjectBytes = PGAS_INJECT_BYTES;
inline constexpr size_t kIovLimit = 4;
inline constexpr size_t kRmaIovLimit = 4;
inline constexpr size_t kMrIovLimit = 16;

struct domain;
struct ep_core;
struct av;
struct cq_core;
struct cntr_core;
struct mr;

// --- addresses -------------------------------------------------------------------------------------------------------

// What an address string says. named: a service name that a process of this host and user has bound.
struct ep_address {
	bool named = false;
	bool any = false; // "an address of this host", as fi_getinfo offers before an endpoint exists
	uint64_t host = 0;
	uint32_t pid = 0;
	int fd = -1;
	uint64_t nonce = 0;
	char service[40] = {};
};
struct ep_name {
	char text[kNameBytes];
};
bool address_parse(const char *text, ep_address &out);
ep_name address_format(const ep_address &a);
ep_name address_of_service(const char *service);
ep_name address_of_any();

// Holds a service name of this host, as abstract sockets: gone with the process.
struct service_binding {
	unique_fd name, target;
};
int service_bind(const char *service, const ep_address &where, service_binding &out); // -FI_EADDRINUSE
int service_lookup(const char *service, ep_address &out);                             // -FI_EHOSTUNREACH

// --- fabric, event queue ---------------------------------------------------------------------------------------------

struct fabric {
	fid_fabric fid{};
	std::atomic<int> users{0};
};

struct eq_event {
	uint32_t event;
	std::vector<char> data;
	bool is_error;
	fi_eq_err_entry error;
};

struct eq {
	fid_eq fid{};
	fabric *fab;
	fi_wait_obj wait_obj;
	uint64_t flags;
	size_t room;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;
	unique_fd signal;
	std::deque<eq_event> events;
	std::atomic<int> users{0};
};
int eq_report(eq *q, uint32_t event, fid_t fid, void *context, uint64_t data);
int eq_report_error(eq *q, fid_t fid, void *context, uint64_t data, int err); // err: positive FI_E*

// --- key table of this process ---------------------------------------------------------------------------------------

struct mem_part {
	uint64_t off, len, va, file_off;
	int fd = -1; // borrowed from domain::files
	uint64_t dev = 0, ino = 0;
};

struct key_table {
	key_entry *entries = nullptr;
	part_entry *parts = nullptr;
	std::unordered_map<uint64_t, uint32_t> index;          // live keys
	std::vector<std::pair<uint32_t, uint32_t>> free_parts; // first, count
	uint32_t parts_used = 0;

	// Fills an entry; publish() makes it live. -FI_ENOKEY when the key is taken.
	int open(uint64_t key, uint64_t base, uint64_t len, uint32_t access, uint32_t flags,
		 const std::vector<mem_part> &p);
	void publish(uint64_t key);
	void close(uint64_t key);
	key_entry *find(uint64_t key);
};
// Reads an entry of a table that its owner may change meanwhile. Answers false when the key is not live.
bool key_read(const key_entry *table, uint64_t key, key_entry &copy, const key_entry **where);

// --- domain ----------------------------------------------------------------------------------------------------------

struct shared_file { // a file that backs registered memory; one descriptor however many registrations
	unique_fd fd;
	uint32_t users = 0;
};

struct remote_domain;

// Where our own key 0 lies (pgas_layout.cpp). Written once, before the first transfer.
struct key0_piece {
	uint64_t at, off, len;
};
struct key0_layout {
	uint64_t base = 0, span = 0;    // of the addresses; offsets begin at 0
	std::vector<key0_piece> pieces; // by address; none: addresses are the base and an offset

	bool given() const { return !pieces.empty(); }
	uint64_t to_offset(uint64_t addr) const;                         // UINT64_MAX when it is in no piece
	bool to_address(uint64_t off, uint64_t len, uint64_t &at) const; // false when it is not within one piece
};

struct domain {
	fid_domain fid{};
	fabric *fab;
	maybe_mutex mutex;
	fi_threading threading;
	fi_progress progress;
	int mr_mode;
	uint64_t caps;
	segment shared;
	key_table keys;
	key0_layout layout;
	std::vector<bool> counter_used;
	// provider keys, when the client wants us to choose
	uint64_t next_key = 1;
	std::unordered_map<uint64_t, std::unique_ptr<remote_domain>> remotes; // by nonce
	std::unordered_map<uint64_t, shared_file> files;                      // by file_id()
	// fi_pgas_ops::mem_alloc: address -> file_id()
	std::unordered_map<uintptr_t, uint64_t> allocations;
	// these three change under the domain's lock and the watch_barrier
	std::vector<ep_core *> eps;
	std::vector<cq_core *> cqs;
	std::vector<cntr_core *> cntrs;
	std::atomic<uint32_t> attention{0}; // grows when the watcher saw something: cold path, look
	std::atomic<uint32_t> polled{0};    // cold polls by the application; the progress thread naps while it moves
	std::atomic<bool> thread_stop{false};
	pthread_t thread;
	bool thread_running = false;
	std::atomic<int> users{0};
	eq *bound_eq = nullptr;

	pgas_door *door() const { return shared.at<pgas_door>(kDoorOff); }
	remote_counter *counters() const { return shared.at<remote_counter>(kCountersOff); }
	bool shared_by_threads = false; // counters and queues may be touched by two threads at once
	bool hot_allowed() const { return !shared_by_threads; }
};
// A hint to the progress thread. Two threads may count as one; all that matters is that the number moves.
inline void domain_polled(domain *dom)
{
	dom->polled.store(dom->polled.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

uint64_t file_id(int fd, uint64_t *dev, uint64_t *ino); // one number per file, 0 when it is no regular file
void domain_file_release(domain *dom, uint64_t id);
int key0_layout_set(domain *dom, const fi_pgas_piece *list, size_t count);
int domain_start_thread(domain *dom);
void domain_stop_thread(domain *dom);
// Announces a sleeper; answers the doorbell's number. Whatever arrives from now on rings. Then look once more, and
// wait.
uint32_t door_announce(domain *dom);
void door_register();                                       // once per process that may ring doors
void door_wait(domain *dom, uint32_t seq, uint64_t max_ns); // max_ns 0: only take the announcement back

// --- memory regions --------------------------------------------------------------------------------------------------

struct mr {
	fid_mr fid{};
	domain *dom;
	bool open = false; // listed in the key table
	std::vector<mem_part> parts;
	uint64_t base, len;
	uint64_t access;
	uint32_t flags;
	uint64_t key;
	cntr_core *rem_wr = nullptr, *rem_rd = nullptr;
	ep_core *bound_ep = nullptr;
	bool deferred = false; // waits for fi_mr_enable
	std::vector<uint64_t> files;
};
extern fi_ops_mr g_mr_ops;
int mr_register_parts(domain *dom, void *base, size_t span, uint64_t access, uint64_t key, const fi_pgas_part *parts,
		      size_t count, fid_mr **out);

// --- completion objects ----------------------------------------------------------------------------------------------

struct completion {
	void *context = nullptr;
	uint64_t flags = 0;
	size_t len = 0;
	void *buf = nullptr;
	uint64_t data = 0;
	uint64_t tag = 0;
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	size_t olen = 0;
	int err = 0; // positive FI_E*: an error entry
	int prov_errno = 0;
};

struct cq_core {
	pgas_cq *front;
	domain *dom;
	fi_cq_format format;
	fi_wait_obj wait_obj;
	uint64_t flags;
	size_t room;
	fifo<completion> entries;
	std::vector<ep_core *> eps; // whose rings a read of this queue drains
	std::atomic<int> users{0};  // poll sets
	std::atomic<bool> signalled{false};
	unique_fd event;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	fi_mutex_cond mutex_cond{&mutex, &cond};

	bool full() const { return entries.size() >= room; }
};
void cq_push(cq_core *cq, const completion &c);
void cq_update_poll(cq_core *cq);
void cq_force_look(cq_core *cq); // from the watcher: the next read takes the long way
void cntr_force_look(cntr_core *c);
int cq_open(fid_domain *dom, fi_cq_attr *attr, fid_cq **out, void *context) noexcept;

struct cntr_core {
	pgas_cntr *front;
	domain *dom;
	fi_wait_obj wait_obj;
	uint16_t remote = kNoCounter; // slot in the domain's shared counters
	uint64_t bound_flags = 0;
	uint64_t polled_value = 0;    // value at the last fi_poll or fi_trywait
	uint64_t signalled_value = 0; // value at the last wake-up of a wait object
	std::vector<ep_core *> eps;
	std::atomic<int> users{0};
	unique_fd event;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	fi_mutex_cond mutex_cond{&mutex, &cond};
};
int cntr_open(fid_domain *dom, fi_cntr_attr *attr, fid_cntr **out, void *context) noexcept;
int cntr_need_remote(cntr_core *c); // gives it a slot that peers can add to
void cntr_update_hot(cntr_core *c);
uint64_t cntr_value(const cntr_core *c);
uint64_t cntr_error(const cntr_core *c);
void cntr_signal(cntr_core *c);

int poll_open(fid_domain *dom, fi_poll_attr *attr, fid_poll **out) noexcept;
int fabric_trywait(fid_fabric *fab, fid **fids, int count) noexcept;

// --- address vector --------------------------------------------------------------------------------------------------

struct av_entry {
	bool used = false;
	ep_name name;
	fi_addr_t user_id = FI_ADDR_NOTAVAIL; // as completions show it
};

struct av {
	fid_av fid{};
	domain *dom;
	fi_av_type type;
	eq *bound_eq = nullptr;
	uint64_t flags = 0;
	std::vector<av_entry> entries;
	std::vector<uint32_t> holes;
	std::unordered_multimap<std::string, uint32_t> by_name; // canonical name -> index
	uint64_t changes = 0;
	std::vector<ep_core *> eps;
	std::atomic<int> users{0};
};
int av_open(fid_domain *dom, fi_av_attr *attr, fid_av **out, void *context) noexcept;

// --- wires and peers -------------------------------------------------------------------------------------------------

// One piece of a translated region. reachable: local is its address here (mapped, or our own memory); else va is for
// process_vm.
struct xlate_part {
	uint64_t off, len;
	bool reachable;
	char *local;
	uint64_t va;
	mapping map;
};

struct xlate {
	const key_entry *entry = nullptr;
	uint64_t live = 0;
	uint64_t base = 0, len = 0;
	uint32_t access = 0, flags = 0;
	uint16_t wr_cntr = kNoCounter, rd_cntr = kNoCounter;
	mapping reserve; // guard pages around a contiguous window
	std::vector<xlate_part> parts;
	char *window = nullptr; // whole region here, at its offsets, or as our own lies (laid_out: domain::layout)
	uint64_t window_len = 0;
	bool laid_out = false;
	bool shown = false; // fronts have or had the window: inline code may be inside it
	uint64_t to_offset(uint64_t addr, bool &ok) const;
};

// A domain of another process on this host (or our own), shared by all endpoints that talk to it.
struct remote_domain {
	domain *dom; // ours
	segment seg; // peer's, when not self
	char *shared = nullptr;
	bool self = false;
	bool cma = false; // process_vm works for it
	std::atomic<bool> dead{false};
	uint32_t pid = 0;
	uint64_t start_time = 0;
	uint64_t nonce = 0;
	uint32_t users = 0;
	// the application has addresses in its windows (fi_pgas_ops::window)
	bool given_out = false;
	std::unordered_map<uint64_t, std::unique_ptr<xlate>> cache; // by key
	std::vector<std::unique_ptr<xlate>> retired;                // windows of closed regions whose place must stay
	pgas_door *door() const { return reinterpret_cast<pgas_door *>(shared + kDoorOff); }
	remote_counter *counters() const { return reinterpret_cast<remote_counter *>(shared + kCountersOff); }
	amo_lock *lock() const { return reinterpret_cast<amo_lock *>(shared + kLockOff); }
	const key_entry *keys() const { return reinterpret_cast<const key_entry *>(shared + kKeysOff); }
	const part_entry *parts() const { return reinterpret_cast<const part_entry *>(shared + kPartsOff); }
	~remote_domain();
};
int remote_domain_get(domain *dom, uint32_t pid, int fd, uint64_t nonce, remote_domain **out);
void remote_domain_put(remote_domain *r);
// Gives the memory behind everything mapped of it back, and leaves private memory in its place: threads may still be
// inside.
void remote_domain_hollow(remote_domain *r);
// Has the application addresses of its own in the windows, by the window call or symmetric addressing? It may read what
// the dead left, and store, whenever it likes: nothing changes there before fi_av_remove.
bool windows_given_out(const remote_domain *r);
// Is every window of this domain surely left, once the fronts do not show it any more? Domain's lock held.
bool windows_quiet(const remote_domain *r);
// The translation of a key, made or renewed as needed. -FI_EKEYREJECTED when the key is not registered.
int remote_translate(remote_domain *r, uint64_t key, xlate **out);

struct peer;
struct op;

// A wire moves bytes to peers of one kind. shm is the first; a call answers 0, -FI_EAGAIN or another -FI_E*.
struct wire_ops {
	const char *name;
	bool (*reaches)(const ep_address &a);
	int (*connect)(ep_core *ep, peer *p, const ep_address &a);
	void (*disconnect)(peer *p);
	ssize_t (*rma)(ep_core *ep, peer *p, op &o);
	ssize_t (*amo)(ep_core *ep, peer *p, op &o);
	ssize_t (*send)(ep_core *ep, peer *p, op &o);
};
extern const wire_ops g_shm_wire;
const wire_ops *wire_for(const ep_address &a);

// fresh -> connected (peer_connect) or failed (and tried again); connected -> gone when its process died and nothing of
// it is mapped any more. fi_av_remove and closing the endpoint end a peer in any state.
enum class peer_state : uint8_t { fresh, connected, failed, gone };

struct peer {
	ep_core *ep;
	fi_addr_t rank = FI_ADDR_NOTAVAIL; // NOTAVAIL: a sender that is not in our address vector
	ep_name name{};
	ep_name real_name{}; // where a service name led
	const wire_ops *wire = nullptr;
	peer_state state = peer_state::fresh;
	int error = 0; // why it failed, -FI_E*
	uint64_t failed_at = 0;
	remote_domain *rdom = nullptr;
	segment seg; // its endpoint segment
	ep_shared *shared = nullptr;
	pgas_ring *ring = nullptr;
	uint64_t mask = 0; // of the ring, and eager: what its owner wrote, checked at connect
	eager_area eager;
	// eager.returns, as we saw them last: 32 bits that only grow, so old ones do not mislead
	std::vector<uint32_t> returns_seen;
	uint32_t eager_at = 0;  // the buffer to try first
	uint32_t attach = 0;    // our index in its attach table
	uint32_t one_sided = 0; // pending one-sided operations to it
	uint32_t replies = 0;   // of ep_core::replies
	bool hollow = false;    // dead, and its memory is given back; the addresses stay
	bool dead() const { return rdom && rdom->dead.load(std::memory_order_acquire); }
};
// The connected peer behind an address, or an error. Connects on first use.
int peer_get(ep_core *ep, fi_addr_t addr, peer **out);
int peer_connect(peer *p);
void peer_disconnect(peer *p);
// Lets go of peers whose process died, and of strangers that departed or are known by an address now. Domain's lock
// held.
void peers_release(ep_core *ep);
// fi_av_remove: everything that goes by this address.
void peer_forget(ep_core *ep, fi_addr_t addr);
// The peer that sent from attach index `src` of our table.
int peer_of_sender(ep_core *ep, uint32_t src, peer **out);
fi_addr_t sender_address(ep_core *ep, uint32_t src);
fi_addr_t source_shown(const ep_core *ep, fi_addr_t addr); // as completions name it: FI_AV_USER_ID
void publish_window(ep_core *ep, peer *p);

// --- operations ------------------------------------------------------------------------------------------------------

enum class op_kind : uint8_t { write, read, amo, send, pull };

// One operation as the general engine sees it; lives on the caller's stack until it must wait, then in
// ep_core::pending.
struct op {
	op_kind kind = op_kind::write;
	uint64_t flags = 0;    // FI_COMPLETION, FI_INJECT, FI_REMOTE_CQ_DATA, ...
	uint64_t cq_flags = 0; // FI_RMA | FI_WRITE, ...
	void *context = nullptr;
	uint64_t data = 0;
	uint64_t tag = 0;
	bool tagged = false;
	bool carries_data = false; // data goes to the target's completion queue
	bool quiet = false;        // inject: no completion entry, ever
	size_t len = 0;
	size_t iov_count = 0;
	iovec iov[kIovLimit];
	size_t rma_count = 0;
	fi_rma_iov rma[kRmaIovLimit];
	// atomics
	fi_datatype type = FI_INT8;
	fi_op amo = FI_SUM;
	uint8_t form = 0; // 0 plain, 1 fetch, 2 compare
	size_t cmp_count = 0, res_count = 0;
	iovec cmp[kIovLimit], res[kIovLimit];
	// while pending
	uint64_t id = 0;
	peer *to = nullptr;
	const pgas_ep *front = nullptr; // the endpoint or alias it was called on
	uint64_t sent = 0, acked = 0;   // bytes (or 1/0 for atomics)
	uint32_t in_flight = 0;
	int status = 0;
	std::vector<char> copy;        // source bytes of an injected operation that must wait
	struct rx_entry *rx = nullptr; // pull: the receive that waits for the bytes
	completion rx_result;          // pull: what the receive will report
	bool late_data = false;        // done but for the cq data, which found the target's ring full
	uint64_t peer_op = 0;          // pull: the sender's operation
};

struct rx_entry {
	rx_entry *next = nullptr, *prev = nullptr;
	uint64_t flags = 0;
	void *context = nullptr;
	uint64_t tag = 0, ignore = 0;
	fi_addr_t src = FI_ADDR_UNSPEC;
	size_t iov_count = 0;
	iovec iov[kIovLimit];
	size_t room = 0;
	// FI_MULTI_RECV: buffers carved out of it are children
	bool multi = false;
	size_t used = 0;
	uint32_t children = 0;
	bool retired = false;
	rx_entry *parent = nullptr;
	// everything but the links and the iov, which whoever posts it fills
	void clear()
	{
		flags = tag = ignore = 0;
		context = nullptr;
		src = FI_ADDR_UNSPEC;
		iov_count = room = used = 0;
		multi = retired = false;
		children = 0;
		parent = nullptr;
	}
};

struct unexpected {
	uint32_t src = 0;
	uint8_t flags = 0;
	uint64_t len = 0, tag = 0, data = 0;
	std::vector<char> bytes; // payload, or struct pgas_long
	bool claimed = false;
	void *claim_context = nullptr;
};

struct rx_queue {
	rx_entry *first = nullptr, *last = nullptr; // posted, oldest first
	std::list<unexpected> waiting;
	void append(rx_entry *e)
	{
		e->next = nullptr;
		e->prev = last;
		(last ? last->next : first) = e;
		last = e;
	}
	void take(rx_entry *e)
	{
		(e->prev ? e->prev->next : first) = e->next;
		(e->next ? e->next->prev : last) = e->prev;
	}
};

// What travels when the bytes stay at the sender.
struct long_message {
	uint64_t op_id;
	uint32_t iov_count;
	uint32_t pad_;
	struct {
		uint64_t addr, len;
	} iov[kIovLimit];
};
static_assert(sizeof(long_message) <= PGAS_SLOT_INLINE);

struct reply { // a response that found the peer's ring full
	peer *to;
	std::vector<char> bytes;
};

struct ep_core {
	domain *dom;
	std::vector<pgas_ep *> fronts; // [0] the endpoint, then its aliases; each owns its mapping
	av *vector = nullptr;
	cq_core *tx_cq = nullptr, *rx_cq = nullptr;
	bool tx_selective = false, rx_selective = false;
	cntr_core *c_send = nullptr, *c_recv = nullptr, *c_read = nullptr, *c_write = nullptr;
	cntr_core *c_rem_read = nullptr, *c_rem_write = nullptr;
	eq *bound_eq = nullptr;
	uint64_t caps = 0, tx_op_flags = 0, rx_op_flags = 0, order = 0;
	size_t min_multi_recv = 64;
	size_t inject_limit = kInjectBytes;
	bool enabled = false;
	bool in_place = false; // messages are taken out of the ring (pgas_inplace.cpp)
	bool serves = false;   // peers asked for our progress: reading a counter must make some
	segment seg;
	ep_shared *shared = nullptr;
	pgas_ring *ring = nullptr;
	uint64_t head = 0; // of the ring; the shared copy is for senders. The watcher reads this one
	uint64_t mask = 0;
	bool told_garbage = false; // once is enough
	pgas_slot *slots = nullptr;
	eager_area eager;
	ep_name name{};
	std::string service;
	service_binding binding;

	std::vector<std::unique_ptr<peer>> peers;                      // by rank
	std::unordered_map<uint32_t, std::unique_ptr<peer>> strangers; // by attach index
	// so many, and the departed among them are looked for
	size_t strangers_sweep = 8;
	struct sender_cache {
		fi_addr_t addr = FI_ADDR_NOTAVAIL;
		uint64_t changes = UINT64_MAX;
		uint64_t serial = 0;
	};
	std::vector<sender_cache> senders; // by attach index
	rx_queue msg, tagged;
	std::vector<rx_entry *> rx_spare;
	std::unordered_map<uint64_t, std::unique_ptr<op>> pending;
	uint32_t one_sided = 0; // of them, as in peer::one_sided
	uint64_t next_op = 1;
	uint32_t pieces = 0; // asked for and not come yet, of all pulls
	std::deque<reply> replies;
	std::unordered_map<void *, std::unique_ptr<unexpected>> claimed;
	uint64_t watch_state = 0; // watcher: what it saw at the head of the ring
	// watcher: who held the eager buffers at its last look
	std::vector<uint64_t> watch_eager;
	uint32_t attended = 0; // dom->attention when this endpoint last looked
	// ranks that inline code reaches; under watch_barrier
	std::unordered_map<uint64_t, remote_domain *> open_windows;

	pgas_ep *front() const { return fronts[0]; }
	bool must_look() const { return dom->attention.load() != pgas_load_relaxed(&attended); }
	attach_entry *attaches() const { return seg.at<attach_entry>(kAttachOff); }
};

int ep_open(fid_domain *dom, fi_info *info, fid_ep **out, void *context) noexcept;
int stx_open(fid_domain *dom, fi_tx_attr *attr, fid_stx **out, void *context) noexcept;
void ep_update_hot(ep_core *ep);
void ep_update_polls(ep_core *ep); // after pending or replies changed
void ep_update_heads(ep_core *ep); // after only the head of the ring moved
inline ep_core *core_of(fid_ep *fid)
{
	return reinterpret_cast<ep_core *>(reinterpret_cast<pgas_ep *>(fid)->core);
}
inline pgas_ep *front_of(fid_ep *fid)
{
	return reinterpret_cast<pgas_ep *>(fid);
}

// Finishes an operation: counters and completion entry (or error entry). o.status decides.
void op_complete(ep_core *ep, op &o);
// Submits: completes at once, keeps it pending, or answers -FI_EAGAIN / an error.
ssize_t op_submit(fid_ep *fid, fi_addr_t addr, op &o);
op *op_keep(ep_core *ep, op &&o, peer *to);
// Default flags of a call without a flags argument on this endpoint.
uint64_t op_default_flags(const pgas_ep *front);

extern fi_ops_rma g_rma_ops, g_rma_ops_hot; // hot: for fronts whose hot_inject is MAGIC_HOT
extern fi_ops_atomic g_amo_ops, g_amo_ops_hot;
extern fi_ops_msg g_msg_ops;
extern fi_ops_tagged g_tagged_ops;

// Adds one to the remote counters of a region and of its endpoint, after the data.

// What a peer's operation did to our memory. A region's counter counts what modified it, also when the old value went
// back (fi_mr); an endpoint's FI_REMOTE_WRITE counts base atomics only, the others are FI_REMOTE_READ there
// (fi_endpoint).
enum class remote_effect : uint8_t { read, write, update };
inline remote_effect amo_effect(uint8_t form, fi_op op)
{
	return form == 0 ? remote_effect::write : op == FI_ATOMIC_READ ? remote_effect::read : remote_effect::update;
}
struct remote_counter_ids {
	uint16_t wr, rd; // kNoCounter: none bound
};
// Counts it, each counter once. False when nothing was bound.
bool remote_count(remote_counter *counters, remote_effect what, remote_counter_ids region, remote_counter_ids whole);
void remote_count(peer *p, const xlate *x, remote_effect what, bool endpoint_too);

// Atomics on memory of this address space. operand/compare/result are packed arrays of count elements.
bool amo_valid(fi_datatype type, fi_op op, int form);
size_t amo_type_bytes(fi_datatype type);
size_t amo_type_align(fi_datatype type);
void amo_apply(fi_datatype type, fi_op op, void *target, size_t count, const void *operand, const void *compare,
	       void *result, amo_lock *lock);
int amo_query(fid_domain *dom, fi_datatype type, fi_op op, fi_atomic_attr *attr, uint64_t flags) noexcept;

// A slot as the receiver reads it: copied out once, because the sender's process could still scribble on it, and
// checked. Valid: src is an index of the attach table, kind a kind, aux (with PGAS_SLOT_EAGER) a buffer, and bytes has
// the len bytes, or the head of a long message. What the bytes say is for who reads them.
struct arrival {
	uint32_t src;
	uint8_t kind, flags;
	uint16_t aux;
	uint64_t len, tag, data;
	const char *bytes;
	bool read(const ep_core *ep, const pgas_slot *s)
	{
		const uint64_t meta = pgas_load_relaxed(&s->meta);
		src = static_cast<uint32_t>(meta);
		kind = static_cast<uint8_t>(meta >> PGAS_META_KIND_SHIFT);
		flags = static_cast<uint8_t>(meta >> PGAS_META_FLAGS_SHIFT);
		aux = static_cast<uint16_t>(meta >> PGAS_META_AUX_SHIFT);
		len = pgas_load_relaxed(&s->len);
		tag = pgas_load_relaxed(&s->tag);
		data = flags & PGAS_SLOT_CQ_DATA ? pgas_load_relaxed(&s->data) : 0;
		bytes = reinterpret_cast<const char *>(s->payload);
		size_t room = PGAS_SLOT_INLINE;
		if (flags & PGAS_SLOT_EAGER) {
			if (PGAS_UNLIKELY(aux >= ep->eager.count))
				return false;
			bytes = ep->eager.buffer(aux);
			room = ep->eager.bytes;
		}
		const bool message = kind == PGAS_KIND_MSG || kind == PGAS_KIND_TAGGED;
		const bool whole = len <= room || (flags & PGAS_SLOT_LONG ? message : kind == PGAS_KIND_RMA_DATA);
		return PGAS_LIKELY(src < kAttachMax && kind >= PGAS_KIND_MSG && kind <= PGAS_KIND_RESPONSE && whole);
	}
};
// Something in shared memory that none of us writes: said once per endpoint.
void garbage_found(ep_core *ep, const char *what);

// --- receiving -------------------------------------------------------------------------------------------------------

void rx_deliver(ep_core *ep, const arrival &a);
int message_take(fid_ep *fid, fi_pgas_message *m) noexcept; // pgas_inplace.cpp
void message_release(fid_ep *fid, fi_pgas_message *m) noexcept;
ssize_t message_send(fid_ep *fid, fi_addr_t addr, const void *head, size_t head_len, const void *data,
		     size_t len) noexcept;
ssize_t rx_post(fid_ep *fid, const iovec *iov, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
		void *context, uint64_t flags, bool tagged);
ssize_t rx_cancel(ep_core *ep, void *context);
void rx_finish(ep_core *ep, rx_entry *rx, completion &c); // adds what only the buffer knows to c
void rx_drop_all(ep_core *ep);

// --- progress --------------------------------------------------------------------------------------------------------

// Drains what arrived and pushes what waits; true when something moved. Lock held.
bool ep_progress(ep_core *ep);
bool domain_progress(domain *dom);
enum request_code : uint16_t { kReqWrite = 1, kReqRead, kReqAmo, kReqPull };

struct request_head {
	uint64_t op_id;
	uint64_t addr;
	uint64_t key;   // pull: the sender's operation id
	uint64_t len;   // bytes of payload or wanted
	uint64_t off;   // where in the operation this piece belongs
	uint32_t count; // atomics: elements
	uint8_t type, amo, form, pad_;
	uint8_t last; // 1: last piece of its remote segment, 2: of the operation
	uint8_t pad2_[7];
};
struct response_head {
	uint64_t op_id;
	uint64_t off;
	uint64_t len;
	int32_t status;
	uint32_t long_done; // answers a long message, not a request
};
// What a sender puts into one slot; payload is gathered from a head and an iov (from `skip` on).
struct ring_message {
	uint8_t kind;
	uint8_t flags = 0;
	uint64_t len = 0;
	uint64_t tag = 0;
	uint64_t data = 0;
	const void *head = nullptr;
	size_t head_len = 0;
	const iovec *iov = nullptr;
	size_t iov_count = 0;
	size_t skip = 0;
	size_t iov_len = 0;
};
// Puts it inline or through an eager buffer. -FI_EAGAIN when there is no room, -FI_ECONNRESET when nobody will make
// any,
// -FI_EMSGSIZE when it fits neither.
int ring_send(peer *p, const ring_message &m);
// The same for a message of fi_send's kind in two pieces, the first of which the slot has too (message_send of
// fi_ext_pgas.h).
int ring_send_pieces(peer *p, const void *head, size_t head_len, const void *data, size_t len);
inline size_t eager_room(const peer *p)
{
	return p->eager.bytes;
}
// The claim that a message just taken out of the ring has on its buffer, and giving that back: by number, so that doing
// it twice (a sender that died while its message was handled) is doing it once, even when another has claimed it in
// between.
inline uint32_t eager_holder(const uint32_t *returns)
{
	return pgas_load_relaxed(returns) + 1;
}
inline void eager_return(uint32_t *returns, uint32_t claim)
{
	if (PGAS_LIKELY(claim - pgas_load_relaxed(returns) == 1))
		pgas_store_release(returns, claim); // pairs with load_acquire in look_at_returns(): the bytes were read
}
eager_area eager_area_of(const segment &seg, const ep_shape &shape);
// Answers a request, now or when the peer's ring has room again.
void reply_send(peer *p, const response_head &head, const iovec *iov, size_t iov_count, size_t skip, size_t len);

void request_run(ep_core *ep, uint32_t src, uint16_t code, const char *payload, size_t payload_len);
void response_take(ep_core *ep, const char *payload, size_t payload_len);
void fail_peer(ep_core *ep, peer *p, int status); // ends everything that waits for it
void fail_dead_peers(ep_core *ep);                // after the watcher asked for attention
void op_push(ep_core *ep, op &o);                 // sends what may be sent of a pending operation
// the same for all that waits on this endpoint; true when something moved
bool pending_push(ep_core *ep);
bool replies_push(ep_core *ep);
bool pending_retries(const ep_core *ep); // something waits that only a retry can move
void pull_start(ep_core *ep, peer *from, rx_entry *rx, const long_message &m, const completion &c);

// --- watcher ---------------------------------------------------------------------------------------------------------

// Held while windows, endpoints or their lists change, so that the watcher sees whole ones. A leaf: taken after a
// domain's lock, never the other way round.
class watch_barrier {
public:
	watch_barrier();
	~watch_barrier();
	watch_barrier(const watch_barrier &) = delete;
};
bool sender_gone(const ep_core *ep, uint32_t attach); // the process behind an attach entry of ours
void watch_start();
void watch_domain(domain *dom);
void unwatch_domain(domain *dom);
void watch_remote(remote_domain *r);
void unwatch_remote(remote_domain *r);

size_t iov_total(const iovec *iov, size_t count);
// bytes [skip, skip + len) as an iov
size_t iov_part(const iovec *iov, size_t count, size_t skip, size_t len, iovec *out);
void iov_gather(const iovec *iov, size_t count, size_t skip, void *to, size_t len);
void iov_scatter(const iovec *iov, size_t count, size_t skip, const void *from, size_t len);

} // namespace pgas
