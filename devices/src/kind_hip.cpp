// SPDX-License-Identifier: BSD-3-Clause
//
// AMD's devices through the HIP runtime, libamdhip64. It differs from CUDA's driver as follows.
//
// The device is the one that the program has made current, unless that is device 0, which is current in every program:
// then it is device local_rank % count. Each call makes it current and restores the previous one.
//
// Atomics use locks: a kernel would have to be supplied as machine code for every generation of devices, since the
// runtime itself compiles no text.
#include "device_kinds.hpp"
#include "device_locks.hpp"
#include "device_queue.hpp"
#include "hip_api.hpp"

#include <cerrno>
#include <cstring>

namespace pgas::devices {
namespace {

constexpr const char *kFiles[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
				  nullptr};
constexpr const char *kNodes[] = {"/dev/kfd", "/dev/dxg", nullptr}; // the second: on Windows
constexpr driver_library kDriver = {"the HIP runtime", kFiles, "PGAS_HIP_DRIVER", kNodes};

class hip_kind final : public queued_kind {
public:
	const char *name() const override { return "hip"; }
	bool has_driver() const override { return driver_is_here(kDriver); }
	int open(int local_rank, char *why, size_t room) override;
	int open_device(const device_choice &which, char *why, size_t room) override;

private:
	int enter(uintptr_t &before) const override;
	void leave(uintptr_t before) const override;
	int get_memory(size_t bytes, region &out) override;
	int give_memory(const region &r, handle &out) override;
	uint64_t number_of_device() const override;
	int open_memory(const handle &source, uintptr_t &addr) override;
	int range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const override;
	void end_memory(const region &r, bool opened) override;
	int get_pinned(size_t bytes, void **out) override;
	void end_pinned(void *ptr) override { api_.free_host(ptr); }
	int place_of(const void *ptr, place &out) const override;
	int submit(const piece *pieces, size_t count, bool) override;
	int submit_pageable(const piece &p) override { return submit(&p, 1, false); }
	int submit_fill(void *dest, int byte, size_t bytes) override;
	bool has_locks() const override { return true; }
	int lock_fd_of(const handle &source) const override { return source.fd; }
	int wait() override { return call(api_.synchronize, stream_); }
	int ask(bool &idle) override;
	void end_device() override;

	int fail(const char *name, int code) const override;
	int count_devices(int &count);
	int find_device(int local_rank);
	int find_device(const device_choice &which);
	template <class Which>
	int open_found(const Which &which, char *why, size_t room);
	int open_stream(char *why, size_t room);

	hip_api api_;
	int device_ = -1;
	hip_stream stream_ = nullptr;
};

int hip_kind::fail(const char *name, int code) const
{
	const char *text = reinterpret_cast<const char *(*)(int)>(api_.get_error_string.address)(code);
	return failed(errno_of_cuda(code), name, text ? text : "an error that the runtime has no words for");
}

// --- the device ------------------------------------------------------------------------------------------------------

int hip_kind::count_devices(int &count)
{
	int rc = call(api_.init, 0U);
	if (rc == 0)
		rc = call(api_.get_device_count, &count);
	if (rc == 0 && count < 1)
		rc = failed(-ENODEV, api_.get_device_count.name, "this host has no HIP device");
	return rc;
}

int hip_kind::find_device(const device_choice &which)
{
	int count = 0;
	int rc = count_devices(count);
	if (rc == 0 && which.number >= count) {
		char text[80];
		snprintf(text, sizeof text, "there is no HIP device %d; this host has %d", which.number, count);
		rc = failed(-ENODEV, api_.get_device_count.name, text);
	}
	if (rc != 0)
		return rc;
	for (device_ = 0; which.number < 0 && which.place && device_ < count; device_++)
		if (number_of_device() == which.place)
			return 0;
	device_ = which.number < 0 ? 0 : which.number;
	return 0;
}

int hip_kind::find_device(int local_rank)
{
	int count = 0, current = 0;
	int rc = count_devices(count);
	if (rc == 0)
		rc = call(api_.get_device, &current);
	if (rc == 0)
		device_ = current != 0 || local_rank <= 0 ? current : local_rank % count;
	return rc;
}

int hip_kind::open_stream(char *why, size_t room)
{
	const visit entered(*this);
	int rc = entered.rc != 0 ? entered.rc : call(api_.create_stream, &stream_, kHipStreamNonBlocking);
	if (rc == 0)
		rc = open_queue();
	if (rc != 0) {
		snprintf(why, room, "%s", t_error);
		end_device();
	}
	return rc;
}

// which: the rank among the PEs of this host, or a device_choice.
template <class Which>
int hip_kind::open_found(const Which &which, char *why, size_t room)
{
	int rc = load_driver(kDriver, api_, why, room);
	if (rc != 0)
		return rc;
	rc = find_device(which);
	if (rc == 0)
		return open_stream(why, room);
	snprintf(why, room, "%s", t_error);
	return rc;
}

int hip_kind::open(int local_rank, char *why, size_t room)
{
	return open_found(local_rank, why, room);
}

int hip_kind::open_device(const device_choice &which, char *why, size_t room)
{
	return open_found(which, why, room);
}

void hip_kind::end_device()
{
	if (stream_)
		api_.destroy_stream(stream_);
	stream_ = nullptr;
	device_ = -1;
}

int hip_kind::enter(uintptr_t &before) const
{
	if (device_ < 0)
		return failed(-ENODEV, name(), "the device is not open");
	int current = 0;
	const int rc = call(api_.get_device, &current);
	before = current == device_ ? 0 : static_cast<uintptr_t>(current) + 1;
	return rc != 0 || !before ? rc : call(api_.set_device, device_);
}

void hip_kind::leave(uintptr_t before) const
{
	if (before)
		api_.set_device(static_cast<int>(before) - 1);
}

// --- memory ----------------------------------------------------------------------------------------------------------

int hip_kind::get_memory(size_t bytes, region &out)
{
	void *addr = nullptr;
	const int rc = call(api_.allocate, &addr, bytes);
	if (rc == 0) {
		out.addr = reinterpret_cast<uintptr_t>(addr);
		out.bytes = bytes;
	}
	return rc;
}

int hip_kind::give_memory(const region &r, handle &out)
{
	hip_ipc_handle ipc;
	const int rc = call(api_.ipc_get, &ipc, reinterpret_cast<void *>(r.addr));
	if (rc != 0)
		return rc;
	out.fd = lock_fd(r);
	static_assert(sizeof out.blob == sizeof ipc);
	memcpy(out.blob, &ipc, sizeof ipc);
	return 0;
}

// 0: the runtime does not report it.
uint64_t hip_kind::number_of_device() const
{
	char id[64] = "";
	unsigned domain = 0, bus = 0, device = 0;
	if (api_.get_bus_id(id, sizeof id - 1, device_) != 0 || sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3)
		return 0;
	return number_of_place(domain, bus, device);
}

int hip_kind::open_memory(const handle &source, uintptr_t &addr)
{
	hip_ipc_handle ipc;
	memcpy(&ipc, source.blob, sizeof ipc);
	void *opened = nullptr;
	const int rc = call(api_.ipc_open, &opened, ipc, kHipIpcLazyPeerAccess);
	addr = reinterpret_cast<uintptr_t>(opened);
	return rc;
}

int hip_kind::range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const
{
	void *first = nullptr;
	const int code = api_.get_range(&first, &bytes, reinterpret_cast<void *>(addr));
	start = reinterpret_cast<uintptr_t>(first);
	return code;
}

void hip_kind::end_memory(const region &r, bool opened)
{
	void *addr = reinterpret_cast<void *>(r.addr);
	if (opened)
		api_.ipc_close(addr);
	else
		api_.free(addr);
}

int hip_kind::get_pinned(size_t bytes, void **out)
{
	return call(api_.allocate_host, out, bytes, kHipHostPortable);
}

int hip_kind::place_of(const void *ptr, place &out) const
{
	hip_attributes found = {};
	const int code = api_.get_attributes(&found, ptr);
	if (code != 0 && code != kCudaInvalidValue)
		return fail(api_.get_attributes.name, code);
	if (code != 0 || !found.on_device) // the runtime does not know this memory
		out = place::pageable;
	else
		out = found.on_host ? place::pinned : place::device;
	return 0;
}

// --- copies ----------------------------------------------------------------------------------------------------------

int hip_kind::submit(const piece *pieces, size_t count, bool)
{
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = call(api_.copy, pieces[i].dest, pieces[i].source, pieces[i].bytes, kHipCopyAnywhere, stream_);
	return rc;
}

int hip_kind::ask(bool &idle)
{
	const int code = api_.query(stream_);
	idle = code == 0;
	return code == 0 || code == kCudaNotReady ? 0 : fail(api_.query.name, code);
}

int hip_kind::submit_fill(void *dest, int byte, size_t bytes)
{
	return call(api_.fill, dest, byte, bytes, stream_);
}

} // namespace

kind &hip()
{
	static hip_kind one;
	return one;
}

kind *new_hip()
{
	return new hip_kind;
}

} // namespace pgas::devices
