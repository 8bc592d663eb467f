// SPDX-License-Identifier: BSD-3-Clause
//
// Intel's devices through Level Zero, libze_loader. The device is device local_rank % count of the first driver that
// has any. Copies go into one immediate command list, whose commands may overtake each other: each submission ends with
// a barrier, so that later ones run after it.
//
// Processes exchange a descriptor, which take() gets from the owner. Newer drivers have calls that convert between it
// and an IPC handle; with other drivers it is the first four bytes of the handle. The owner keeps the handle as long as
// the region.
//
// Atomics use locks: a kernel would have to be supplied as SPIR-V.
#include "device_driver_kind.hpp"
#include "device_fd_server.hpp"
#include "device_kinds.hpp"
#include "device_locks.hpp"
#include "ze_api.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pgas::devices {
namespace {

constexpr const char *kFiles[] = {"libze_loader.so.1", "libze_loader.so", nullptr};
constexpr const char *kNodes[] = {"/dev/dri/renderD*", "/dev/dxg", nullptr}; // the second: on Windows
constexpr driver_library kDriver = {"the Level Zero loader", "Level Zero device", kFiles, "PGAS_ZE_DRIVER", kNodes};

const struct {
	int code;
	int error;
	const char *text;
} kCodes[] = {
	{kZeDeviceLost, -EIO, "the device is lost"},
	{kZeOutOfHostMemory, -ENOMEM, "out of host memory"},
	{kZeOutOfDeviceMemory, -ENOMEM, "out of device memory"},
	{kZeNotPermitted, -EPERM, "not permitted"},
	{kZeDependency, -ENODEV, "something that the driver needs is missing"},
	{kZeUninitialized, -ENODEV, "no driver for a device"},
	{kZeUnsupportedVersion, -EOPNOTSUPP, "the driver is too old"},
	{kZeUnsupportedFeature, -EOPNOTSUPP, "the driver or the device cannot do that"},
	{kZeInvalidArgument, -EINVAL, "invalid argument"},
	{kZeInvalidNullHandle, -EINVAL, "invalid handle"},
	{kZeInvalidNullPointer, -EINVAL, "invalid pointer"},
	{kZeInvalidSize, -EINVAL, "invalid size"},
	{kZeUnsupportedSize, -ENOMEM, "more than the device gives at once"},
};

class ze_kind final : public driver_kind {
public:
	const char *name() const override { return "ze"; }

private:
	const driver_library &library() const override { return kDriver; }
	driver_symbols symbols() override { return symbols_of(api_); }
	int count_devices(int &count) override;
	int use_given(const device_choice &which, bool &found) override;
	int select(int index) override;
	int open_context() override;
	int open_stream() override;
	void end_device() override;
	int enter(uintptr_t &before) const override;
	void leave(uintptr_t) const override {}
	uint64_t number_of_device() const override;

	int get_memory(size_t bytes, uintptr_t &addr) override;
	void free_memory(const region &r) override { api_.free(context_, reinterpret_cast<void *>(r.addr)); }
	int give_memory(const region &r, handle &out) override;
	void withdraw(const region &r) override;
	int open_memory(const handle &source, uintptr_t &addr) override;
	void close_memory(const region &r) override { api_.ipc_close(context_, reinterpret_cast<void *>(r.addr)); }
	int range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const override;
	int get_pinned(size_t bytes, void **out) override;
	void end_pinned(void *ptr) override { api_.free(context_, ptr); }
	int place_of(const void *ptr, place &out) const override;

	int submit_one(const piece &p) override;
	int end_submission() override;
	int submit_fill(void *dest, int byte, size_t bytes) override;
	bool has_locks() const override { return true; }
	int lock_fd_of(const handle &source) const override;
	int wait() override { return call(api_.synchronize, list_, UINT64_MAX); }
	int ask(bool &idle) override { return ask_by(api_.synchronize, kZeNotReady, idle, list_, 0); }
	int fail(const char *name, int code) const override;

	void put_back(const ze_ipc_handle &ipc);
	int fd_of(const ze_ipc_handle &ipc, int &out) const;
	int handle_of(int fd, const handle &source, ze_ipc_handle &out) const;

	struct given { // handles given to peers, valid until the region ends
		uintptr_t addr;
		ze_ipc_handle ipc;
		int fd;
	};

	ze_api api_;
	ze_driver driver_ = nullptr;
	std::vector<ze_device> devices_; // of that driver, while one of them is chosen
	ze_device device_ = nullptr;
	ze_context context_ = nullptr;
	bool own_context_ = false;
	uint32_t ordinal_ = 0;
	ze_list list_ = nullptr;
	std::mutex given_mutex_;
	std::vector<given> given_;
};

int ze_kind::fail(const char *name, int code) const
{
	for (const auto &one : kCodes)
		if (one.code == code)
			return failed(one.error, name, one.text);
	char text[32];
	snprintf(text, sizeof text, "error 0x%x", static_cast<unsigned>(code));
	return failed(-EIO, name, text);
}

// --- the device ------------------------------------------------------------------------------------------------------

// Lists the devices of the first driver that has any.
int ze_kind::count_devices(int &count)
{
	uint32_t found = 0;
	int rc = call(api_.init, kZeInitGpus);
	if (rc == 0)
		rc = call(api_.get_drivers, &found, static_cast<ze_driver *>(nullptr));
	std::vector<ze_driver> drivers(found);
	if (rc == 0 && found)
		rc = call(api_.get_drivers, &found, drivers.data());
	devices_.clear();
	for (const ze_driver one : drivers) {
		found = 0;
		if (rc == 0)
			rc = call(api_.get_devices, one, &found, static_cast<ze_device *>(nullptr));
		if (rc == 0 && found) {
			devices_.resize(found);
			driver_ = one;
			rc = call(api_.get_devices, one, &found, devices_.data());
			break;
		}
	}
	count = static_cast<int>(devices_.size());
	return rc;
}

// A device of any driver.
int ze_kind::use_given(const device_choice &which, bool &found)
{
	ordinal_ = which.ordinal;
	found = which.device != nullptr;
	if (found) {
		device_ = static_cast<ze_device>(which.device);
		context_ = static_cast<ze_context>(which.context);
	}
	return 0;
}

int ze_kind::select(int index)
{
	device_ = devices_[static_cast<size_t>(index)];
	return 0;
}

int ze_kind::open_context()
{
	const ze_context_wish wish;
	if (context_)
		return 0;
	const int rc = call(api_.create_context, driver_, &wish, &context_);
	own_context_ = rc == 0;
	return rc;
}

int ze_kind::open_stream()
{
	const ze_list_wish queue;
	devices_.clear();
	return call(api_.create_list, context_, device_, &queue, &list_);
}

void ze_kind::end_device()
{
	if (list_)
		api_.destroy_list(list_);
	if (own_context_)
		api_.destroy_context(context_);
	own_context_ = false;
	ordinal_ = 0;
	list_ = nullptr;
	context_ = nullptr;
	device_ = nullptr;
	driver_ = nullptr;
}

int ze_kind::enter(uintptr_t &) const
{
	return device_ ? 0 : failed(-ENODEV, name(), "the device is not open");
}

// --- memory ----------------------------------------------------------------------------------------------------------

int ze_kind::get_memory(size_t bytes, uintptr_t &addr)
{
	ze_device_memory_wish wish;
	wish.ordinal = ordinal_;
	void *got = nullptr;
	const int rc = call(api_.allocate, context_, &wish, bytes, kDevicePageBytes, device_, &got);
	addr = reinterpret_cast<uintptr_t>(got);
	return rc;
}

int ze_kind::give_memory(const region &r, handle &out)
{
	const std::lock_guard<std::mutex> lock(given_mutex_);
	auto it = std::find_if(given_.begin(), given_.end(), [&](const given &one) { return one.addr == r.addr; });
	if (it == given_.end()) {
		given g = {r.addr, {}, -1};
		int rc = call(api_.ipc_get, context_, reinterpret_cast<const void *>(r.addr), &g.ipc);
		if (rc != 0)
			return rc;
		rc = fd_of(g.ipc, g.fd);
		if (rc != 0) {
			put_back(g.ipc);
			return rc;
		}
		it = given_.insert(given_.end(), g);
	}
	out.fd = it->fd;
	put_blob(it->ipc, out);
	const int32_t locks = lock_fd(r); // overwrites the descriptor's bytes, which peers do not use
	memcpy(out.blob, &locks, sizeof locks);
	return 0;
}

// 0: the driver does not report it.
uint64_t ze_kind::number_of_device() const
{
	ze_bus_properties found;
	if (!api_.get_bus.address || api_.get_bus(device_, &found) != 0)
		return 0;
	return number_of_place(found.domain, found.bus, found.device);
}

void ze_kind::put_back(const ze_ipc_handle &ipc)
{
	if (api_.ipc_put.address)
		api_.ipc_put(context_, ipc);
}

// Gets the descriptor of one of our own handles.
int ze_kind::fd_of(const ze_ipc_handle &ipc, int &out) const
{
	uint64_t fd = 0;
	const int code = api_.ipc_to_fd.address ? api_.ipc_to_fd(context_, ipc, &fd) : int{kZeUnsupportedFeature};
	if (code == kZeUnsupportedFeature)
		memcpy(&out, ipc.bytes, sizeof out);
	else
		out = static_cast<int>(fd);
	return code == 0 || code == kZeUnsupportedFeature ? 0 : fail(api_.ipc_to_fd.name, code);
}

// The owner's handle, with our descriptor in it.
int ze_kind::handle_of(int fd, const handle &source, ze_ipc_handle &out) const
{
	const int code = api_.ipc_of_fd.address ? api_.ipc_of_fd(context_, static_cast<uint64_t>(fd), &out)
						: int{kZeUnsupportedFeature};
	if (code == kZeUnsupportedFeature) {
		out = get_blob<ze_ipc_handle>(source);
		memcpy(out.bytes, &fd, sizeof fd);
		return 0;
	}
	return code == 0 ? 0 : fail(api_.ipc_of_fd.name, code);
}

int ze_kind::lock_fd_of(const handle &source) const
{
	int32_t locks;
	memcpy(&locks, source.blob, sizeof locks);
	return locks;
}

int ze_kind::open_memory(const handle &source, uintptr_t &addr)
{
	const int fd = fd_of_peer(source.pid, source.fd, source.door);
	if (fd < 0)
		return fd;
	ze_ipc_handle ipc;
	void *opened = nullptr;
	int rc = handle_of(fd, source, ipc);
	if (rc == 0)
		rc = call(api_.ipc_open, context_, device_, ipc, 0U, &opened);
	::close(fd); // the driver has imported it
	addr = reinterpret_cast<uintptr_t>(opened);
	return rc;
}

int ze_kind::range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const
{
	void *first = nullptr;
	const int code = api_.get_range(context_, reinterpret_cast<void *>(addr), &first, &bytes);
	start = reinterpret_cast<uintptr_t>(first);
	return code;
}

void ze_kind::withdraw(const region &r)
{
	const std::lock_guard<std::mutex> lock(given_mutex_);
	std::erase_if(given_, [&](const given &one) {
		if (one.addr != r.addr)
			return false;
		door_withdraw(one.fd);
		put_back(one.ipc);
		return true;
	});
}

int ze_kind::get_pinned(size_t bytes, void **out)
{
	const ze_host_memory_wish wish;
	return call(api_.allocate_host, context_, &wish, bytes, size_t{4096}, out);
}

int ze_kind::place_of(const void *ptr, place &out) const
{
	ze_memory_properties found;
	const int rc = call(api_.get_properties, context_, ptr, &found, static_cast<ze_device *>(nullptr));
	if (rc != 0)
		return rc;
	if (found.type == kZeTypeUnknown)
		out = place::pageable;
	else
		out = found.type == kZeTypeDevice ? place::device : place::pinned;
	return 0;
}

// --- copies ----------------------------------------------------------------------------------------------------------

constexpr ze_event kNoEvent = nullptr;
constexpr ze_event *kNoEvents = nullptr;

int ze_kind::end_submission()
{
	return call(api_.barrier, list_, kNoEvent, 0U, kNoEvents);
}

int ze_kind::submit_one(const piece &p)
{
	return call(api_.copy, list_, p.dest, p.source, p.bytes, kNoEvent, 0U, kNoEvents);
}

int ze_kind::submit_fill(void *dest, int byte, size_t bytes)
{
	static unsigned char patterns[256]; // static, since a driver may read it when the command runs
	unsigned char *pattern = &patterns[static_cast<unsigned char>(byte)];
	*pattern = static_cast<unsigned char>(byte);
	const int rc = call(api_.fill, list_, dest, static_cast<const void *>(pattern), size_t{1}, bytes, kNoEvent, 0U,
			    kNoEvents);
	return rc != 0 ? rc : end_submission();
}

} // namespace

kind *new_ze()
{
	return new ze_kind;
}

} // namespace pgas::devices
