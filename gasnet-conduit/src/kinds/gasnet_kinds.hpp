// SPDX-License-Identifier: BSD-3-Clause
//
// Memory kinds and endpoints beside the first: devices that were opened (devices/), segments of their memory or of the
// host's, and what other nodes know of them. The first endpoint and its segment have none of this: a team that names
// another endpoint is a team without windows and of size 0, so that every call leaves by the exits that are there
// anyway, for members without a window and for ranks that do not exist.
//
// A node publishes its segments in its internal memory, where others read them when they first need them.
//
//   what                                written by                     read by
//   published[index], internal memory   owner, in Publish; state last  the others, then kept
//   peer_end, devices                   this node, under kinds_mutex   this node
//   endpoint.segment                    this node, in Bind             this node, and whoever serves the gate
#pragma once

#include "gasnet_objects.hpp"

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
	int users;       // kinds; 0: it was opened for memory of other nodes, or is not needed at the moment
	// copies that were submitted, and how many of them are known to be over
	uint64_t submitted, finished;
	pthread_mutex_t mutex; // of finished
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
	bool ours;              // allocated here
	bool carved;            // out of this node's region: it may become the first endpoint's
	int bound;              // endpoints
	devices::region region; // the driver's allocation around it
	devices::handle handle; // of the region; bytes is 0 where no other process could use it
};
inline const made_segment *made(const gasneti_segment *segment)
{
	return segment && segment != &g_segment ? static_cast<const made_segment *>(segment) : nullptr;
}

// What a node tells of the segment of an endpoint.
struct published {
	uint64_t state;        // kPublished, or nothing else is there
	uint64_t memory_class; // gex_MK_Class_t
	uint64_t address, bytes;
	uint64_t offset; // in the region that the handle opens
	devices::handle handle;
	uint64_t outside; // of the region: by kOutsideKey, when it is the first endpoint's
	uint64_t unused[6];
};
static_assert(sizeof(published) == 192);
constexpr uint64_t kPublished = 1;
static_assert(GASNET_MAXEPS * sizeof(published) <= kKindsBytes);

// An endpoint of another node, as far as it is known.
struct peer_end {
	published what;
	struct view { // of its memory, by one of our devices
		device *dev;
		devices::region region;
	};
	std::vector<view> views;
};

// --- gasnet_kinds.cpp ------------------------------------------------------------------------------------------------

extern pthread_mutex_t kinds_mutex; // taken before those of devices
const char *class_name(uint64_t count);
// The line that says what is wrong, where the client wants lines; returns the code.
[[gnu::format(printf, 2, 3)]] int refuse(int code, const char *format, ...);
// A device of that class that may reach the one of that number best; opened if there is none. Ends the job when there
// is no driver. Under kinds_mutex.
device &device_for(const char *call, uint64_t count, uint64_t number);
[[noreturn, gnu::cold]] void driver_failed(const char *call, const device &d);
// One copy; it is under way until device_finish.
void device_copy(const char *call, device &d, void *dest, const void *source, size_t bytes);
void device_finish(const char *call, device &d); // all copies that this thread knows of are over
bool others_on_this_machine();
bool others_on_other_machines();

// --- gasnet_ends.cpp -------------------------------------------------------------------------------------------------

extern gasneti_endpoint *g_endpoints[GASNET_MAXEPS];
bool device_has_views(const device &d); // of memory of other nodes. Under kinds_mutex.
// The segment that was published for an endpoint of another node; null: none was. Under kinds_mutex.
peer_end *find_end(gasnet_node_t node, gex_EP_Index_t index);

// --- gasnet_kinds_far.cpp: device memory of nodes on other machines; our side is host memory -------------------------

int kinds_far_open(); // 0 or -FI_E*; before a device segment of this node can be published
// until TAKEN: it may still be under way, as a transfer to a node without a window is.
void kinds_far_put(gasnet_node_t node, gex_EP_Index_t index, uint64_t offset, const void *source, size_t bytes,
		   gasneti_until until);
void kinds_far_get(gasnet_node_t node, gex_EP_Index_t index, uint64_t offset, void *dest, size_t bytes);

} // namespace gasnet
