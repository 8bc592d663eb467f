// SPDX-License-Identifier: BSD-3-Clause
//
// AMD's devices through the HIP runtime, libamdhip64. It differs from CUDA's driver as follows.
//
// The device is the one that the program has made current, unless that is device 0, which is current in every program:
// then it is device local_rank % count. Each call makes it current and restores the previous one.
//
// Atomics use locks: a kernel would have to be supplied as machine code for every generation of devices, since the
// runtime itself compiles no text.
#include "device_driver_kind.hpp"
#include "device_kinds.hpp"
#include "device_locks.hpp"
#include "hip_api.hpp"

#include <cerrno>

namespace pgas::devices {
namespace {

constexpr const char *kFiles[] = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
				  nullptr};
constexpr const char *kNodes[] = {"/dev/kfd", "/dev/dxg", nullptr}; // the second: on Windows
constexpr driver_library kDriver = {"the HIP runtime", "HIP device", kFiles, "PGAS_HIP_DRIVER", kNodes};

class hip_kind final : public driver_kind {
public:
	const char *name() const override { return "hip"; }

private:
	const driver_library &library() const override { return kDriver; }
	driver_symbols symbols() override { return symbols_of(api_); }
	int count_devices(int &count) override;
	int use_current(bool &found) override;
	int select(int index) override;
	int open_stream() override { return call(api_.create_stream, &stream_, kHipStreamNonBlocking); }
	void end_device() override;
	int enter(uintptr_t &before) const override;
	void leave(uintptr_t before) const override;
	uint64_t number_of_device() const override;

	int get_memory(size_t bytes, uintptr_t &addr) override;
	void free_memory(const region &r) override { api_.free(reinterpret_cast<void *>(r.addr)); }
	int give_memory(const region &r, handle &out) override;
	int open_memory(const handle &source, uintptr_t &addr) override;
	void close_memory(const region &r) override { api_.ipc_close(reinterpret_cast<void *>(r.addr)); }
	int range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const override;
	int get_pinned(size_t bytes, void **out) override;
	void end_pinned(void *ptr) override { api_.free_host(ptr); }
	int place_of(const void *ptr, place &out) const override;

	int submit_one(const piece &p) override;
	int submit_fill(void *dest, int byte, size_t bytes) override;
	bool has_locks() const override { return true; }
	int lock_fd_of(const handle &source) const override { return source.fd; }
	int wait() override { return call(api_.synchronize, stream_); }
	int ask(bool &idle) override { return ask_by(api_.query, kCudaNotReady, idle, stream_); }
	int fail(const char *name, int code) const override;

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
	const int rc = call(api_.init, 0U);
	return rc != 0 ? rc : call(api_.get_device_count, &count);
}

int hip_kind::use_current(bool &found)
{
	int current = 0;
	const int rc = call(api_.get_device, &current);
	found = rc == 0 && current != 0;
	if (found)
		device_ = current;
	return rc;
}

int hip_kind::select(int index)
{
	device_ = index;
	return 0;
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

int hip_kind::get_memory(size_t bytes, uintptr_t &addr)
{
	void *got = nullptr;
	const int rc = call(api_.allocate, &got, bytes);
	addr = reinterpret_cast<uintptr_t>(got);
	return rc;
}

int hip_kind::give_memory(const region &r, handle &out)
{
	hip_ipc_handle ipc;
	const int rc = call(api_.ipc_get, &ipc, reinterpret_cast<void *>(r.addr));
	if (rc != 0)
		return rc;
	out.fd = lock_fd(r);
	put_blob(ipc, out);
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
	void *opened = nullptr;
	const int rc = call(api_.ipc_open, &opened, get_blob<hip_ipc_handle>(source), kHipIpcLazyPeerAccess);
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

int hip_kind::submit_one(const piece &p)
{
	return call(api_.copy, p.dest, p.source, p.bytes, kHipCopyAnywhere, stream_);
}

int hip_kind::submit_fill(void *dest, int byte, size_t bytes)
{
	return call(api_.fill, dest, byte, bytes, stream_);
}

} // namespace

kind *new_hip()
{
	return new hip_kind;
}

} // namespace pgas::devices
