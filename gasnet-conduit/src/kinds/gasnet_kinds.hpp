// SPDX-License-Identifier: BSD-3-Clause
//
// Memory kinds and additional endpoints: opened devices (devices/), segments of device memory or host memory, and what
// other nodes know about them. The first endpoint and its segment use none of this: a team that names another endpoint
// has no windows and size 0, so that every call takes the exits that exist anyway, for members without a window and for
// ranks that do not exist.
//
// A node publishes its segments in its internal memory, where others read them when they first need them.
//
//   what                                written by                     read by
//   published[index], internal memory   owner, in Publish; state last  the others, then kept
//   peer_end, devices                   this node, under kinds_mutex   this node
//   endpoint.segment                    this node, in Bind             this node, and threads that serve the gate
#pragma once

#include "core/gasnet_objects.hpp"

#include <pthread.h>

#include <vector>

#include <devices/devices_kind.hpp>
#include <gasnet_mk.h>
#include <pgas/pgas_base.hpp>

namespace gasnet {

namespace devices = pgas::devices;

// Keys of the domain: 0 is the region, 1 the gate, then the host segments of endpoints.
constexpr uint64_t kGateKey = 1;
constexpr uint64_t segment_key(gex_EP_Index_t index)
{
	return kGateKey + index;
}
static_assert(segment_key(GASNET_MAXEPS) < kOutsideKey);

struct device {
	gex_MK_Class_t memory_class;
	devices::device_choice which;
	devices::kind *kind;
	uint64_t number; // devices::handle::device
	int users;       // kinds that use it; 0: opened for other nodes' memory, or currently unused
	bool has_views;  // of other nodes' memory; under kinds_mutex
	// number of copies submitted, and how many of them are known to be complete
	uint64_t submitted, finished;
	pthread_mutex_t mutex; // protects finished
};

} // namespace gasnet

struct gasneti_kind {
	void *cdata;
	gex_Flags_t flags;
	gex_MK_Class_t memory_class;
	gasnet::device *device;
	int segments;
};

namespace gasnet {

// A segment of gex_Segment_Create.
struct made_segment : gasneti_segment {
	gasneti_kind *kind;     // null: host memory
	bool ours;              // allocated by this library
	bool carved;            // out of this node's region: it may become the first endpoint's
	int bound;              // number of endpoints
	devices::region region; // the driver's allocation that contains it
	devices::handle handle; // of the region; bytes is 0 if no other process can use it
};
inline const made_segment *made(const gasneti_segment *segment)
{
	return segment && segment != &g_segment ? static_cast<const made_segment *>(segment) : nullptr;
}

// What a node publishes about an endpoint's segment.
struct published {
	uint64_t state;        // kPublished; otherwise the other fields are not valid yet
	uint64_t memory_class; // gex_MK_Class_t
	uint64_t address, bytes;
	uint64_t offset; // in the region that the handle opens
	devices::handle handle;
	uint64_t outside; // 1: outside the region, reached by kOutsideKey; only the first endpoint's
	uint64_t unused[6];
};
static_assert(sizeof(published) == 192);
constexpr uint64_t kPublished = 1;
static_assert(GASNET_MAXEPS * sizeof(published) <= kKindsBytes);

// What is known about an endpoint of another node.
struct peer_end {
	published what;
	struct view { // of its memory, through a local device
		device *dev;
		devices::region region;
	};
	std::vector<view> views;
};

// --- gasnet_kinds.cpp ------------------------------------------------------------------------------------------------

extern pthread_mutex_t kinds_mutex; // acquired before the mutexes of devices
const char *class_name(uint64_t memory_class);
// The device of that class that can best reach device `number`; opened if there is none. Ends the job if there is no
// driver. Called with kinds_mutex held.
device &device_for(const char *call, uint64_t memory_class, uint64_t number);
[[noreturn, gnu::cold]] void driver_failed(const char *call, const device &d);
// Starts one copy; it stays in progress until device_finish.
void device_copy(const char *call, device &d, void *dest, const void *source, size_t bytes);
void device_finish(const char *call, device &d); // waits for all copies that this thread knows of
bool others_on_this_machine();
bool others_on_other_machines();

// --- gasnet_endpoints.cpp --------------------------------------------------------------------------------------------

// The segment published for another node's endpoint, or null. Called with kinds_mutex held.
peer_end *find_end(gasnet_node_t node, gex_EP_Index_t index);

// --- gasnet_kinds_rma.cpp --------------------------------------------------------------------------------------------

extern const pair_calls g_pairs_of_kinds;

// --- gasnet_kinds_far.cpp: device memory of nodes on other machines; our side is host memory -------------------------

int kinds_far_open(); // 0 or -FI_E*; call it before a device segment of this node is published
// Until TAKEN: the transfer may still be in progress afterwards, as one to a node without a window may.
void kinds_far_put(gasnet_node_t node, gex_EP_Index_t index, uint64_t offset, const void *source, size_t bytes,
		   gasneti_until until);
void kinds_far_get(gasnet_node_t node, gex_EP_Index_t index, uint64_t offset, void *dest, size_t bytes);

} // namespace gasnet
