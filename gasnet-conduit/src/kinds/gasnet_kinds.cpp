// SPDX-License-Identifier: BSD-3-Clause
//
// Memory kinds: GASNet-EX's objects, the devices they use, and segments of device memory. A device is opened once for
// all kinds that name it, and stays open as long as its memory may be in use here.
#include "gasnet_kinds.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace gasnet {

pthread_mutex_t kinds_mutex = PTHREAD_MUTEX_INITIALIZER;

namespace {

constexpr size_t kMostDevices = 64;
device *g_devices[kMostDevices];
uint64_t g_device_count;

constexpr struct {
	gex_MK_Class_t memory_class;
	const char *name;
} kClasses[] = {{GEX_MK_CLASS_CUDA_UVA, "cuda"},
		{GEX_MK_CLASS_HIP, "hip"},
		{GEX_MK_CLASS_ZE, "ze"},
		{GASNET_PGAS_MK_CLASS_EMULATED, "emulated"}};

bool any_other_node(bool same_machine)
{
	const auto &machines = g_gasnet.machine_of;
	const gasnet_node_t mine = machines[gasneti_front.mynode];
	const auto here = static_cast<size_t>(std::count(machines.begin(), machines.end(), mine));
	return same_machine ? here > 1 : here < machines.size();
}

bool same(const devices::device_choice &a, const devices::device_choice &b)
{
	return a.number == b.number && a.device == b.device && a.context == b.context && a.ordinal == b.ordinal;
}

// As device_finish without waiting: false if copies are still in progress.
bool device_is_idle(const char *call, device &d)
{
	const uint64_t wanted = pgas_load_acquire(&d.submitted); // pairs with add_release in device_copy()
	if (pgas_load_acquire(&d.finished) >= wanted)            // pairs with store_release in device_finish()
		return true;
	const pgas::mutex_holder alone(d.mutex, kThreads);
	const uint64_t now = pgas_load_acquire(&d.submitted); // pairs with add_release in device_copy()
	const int idle = d.kind->idle();
	if (idle < 0)
		driver_failed(call, d);
	if (idle)
		pgas_store_release(&d.finished, now); // pairs with load_acquire in device_finish()
	return idle;
}

bool all_idle(const char *call) noexcept
{
	const uint64_t count = pgas_load_acquire(&g_device_count); // pairs with store_release in open_device()
	bool all = true;
	for (size_t i = 0; i < count; i++)
		all = device_is_idle(call, *g_devices[i]) && all;
	return all;
}

void finish_all(const char *call) noexcept
{
	const uint64_t count = pgas_load_acquire(&g_device_count); // pairs with store_release in open_device()
	for (size_t i = 0; i < count; i++)
		device_finish(call, *g_devices[i]);
}

constexpr copy_calls kCopyCalls = {finish_all, all_idle};

// Called with kinds_mutex held. Returns null on failure, with the reason in `why`.
device *open_device(uint64_t memory_class, const devices::device_choice &which, char *why, size_t room)
{
	device *unused = nullptr;
	for (size_t i = 0; i < g_device_count; i++) {
		device &d = *g_devices[i];
		if (d.memory_class == memory_class && d.kind && same(d.which, which))
			return &d;
		if (!d.kind)
			unused = &d;
	}
	if (!unused && g_device_count == kMostDevices) {
		snprintf(why, room, "more than %zu devices", kMostDevices);
		return nullptr;
	}
	devices::kind *kind = devices::make_kind(class_name(memory_class));
	if (kind->open_device(which, why, room) != 0) {
		delete kind;
		return nullptr;
	}
	device *d = unused ? unused : new device{};
	d->memory_class = static_cast<gex_MK_Class_t>(memory_class);
	d->which = which;
	d->kind = kind;
	d->number = kind->number();
	d->users = 0;
	d->has_views = false;
	pthread_mutex_init(&d->mutex, nullptr);
	if (!unused) {
		g_devices[g_device_count] = d;
		pgas_store_release(&g_device_count, g_device_count + 1); // pairs with load_acquire in finish_all()
		pgas_store_relaxed(&g_copy_calls, &kCopyCalls);
	}
	return d;
}

// For a device that no kind names any more and that has no view of other nodes' memory. Called with kinds_mutex held.
void close_device(device &d)
{
	device_finish("gex_MK_Destroy", d);
	d.kind->close();
	delete d.kind;
	d.kind = nullptr;
}

devices::device_choice choice_of(const gex_MK_Create_args_t &args)
{
	devices::device_choice which;
	switch (static_cast<int>(args.gex_class)) {
	case GEX_MK_CLASS_ZE:
		which.device = args.gex_args.gex_class_ze.gex_zeDevice;
		which.context = args.gex_args.gex_class_ze.gex_zeContext;
		which.ordinal = args.gex_args.gex_class_ze.gex_zeMemoryOrdinal;
		break;
	case GEX_MK_CLASS_HIP:
		which.number = args.gex_args.gex_class_hip.gex_hipDevice;
		break;
	default:
		which.number = args.gex_args.gex_class_cuda_uva.gex_CUdevice;
	}
	return which;
}

// The memory of a device segment: the client's, or newly allocated. Other processes on this machine need a handle of
// it.
int get_device_memory(made_segment &s, gex_Addr_t address, uintptr_t length)
{
	device &d = *s.kind->device;
	if (address ? d.kind->join(address, length, s.region) : d.kind->allocate(length, 0, s.region))
		return refuse(GASNET_ERR_RESOURCE, "gex_Segment_Create: %zu bytes of %s memory: %s", length,
			      class_name(d.memory_class), d.kind->last_error());
	s.ours = !address;
	s.address = address ? address : reinterpret_cast<void *>(s.region.addr);
	if (!others_on_this_machine() || d.kind->give(s.region, s.handle) == 0)
		return GASNET_OK;
	const int rc = refuse(GASNET_ERR_RESOURCE, "gex_Segment_Create: other processes cannot use this %s memory: %s",
			      class_name(d.memory_class), d.kind->last_error());
	d.kind->release(s.region);
	return rc;
}

size_t in_pages(size_t bytes)
{
	return (bytes + GASNET_PAGESIZE - 1) / GASNET_PAGESIZE * GASNET_PAGESIZE;
}

// As long as the first endpoint has no segment, this one may become its segment.
int get_host_memory(made_segment &s, gex_Addr_t address, uintptr_t length)
{
	s.address = address;
	if (address)
		return GASNET_OK;
	if (!g_endpoint.segment && (s.address = memory_carve(in_pages(length)))) {
		s.ours = s.carved = true;
		return GASNET_OK;
	}
	if (const int rc = g_gasnet.net.ops->mem_alloc(g_gasnet.net.domain, length, &s.address))
		return refuse(GASNET_ERR_RESOURCE, "gex_Segment_Create: %zu bytes: %s", length, pgas_strerror(-rc));
	s.ours = true;
	return GASNET_OK;
}

gasneti_kind *must_be_kind(const char *call, gex_MK_t kind)
{
	if (kind == GEX_MK_INVALID || kind == GEX_MK_HOST)
		fail("%s: %s is not a memory kind of gex_MK_Create", call,
		     kind == GEX_MK_HOST ? "GEX_MK_HOST" : "GEX_MK_INVALID");
	return kind;
}

} // namespace

const char *class_name(uint64_t memory_class)
{
	for (const auto &one : kClasses)
		if (one.memory_class == memory_class)
			return one.name;
	return "host";
}

bool others_on_this_machine()
{
	return any_other_node(true);
}
bool others_on_other_machines()
{
	return any_other_node(false);
}

device &device_for(const char *call, uint64_t memory_class, uint64_t number)
{
	device *found = nullptr;
	for (size_t i = 0; i < g_device_count; i++) {
		device *d = g_devices[i];
		if (d->memory_class != memory_class || !d->kind)
			continue;
		if (number && d->number == number)
			return *d;
		if (!found)
			found = d;
	}
	if (found)
		return *found;
	devices::device_choice which;
	which.place = number;
	char why[200] = "";
	found = open_device(memory_class, which, why, sizeof why);
	if (!found)
		fail("%s: memory of kind %s of another node, and no way to it: %s", call, class_name(memory_class),
		     why);
	return *found;
}

void driver_failed(const char *call, const device &d)
{
	fail("%s: %s memory: %s", call, class_name(d.memory_class), d.kind->last_error());
}

void device_copy(const char *call, device &d, void *dest, const void *source, size_t bytes)
{
	const devices::piece one{dest, source, bytes};
	if (d.kind->copy(&one, 1) != 0)
		driver_failed(call, d);
	pgas_add_release(&d.submitted, uint64_t{1}); // pairs with load_acquire in device_finish()
}

void device_finish(const char *call, device &d)
{
	const uint64_t wanted = pgas_load_acquire(&d.submitted); // pairs with add_release in device_copy()
	if (pgas_load_acquire(&d.finished) >= wanted)            // pairs with store_release in device_finish()
		return;
	const pgas::mutex_holder alone(d.mutex, kThreads);
	if (pgas_load_relaxed(&d.finished) >= wanted)
		return;
	const uint64_t now = pgas_load_acquire(&d.submitted); // pairs with add_release in device_copy()
	if (d.kind->finish() != 0)
		driver_failed(call, d);
	pgas_store_release(&d.finished, now); // pairs with load_acquire in device_finish()
}

} // namespace gasnet

using namespace gasnet;

// --- kinds -----------------------------------------------------------------------------------------------------------

extern "C" int gex_MK_Create(gex_MK_t *kind_p, gex_Client_t client, const gex_MK_Create_args_t *args,
			     gex_Flags_t flags) noexcept
{
	if (!kind_p || client != &g_client || !args || flags || args->gex_flags)
		return refuse(GASNET_ERR_BAD_ARG, "gex_MK_Create: an argument is wrong (flags are 0)");
	if (args->gex_class == GEX_MK_CLASS_HOST)
		return refuse(GASNET_ERR_BAD_ARG, "gex_MK_Create: host memory is GEX_MK_HOST, which is there already");
	if (strcmp(class_name(args->gex_class), "host") == 0)
		return refuse(GASNET_ERR_BAD_ARG, "gex_MK_Create: there is no class %d of memory",
			      static_cast<int>(args->gex_class));
	const devices::device_choice which = choice_of(*args);
	if (args->gex_class == GEX_MK_CLASS_ZE && (!which.device || !which.context))
		return refuse(GASNET_ERR_BAD_ARG, "gex_MK_Create: gex_zeDevice and gex_zeContext are both needed");
	if (args->gex_class != GEX_MK_CLASS_ZE && which.number < 0)
		return refuse(GASNET_ERR_BAD_ARG, "gex_MK_Create: there is no device %d", which.number);
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	char why[200] = "";
	device *d = open_device(args->gex_class, which, why, sizeof why);
	if (!d)
		return refuse(GASNET_ERR_RESOURCE, "gex_MK_Create: %s", why);
	d->users++;
	*kind_p = new gasneti_kind{nullptr, flags, args->gex_class, d, 0};
	return GASNET_OK;
}

extern "C" void gex_MK_Destroy(gex_MK_t kind, gex_Flags_t flags) noexcept
{
	gasneti_kind *k = must_be_kind("gex_MK_Destroy", kind);
	if (flags)
		fail("gex_MK_Destroy: flags are 0x%x, and must be 0", flags);
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	if (k->segments)
		fail("gex_MK_Destroy: %d of its segments are there; gex_Segment_Destroy comes first", k->segments);
	k->device->users--;
	if (!k->device->users && !k->device->has_views)
		close_device(*k->device);
	delete k;
}

extern "C" void gex_MK_SetCData(gex_MK_t kind, const void *val) noexcept
{
	must_be_kind("gex_MK_SetCData", kind)->cdata = const_cast<void *>(val);
}
extern "C" void *gex_MK_QueryCData(gex_MK_t kind) noexcept
{
	return must_be_kind("gex_MK_QueryCData", kind)->cdata;
}
extern "C" gex_Flags_t gex_MK_QueryFlags(gex_MK_t kind) noexcept
{
	return must_be_kind("gex_MK_QueryFlags", kind)->flags;
}
extern "C" gex_Client_t gex_MK_QueryClient(gex_MK_t kind) noexcept
{
	must_be_kind("gex_MK_QueryClient", kind);
	return &g_client;
}
extern "C" gex_MK_Class_t gex_MK_QueryClass(gex_MK_t kind) noexcept
{
	return must_be_kind("gex_MK_QueryClass", kind)->memory_class;
}

// --- segments --------------------------------------------------------------------------------------------------------

extern "C" int gex_Segment_Create(gex_Segment_t *segment_p, gex_Client_t client, gex_Addr_t address, uintptr_t length,
				  gex_MK_t kind, gex_Flags_t flags) noexcept
{
	if (!segment_p || client != &g_client || flags || kind == GEX_MK_INVALID)
		return refuse(GASNET_ERR_BAD_ARG, "gex_Segment_Create: an argument is wrong (flags are 0)");
	if (!length)
		return refuse(GASNET_ERR_BAD_ARG, "gex_Segment_Create: a segment of no bytes");
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	auto *s = new made_segment{};
	s->bytes = length;
	s->kind = kind == GEX_MK_HOST ? nullptr : kind;
	const int rc = s->kind ? get_device_memory(*s, address, length) : get_host_memory(*s, address, length);
	if (rc != GASNET_OK) {
		delete s;
		return rc;
	}
	if (s->kind)
		s->kind->segments++;
	*segment_p = s;
	return GASNET_OK;
}

extern "C" void gex_Segment_Destroy(gex_Segment_t seg, gex_Flags_t flags) noexcept
{
	if (seg == GEX_SEGMENT_INVALID || flags)
		fail("gex_Segment_Destroy: %s", flags ? "flags must be 0" : "GEX_SEGMENT_INVALID is no segment");
	if (seg == &g_segment)
		fail("gex_Segment_Destroy: the segment of gex_Segment_Attach stays");
	auto *s = static_cast<made_segment *>(seg);
	const pgas::mutex_holder alone(kinds_mutex, kThreads);
	if (s->bound)
		fail("gex_Segment_Destroy: the segment is bound to an endpoint, and stays bound");
	if (s->kind) {
		s->kind->device->kind->release(s->region);
		s->kind->segments--;
	} else if (s->carved) {
		memory_uncarve(s->address, in_pages(s->bytes));
	} else if (s->ours) {
		g_gasnet.net.ops->mem_free(g_gasnet.net.domain, s->address, s->bytes);
	}
	delete s;
}
