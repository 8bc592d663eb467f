// SPDX-License-Identifier: BSD-3-Clause
//
// The table of the shared-memory wire and its parts: life, addresses, regions, connections.
#include "shm.hpp"
#include "support/pgas_host.hpp"
#include "shm_process.hpp"

#include <bit>
#include <cstdio>
#include <cstring>

namespace pgas {
namespace {

// --- life ------------------------------------------------------------------------------------------------------------

int shm_domain_open(domain &dom, wire_domain **out)
{
	if (const int err = host_identity_find())
		return err;
	auto d = std::make_unique<shm_domain>();
	d->ops = &g_shm_wire;
	d->dom = &dom;
	if (const int err = segment_create("domain", segment_kind::domain, kDomainBytes, d->shared))
		return err;
	d->keys.entries = d->shared.at<key_entry>(kKeysOff);
	d->keys.parts = d->shared.at<part_entry>(kPartsOff);
	dom.counters = d->shared.at<remote_counter>(kCountersOff);
	dom.wide = shm_wide_lock(d->shared.at<amo_lock>(kLockOff));
	dom.sleepers = &d->door()->sleepers;
	door_register();
	cross_memory_allowed(); // also permits our peers' access if the kernel requires it
	watch_domain(&dom);
	*out = d.release();
	return 0;
}

void shm_domain_close(wire_domain *d)
{
	unwatch_domain(d->dom);
	delete static_cast<shm_domain *>(d);
}

void make_ring(shm_ep *ep, const ep_shape &shape)
{
	const uint64_t slots = shape.slots;
	ep->ring = ring_of(ep->seg, shape);
	ep->slots = slots_of(ep->ring);
	ep->mask = slots - 1;
	// position 0 is never used: state 0 of fresh memory must not look like a claimable slot
	ep->head = slots;
	ep->ring->head = ep->ring->tail_hint = slots;
	for (uint64_t i = 0; i < slots; i++)
		ep->slots[i].state = slot_word(slots + i, PGAS_SLOT_FREE);
}

int shm_ep_open(wire_domain &d, ep_core &ep, wire_ep **out)
{
	auto opened = std::make_unique<shm_ep>();
	opened->ops = &g_shm_wire;
	opened->ep = &ep;
	const params &par = parameters();
	const ep_shape shape{static_cast<uint32_t>(std::bit_ceil(par.rx_slots)), static_cast<uint32_t>(par.eager_count),
			     static_cast<uint32_t>(round_up(par.eager_bytes, kPage))};
	const ep_layout l = ep_layout::of(shape.slots, shape.eager_count, shape.eager_bytes);
	if (const int err = segment_create("endpoint", segment_kind::endpoint, l.bytes, opened->seg))
		return err;
	const segment &dom_seg = static_cast<shm_domain &>(d).shared;
	ep_shared *shared = opened->shared = opened->seg.at<ep_shared>(0);
	shared->dom_nonce = dom_seg.at<segment_header>(0)->nonce;
	shared->dom_fd = dom_seg.fd.get();
	shared->slots = shape.slots;
	shared->eager_count = shape.eager_count;
	shared->eager_bytes = shape.eager_bytes;
	// initiators read these when they connect
	shared->rem_wr_cntr = ep.c_rem_write ? ep.c_rem_write->remote : kNoCounter;
	shared->rem_rd_cntr = ep.c_rem_read ? ep.c_rem_read->remote : kNoCounter;
	opened->eager = eager_area_of(opened->seg, shape);
	ring_make_ready(opened->seg, shape);
	make_ring(opened.get(), shape);
	*out = opened.release();
	return 0;
}

void shm_ep_ready(wire_ep &ep)
{
	domain *dom = ep.ep->dom;
	if (!dom->peers_watched && !watch_start())
		domain_without_watcher(dom);
}

void shm_ep_leave(wire_ep &ep)
{
	ep_shared *shared = shm_of(ep).shared;
	pgas_store_release(&shared->closed, 1u); // pairs with load_acquire in no_room() and shm_departed()
	shared->rem_wr_cntr = shared->rem_rd_cntr = kNoCounter; // their places may be reused now
}

void shm_ep_close(wire_ep *ep)
{
	delete static_cast<shm_ep *>(ep);
}

// --- addresses: host:pid:fd:nonce ------------------------------------------------------------------------------------

struct shm_address {
	uint64_t host = 0;
	uint32_t pid = 0;
	int fd = -1;
	uint64_t nonce = 0;
};

// The short form: the same in base64, 22 bits of pid and 20 of fd.
constexpr unsigned kPidBits = 22, kFdBits = 20;
constexpr size_t kTightBytes = 22;

bool read_tight(std::string_view part, shm_address &out)
{
	char bytes[kTightBytes];
	uint64_t middle = 0;
	if (text_to_bytes(part, bytes, sizeof bytes) != sizeof bytes)
		return false;
	memcpy(&out.host, bytes, 8);
	memcpy(&middle, bytes + 8, 6);
	memcpy(&out.nonce, bytes + 14, 8);
	out.pid = static_cast<uint32_t>(middle & ((1u << kPidBits) - 1));
	out.fd = static_cast<int>(middle >> kPidBits & ((1u << kFdBits) - 1));
	return out.pid != 0 && middle >> (kPidBits + kFdBits) == 0;
}

bool write_tight(const shm_address &a, char *out, size_t room)
{
	const uint64_t middle = uint64_t{a.pid} | static_cast<uint64_t>(a.fd) << kPidBits;
	if (a.pid >> kPidBits || a.fd >> kFdBits)
		return false;
	char bytes[kTightBytes];
	memcpy(bytes, &a.host, 8);
	memcpy(bytes + 8, &middle, 6);
	memcpy(bytes + 14, &a.nonce, 8);
	bytes_to_text(bytes, sizeof bytes, out, room);
	return true;
}

bool read_part(std::string_view part, shm_address &out)
{
	if (part.find(':') == part.npos)
		return read_tight(part, out);
	char text[kNameBytes];
	if (part.size() >= sizeof text)
		return false;
	memcpy(text, part.data(), part.size());
	text[part.size()] = 0;
	unsigned long long host, nonce;
	unsigned pid, fd;
	int used = 0;
	if (sscanf(text, "%16llx:%x:%x:%16llx%n", &host, &pid, &fd, &nonce, &used) != 4 || text[used] != 0 ||
	    pid == 0 || static_cast<int>(fd) < 0)
		return false;
	out = {host, pid, static_cast<int>(fd), nonce};
	return true;
}

void write_part(const shm_address &a, char *out, size_t room)
{
	snprintf(out, room, "%016llx:%x:%x:%016llx", static_cast<unsigned long long>(a.host), a.pid, a.fd,
		 static_cast<unsigned long long>(a.nonce));
}

void shm_address_of(const wire_ep &ep, char *part, size_t room, bool tight)
{
	const segment &seg = shm_of(ep).seg;
	const auto *h = seg.at<segment_header>(0);
	const shm_address a{host_identity(), h->pid, seg.fd.get(), h->nonce};
	if (!tight || !write_tight(a, part, room))
		write_part(a, part, room);
}

bool shm_canonical(std::string_view part, char *out, size_t room)
{
	shm_address a;
	if (!read_part(part, a))
		return false;
	char text[kNameBytes];
	if (part.find(':') != part.npos || !write_tight(a, text, sizeof text))
		write_part(a, text, sizeof text);
	if (strlen(text) >= room)
		return false;
	strcpy(out, text);
	return true;
}

// Host, process and endpoint: enough to distinguish it from others at a glance.
std::string shm_show(std::string_view part)
{
	shm_address a;
	if (!read_part(part, a))
		return "";
	char text[48];
	snprintf(text, sizeof text, "%08x:%u/%d", static_cast<uint32_t>(a.host), a.pid, a.fd);
	return text;
}

// FI_PGAS_TEST_HOSTS=1: only endpoints of one domain share a host.
bool in_domain(const domain &dom, uint64_t nonce)
{
	for (const ep_core *ep : dom.eps)
		if (ep->wire_eps[0] && shm_of(*ep->wire_eps[0]).seg.at<segment_header>(0)->nonce == nonce)
			return true;
	return false;
}

int shm_cost(const wire_ep &ep, std::string_view part)
{
	shm_address a;
	if (!read_part(part, a) || a.host != host_identity() || a.host == 0)
		return -1;
	if (parameters().test_hosts == 1 && !in_domain(*ep.ep->dom, a.nonce))
		return -1;
	return a.pid == shm_of(ep).seg.at<segment_header>(0)->pid ? kCostOwnProcess : kCostOwnHost;
}

static_assert(kRegionsMost <= kHashedKeys / 2, "linear probing wants half of the table free");

// --- regions ---------------------------------------------------------------------------------------------------------

int shm_mr_open(wire_domain &d, mr &m)
{
	return static_cast<shm_domain &>(d).keys.open(m);
}

void shm_mr_show(wire_domain &d, mr &m)
{
	const auto id = [](const cntr_core *c) { return c ? c->remote : kNoCounter; };
	static_cast<shm_domain &>(d).keys.publish(m.key, id(m.rem_wr), id(m.rem_rd));
}

void shm_mr_close(wire_domain &d, mr &m)
{
	static_cast<shm_domain &>(d).keys.close(m.key);
}

// --- connections -----------------------------------------------------------------------------------------------------

int shm_connect(wire_ep &ep, peer &dest, std::string_view part)
{
	shm_address a;
	if (!read_part(part, a))
		return -FI_EINVAL;
	auto p = std::make_unique<shm_peer>();
	p->engine_peer = &dest;
	if (const int err = segment_open(a.pid, a.fd, a.nonce, segment_kind::endpoint, kHeaderBytes, p->seg))
		return err;
	p->shared = p->seg.at<ep_shared>(0);
	const ep_shape shape = ep_shape::of(p->shared);
	if (!shape.fits(p->seg.map.size()) ||
	    pgas_load_acquire(&p->shared->closed)) // pairs with store_release in shm_ep_leave()
		return -FI_EHOSTUNREACH;
	if (const int err = remote_domain_get(ep.ep->dom, a.pid, p->shared->dom_fd, p->shared->dom_nonce, &p->rdom))
		return err;
	p->ring = ring_of(p->seg, shape);
	p->mask = shape.slots - 1;
	p->eager = eager_area_of(p->seg, shape);
	p->returns_room.assign(p->eager.count + kReturnsPerLine, 0);
	p->returns_seen = reinterpret_cast<uint32_t *>(
		round_up(reinterpret_cast<uintptr_t>(p->returns_room.data()), PGAS_CACHE_LINE));
	for (uint32_t i = 0; i < kTurns; i++)
		p->turns[i].buffer = i * kReturnsPerLine % p->eager.count;
	if (const int err = shm_attach(ep.ep, p.get())) {
		remote_domain_put(p->rdom);
		return err;
	}
	dest.dead_flag = &p->rdom->dead;
	shm_peer *state = p.get();
	dest.wire_state = own_wire_peer(std::move(p));
	open_to_inline_code(&shm_of(ep), state);
	return 0;
}

void shm_disconnect(peer &dest)
{
	shm_peer *p = &shm_state_of(dest);
	close_to_inline_code(&shm_of(*dest.owner), &dest);
	shm_detach(p);
	dest.dead_flag = &g_nobody_dead;
	remote_domain_put(p->rdom);
}

bool shm_departed(const peer &p)
{
	return pgas_load_acquire(&shm_state_of(p).shared->closed); // pairs with store_release in shm_ep_leave()
}

// The peer's last answers may still be in our ring, so it is silent only when the ring is empty.
bool shm_silent(const wire_ep &ep, const peer &p)
{
	return p.wire_state && shm_departed(p) && shm_of(ep).head_is_free();
}

bool shm_bury(peer &dest)
{
	shm_peer *p = &shm_state_of(dest);
	if (windows_given_out(p->rdom))
		return false;
	if (windows_quiet(p->rdom) && !p->places)
		return true;
	if (!p->hollow) {
		remote_domain_hollow(p->rdom);
		p->seg.map.hollow();
		p->hollow = true;
	}
	return false;
}

// --- senders ---------------------------------------------------------------------------------------------------------

uint64_t shm_sender(const wire_ep &ep, uint32_t src, ep_name *name)
{
	const attach_entry &e = shm_of(ep).attaches()[src];
	if (name) {
		memcpy(name->text, e.name, kNameBytes);
		name->text[kNameBytes - 1] = 0;
	}
	return pgas_load_relaxed(&e.serial);
}

// Requests run in the order of submission; our own direct accesses would overtake them.
bool shm_in_order(const peer &p)
{
	return !p.one_sided || (!parameters().map && !shm_of(p).rdom->cma && !shm_of(p).rdom->self);
}

const uint64_t *shm_poll_word(const wire_ep &ep, uint64_t *ready)
{
	const shm_ep &s = shm_of(ep);
	*ready = slot_word(s.head, PGAS_SLOT_READY);
	return &s.slots[s.head & s.mask].state;
}

} // namespace

constinit const wire_ops g_shm_wire = {
	.name = "",
	.limits = {.sources = kAttachMax},
	.caps = kWireOwnHost,
	.domain_open = shm_domain_open,
	.domain_close = shm_domain_close,
	.ep_open = shm_ep_open,
	.ep_ready = shm_ep_ready,
	.ep_leave = shm_ep_leave,
	.ep_close = shm_ep_close,
	.address = shm_address_of,
	.canonical = shm_canonical,
	.show = shm_show,
	.cost = shm_cost,
	.mr_open = shm_mr_open,
	.mr_show = shm_mr_show,
	.mr_close = shm_mr_close,
	.connect = shm_connect,
	.disconnect = shm_disconnect,
	.departed = shm_departed,
	.silent = shm_silent,
	.bury = shm_bury,
	.rma = shm_rma,
	.amo = shm_amo,
	.send = shm_send,
	.send_pieces = shm_send_pieces,
	.pull = shm_pull,
	.discard = shm_discard,
	.pull_over = request_long_done,
	.sender = shm_sender,
	.control = shm_control,
	.control_room = shm_control_room,
	.settle = shm_settle,
	.progress = shm_progress,
	.retries = request_retries,
	.noticed = [](const wire_ep &) { return true; },
	.in_order = shm_in_order,
};

constinit const host_ops g_host = {
	.take = shm_take,
	.give_back = shm_give_back,
	.claim = shm_claim,
	.publish = shm_publish,
	.abandon = shm_abandon,
	.poll_word = shm_poll_word,
	.announce = shm_announce,
	.sleep = shm_sleep,
	.wake = shm_wake,
	.windows_close = shm_windows_close,
	.windows_rebias = shm_windows_rebias,
	.window = shm_window,
};

} // namespace pgas
