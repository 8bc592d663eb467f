// SPDX-License-Identifier: BSD-3-Clause
//
// The domain: the objects it holds, its lock, its thread, and how threads of this process sleep and wake.
//
// Locking: one maybe_mutex per domain guards all cold state of that domain. It is off for FI_THREAD_DOMAIN with manual
// progress as long as the domain has no link to other hosts, and on otherwise. Calls that only access mapped memory
// never take it; put_word holds it to append a word for another host to a packet.
#pragma once

#include <array>
#include <atomic>
#include <unordered_map>
#include <vector>

#include "support/pgas_addr.hpp"
#include "support/pgas_amo_math.hpp"
#include "pgas_completion.hpp"
#include "pgas_fabric.hpp"
#include "pgas_memory.hpp"
#include "support/pgas_params.hpp"

namespace pgas {

struct av;
struct wire_domain;
inline constexpr size_t kWiresMost = 4;

struct domain {
	fid_domain fid{};
	fabric *fab;
	maybe_mutex mutex;
	fi_threading threading;
	fi_progress progress;
	int mr_mode;
	uint64_t caps;
	std::array<uint64_t, 2> secret_key{};       // of the job, from domain_attr->auth_key; 0: none
	size_t name_bytes = kNameShort;             // size of an address in fi_getname and fi_av_insert
	wire_domain *wires[kWiresMost] = {};        // per-domain state of each wire in use, in the order of wires()
	std::unordered_map<uint64_t, mr *> regions; // by key
	key0_layout layout;
	remote_counter *counters = nullptr; // kRemoteCounters of them, provided by the first wire
	std::vector<bool> counter_used;
	const uint32_t *sleepers = nullptr; // number of threads that sleep or are about to; provided by the first wire
	wide_lock wide{};                   // for atomics on our memory, provided by the first wire
	uint64_t next_key = 1;              // next key when the provider chooses them (FI_MR_PROV_KEY)
	uint64_t key_most = UINT64_MAX;     // the largest key, by domain_attr->mr_key_size
	std::unordered_map<uint64_t, shared_file> files;     // by file_id()
	std::unordered_map<uintptr_t, uint64_t> allocations; // fi_pgas_ops::mem_alloc: address -> file_id()
	uint32_t connected = 0;                              // connected peers of all endpoints
	// The next three change under the domain's lock and the watch_barrier.
	std::vector<ep_core *> eps;
	std::vector<cq_core *> cqs;
	std::vector<cntr_core *> cntrs;
	std::atomic<uint32_t> attention{0}; // a wire's thread increments it to send everyone down the cold path
	std::atomic<uint32_t> polled{0};    // cold polls by the application; the progress thread naps while it moves
	std::atomic<bool> thread_stop{false};
	pthread_t thread;
	bool thread_running = false;
	std::atomic<int> users{0};
	eq *bound_eq = nullptr;
	uint32_t hmem_used = 0; // drivers that this domain has open, a bit for each (pgas_hmem.cpp)

	bool shared_by_threads = false; // two threads may access counters and queues at once
	bool has_threads = false;       // application threads need the lock too, not only a wire's thread
	bool polls_are_slow = false;    // a poll enters the kernel: do not pause between two polls
	bool peers_watched = false;     // a launcher ends this process when a peer dies: no watcher thread
	bool no_watcher = false;        // for that reason, or because the watcher could not be started
	// fi_pgas_ops::peers_stopped: the client's callback, or null.
	bool (*peer_stopped)(void *context, fi_addr_t peer) = nullptr;
	void *peer_stopped_context = nullptr;
	std::atomic<void (*)()> client_waits{nullptr}; // fi_pgas_ops::on_wait: the client's callback, or null
	bool hot_allowed() const { return !shared_by_threads; }
	wire_domain &host() const { return *wires[0]; } // for calls of host_ops
};
// A hint to the progress thread. Two concurrent calls may count as one; it only matters that the number changes.
inline void domain_polled(domain *dom)
{
	dom->polled.store(dom->polled.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
bool domain_progress(domain *dom);         // progress of all its endpoints; true when something moved. Lock held
bool domain_must_retry(const domain *dom); // something is waiting that only a retry can move. Lock held
void domain_without_watcher(domain *dom);  // sets no_watcher. Lock held
int domain_start_thread(domain *dom);
void domain_stop_thread(domain *dom);
// Called by a thread of a wire: every endpoint, queue and counter takes the cold path once, and sleepers wake.
void domain_ask_to_poll(domain *dom);

// Sleeping: announce, poll once more, sleep. Any event after the announcement ends the sleep.
uint32_t sleep_announce(domain *dom);
void sleep_until_woken(domain *dom, uint32_t ticket, uint64_t max_ns); // max_ns 0: only withdraw the announcement
void domain_wake(domain *dom);
inline void domain_wake_sleepers(domain *dom) // costs one load when no thread announced
{
	if (PGAS_UNLIKELY(pgas_load_relaxed(dom->sleepers)))
		domain_wake(dom);
}

inline constexpr uint64_t kSleepMostNs = 100'000'000; // longest sleep before everything is polled again

// Held while windows, endpoints or their lists change, so that the threads of wires see them in a consistent state. A
// leaf lock: taken after a domain's lock, never before it.
class watch_barrier {
public:
	watch_barrier();
	~watch_barrier();
	watch_barrier(const watch_barrier &) = delete;
};

} // namespace pgas
