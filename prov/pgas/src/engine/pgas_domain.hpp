// SPDX-License-Identifier: BSD-3-Clause
//
// The domain: everything below it, its lock, its thread, and how threads of this process sleep and wake.
//
// Locking: one maybe_mutex per domain guards everything cold of that domain. It is off for FI_THREAD_DOMAIN with manual
// progress as long as the domain has no link to other hosts, and on otherwise. Calls that stay in mapped memory never
// take it; a word for another host is appended to a packet under it (put_word).
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
inline constexpr size_t kHmemKinds = 3; // drivers of device memory

struct domain {
	fid_domain fid{};
	fabric *fab;
	maybe_mutex mutex;
	fi_threading threading;
	fi_progress progress;
	int mr_mode;
	uint64_t caps;
	std::array<uint64_t, 2> secret_key{}; // of the job, from domain_attr->auth_key; 0: none
	size_t name_bytes = kNameShort;       // of an address, as fi_getname and fi_av_insert have it
	wire_domain *wires[kWiresMost] = {};  // what each wire in use keeps for this domain, in the order of wires()
	std::unordered_map<uint64_t, mr *> regions; // by key
	key0_layout layout;
	remote_counter *counters = nullptr; // kRemoteCounters of them, given by the first wire
	std::vector<bool> counter_used;
	const uint32_t *sleepers = nullptr; // how many threads sleep, or are about to; given by the first wire
	wide_lock wide{};                   // for atomics on our memory, given by the first wire
	uint64_t next_key = 1;              // provider keys, when the client wants us to choose
	std::unordered_map<uint64_t, shared_file> files;     // by file_id()
	std::unordered_map<uintptr_t, uint64_t> allocations; // fi_pgas_ops::mem_alloc: address -> file_id()
	uint32_t connected = 0;                              // peers of all endpoints
	// The next three change under the domain's lock and the watch_barrier.
	std::vector<ep_core *> eps;
	std::vector<cq_core *> cqs;
	std::vector<cntr_core *> cntrs;
	std::atomic<uint32_t> attention{0}; // grows when a wire's thread saw something: cold path, look
	std::atomic<uint32_t> polled{0};    // cold polls by the application; the progress thread naps while it moves
	std::atomic<bool> thread_stop{false};
	pthread_t thread;
	bool thread_running = false;
	std::atomic<int> users{0};
	eq *bound_eq = nullptr;
	bool hmem_used[kHmemKinds] = {}; // which drivers it has open (pgas_hmem.cpp)

	bool shared_by_threads = false; // counters and queues may be touched by two threads at once
	bool has_threads = false;       // the lock is for threads of the application, too, not for a wire's alone
	bool looks_long = false;        // a look enters the kernel: no pause between two of them
	bool peers_watched = false;     // by somebody who ends this process with them: no watcher thread
	bool no_watcher = false;        // for that reason, or because its thread could not be started
	// fi_pgas_ops::peers_stopped: the client's question, or null.
	bool (*peer_stopped)(void *context, fi_addr_t peer) = nullptr;
	void *peer_stopped_context = nullptr;
	bool hot_allowed() const { return !shared_by_threads; }
};
// A hint to the progress thread. Two threads may count as one; all that matters is that the number moves.
inline void domain_polled(domain *dom)
{
	dom->polled.store(dom->polled.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
bool domain_progress(domain *dom);         // progress of all its endpoints; true when something moved. Lock held
bool domain_must_retry(const domain *dom); // something waits that only a retry can move. Lock held
void domain_without_watcher(domain *dom);  // from now on. Lock held
int domain_start_thread(domain *dom);
void domain_stop_thread(domain *dom);
// From a thread of a wire: every endpoint, queue and counter takes the long way once, and sleepers wake.
void domain_ask_to_look(domain *dom);

// Sleeping: announce, look once more, sleep. Whatever happens after the announcement ends the sleep.
uint32_t sleep_announce(domain *dom);
void sleep_until_woken(domain *dom, uint32_t ticket, uint64_t max_ns); // max_ns 0: only take the announcement back
void domain_wake(domain *dom);
inline void domain_wake_sleepers(domain *dom) // costs a load when nobody announced
{
	if (PGAS_UNLIKELY(pgas_load_relaxed(dom->sleepers)))
		domain_wake(dom);
}

inline constexpr uint64_t kSleepMostNs = 100'000'000; // then everything is looked at again

// Held while windows, endpoints or their lists change, so that the threads of wires see whole ones. A leaf: taken after
// a domain's lock, never the other way round.
class watch_barrier {
public:
	watch_barrier();
	~watch_barrier();
	watch_barrier(const watch_barrier &) = delete;
};

} // namespace pgas
