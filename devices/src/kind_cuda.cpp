// SPDX-License-Identifier: BSD-3-Clause
//
// CUDA devices through the driver, libcuda.so.1. Memory is from cuMemAlloc; a handle is 64 bytes that any process of
// this host may open, except the one that made it.
//
// The context is the one that is current when open() is called, since the program or its CUDA runtime has chosen the
// device then; otherwise it is the primary context of device local_rank % count, which the runtime will share. In a
// thread without a context ours stays current; in a thread with another context, every call restores that one.
#include "cuda_amo.hpp"
#include "cuda_fold.hpp"
#include "cuda_pieces.hpp"
#include "device_kinds.hpp"
#include "kind_cuda.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pgas::devices {
namespace {

constexpr const char *kFiles[] = {"libcuda.so.1", nullptr};
// The first two are created at the first use of the driver; the third exists when the kernel driver is loaded. The
// others are for Tegra, and Windows.
constexpr const char *kNodes[] = {"/dev/nvidiactl",   "/dev/nvidia0", "/proc/driver/nvidia/gpus/*",
				  "/dev/nvhost-gpu*", "/dev/dxg",     nullptr};
constexpr driver_library kDriver = {"the CUDA driver", kFiles, "PGAS_CUDA_DRIVER", kNodes};

constexpr uintptr_t kNoContext = 1; // no context was current; no real one has this address

cuda_address address(const void *ptr)
{
	return reinterpret_cast<uintptr_t>(ptr);
}

} // namespace

bool cuda_kind::has_driver() const
{
	return driver_is_here(kDriver);
}

int cuda_kind::fail(const char *name, int code) const
{
	const char *text = nullptr;
	if (api_.get_error_string(code, &text) != 0 || !text)
		text = "an error that the driver has no words for";
	return failed(errno_of_cuda(code), name, text);
}

// --- the device ------------------------------------------------------------------------------------------------------

int cuda_kind::find_context(int local_rank)
{
	int rc = call(api_.init, 0U);
	cuda_context current = nullptr;
	if (rc == 0)
		rc = call(api_.get_current, &current);
	if (rc == 0 && current) {
		rc = call(api_.get_current_device, &device_);
	} else {
		int count = 0;
		if (rc == 0)
			rc = call(api_.get_device_count, &count);
		if (rc == 0 && count < 1)
			rc = failed(-ENODEV, api_.get_device_count.name, "this host has no CUDA device");
		if (rc == 0)
			rc = call(api_.get_device, &device_, local_rank > 0 ? local_rank % count : 0);
	}
	if (rc == 0)
		rc = check_device();
	if (rc == 0 && !current) {
		rc = call(api_.retain_primary, &current, device_);
		retained_ = rc == 0;
	}
	if (rc == 0)
		context_ = current;
	return rc;
}

int cuda_kind::check_device() const
{
	int unified = 0;
	const int rc = call(api_.get_device_attribute, &unified, kCudaUnifiedAddressing, device_);
	return rc != 0 || unified
		       ? rc
		       : failed(-ENODEV, api_.get_device_attribute.name, "the device has no unified addressing");
}

int cuda_kind::find_device(const device_choice &which)
{
	int count = 0;
	int rc = call(api_.init, 0U);
	if (rc == 0)
		rc = call(api_.get_device_count, &count);
	if (rc == 0 && which.number >= count) {
		char text[80];
		snprintf(text, sizeof text, "there is no CUDA device %d; this host has %d", which.number, count);
		rc = failed(-ENODEV, api_.get_device_count.name, text);
	}
	if (rc == 0 && count < 1)
		rc = failed(-ENODEV, api_.get_device_count.name, "this host has no CUDA device");
	if (rc != 0)
		return rc;
	for (int i = 0; which.number < 0 && which.place && i < count; i++)
		if (call(api_.get_device, &device_, i) == 0 && number_of_device() == which.place)
			return 0;
	return call(api_.get_device, &device_, which.number < 0 ? 0 : which.number);
}

int cuda_kind::open_device(const device_choice &which, char *why, size_t room)
{
	int rc = load_driver(kDriver, api_, why, room);
	if (rc != 0)
		return rc;
	cuda_context primary = nullptr;
	chosen_ = true;
	rc = find_device(which);
	if (rc == 0)
		rc = check_device();
	if (rc == 0)
		rc = call(api_.retain_primary, &primary, device_);
	if (rc == 0) {
		retained_ = true;
		context_ = primary;
		return open_stream(why, room);
	}
	snprintf(why, room, "%s", t_error);
	return rc;
}

int cuda_kind::open(int local_rank, char *why, size_t room)
{
	int rc = load_driver(kDriver, api_, why, room);
	if (rc != 0)
		return rc;
	rc = find_context(local_rank);
	if (rc == 0)
		return open_stream(why, room);
	snprintf(why, room, "%s", t_error);
	return rc;
}

int cuda_kind::open_for(const void *memory, char *why, size_t room)
{
	if (!driver_is_loaded(kDriver))
		return failed(-ENXIO, kFiles[0], "it is not loaded");
	int rc = load_driver(kDriver, api_, why, room);
	if (rc != 0)
		return rc;
	cuda_context owner = nullptr;
	unsigned type = 0;
	if (api_.get_pointer_attribute(&type, kCudaMemoryType, address(memory)) != 0 || type != kCudaTypeDevice)
		return failed(-ENXIO, api_.get_pointer_attribute.name, "it is not memory of a CUDA device");
	rc = call(api_.get_pointer_attribute, static_cast<void *>(&owner), kCudaContext, address(memory));
	if (rc == 0)
		rc = call(api_.get_pointer_attribute, static_cast<void *>(&device_), kCudaDeviceOrdinal,
			  address(memory));
	if (rc == 0 && !owner) { // memory of a pool has no context
		rc = call(api_.retain_primary, &owner, device_);
		retained_ = rc == 0;
	}
	if (rc == 0) {
		context_ = owner;
		return open_stream(why, room);
	}
	snprintf(why, room, "%s", t_error);
	return rc;
}

int cuda_kind::open_stream(char *why, size_t room)
{
	const visit entered(*this);
	int rc = entered.rc != 0 ? entered.rc : call(api_.create_stream, &stream_, kCudaStreamNonBlocking);
	if (rc == 0)
		rc = open_queue();
	batch_ = api_.copy_batch.address || api_.copy_batch_v1.address;
	if (rc != 0) {
		snprintf(why, room, "%s", t_error);
		end_device();
	}
	return rc;
}

void cuda_kind::end_device()
{
	if (module_)
		api_.unload_module(module_);
	if (stream_)
		api_.destroy_stream(stream_);
	if (pieces_module_)
		api_.unload_module(pieces_module_);
	pieces_module_ = nullptr;
	pieces_kernel_ = nullptr;
	kernel_ = true;
	for (const kernels &one : folds_)
		api_.unload_module(one.module);
	folds_.clear();
	module_ = nullptr;
	amo_ = nullptr;
	stream_ = nullptr;
	without_atomics_.clear();
	if (retained_) {
		if (!chosen_)
			api_.set_current(nullptr);
		api_.release_primary(device_);
	}
	retained_ = chosen_ = false;
	context_ = nullptr;
}

int cuda_kind::enter(uintptr_t &before) const
{
	if (!context_)
		return failed(-ENODEV, name(), "the device is not open");
	cuda_context current = nullptr;
	const int rc = call(api_.get_current, &current);
	before = current == context_ ? 0 : reinterpret_cast<uintptr_t>(current);
	if (!current && chosen_)
		before = kNoContext;
	return rc != 0 || current == context_ ? rc : call(api_.set_current, context_);
}

void cuda_kind::leave(uintptr_t before) const
{
	if (before)
		api_.set_current(before == kNoContext ? nullptr : reinterpret_cast<cuda_context>(before));
}

// --- memory ----------------------------------------------------------------------------------------------------------

int cuda_kind::get_memory(size_t bytes, region &out)
{
	cuda_address addr = 0;
	const int rc = call(api_.allocate, &addr, bytes);
	if (rc == 0) {
		out.addr = addr;
		out.bytes = bytes;
	}
	return rc;
}

int cuda_kind::give_memory(const region &r, handle &out)
{
	// the handle is for the whole allocation, wherever in it the address is
	uintptr_t start = r.addr;
	size_t bytes = 0;
	if (range_of(r.addr, start, bytes) == 0 && start != r.addr)
		return failed(-EOPNOTSUPP, "give",
			      "the memory is not at the beginning of what the driver has allocated");
	cuda_ipc_handle ipc;
	const int rc = call(api_.ipc_get, &ipc, cuda_address{r.addr});
	static_assert(sizeof out.blob == sizeof ipc);
	if (rc == 0)
		memcpy(out.blob, &ipc, sizeof ipc);
	return rc;
}

// 0: the driver does not report it.
uint64_t cuda_kind::number_of_device() const
{
	int domain = 0, bus = 0, device = 0;
	if (api_.get_device_attribute(&domain, kCudaPciDomain, device_) != 0 ||
	    api_.get_device_attribute(&bus, kCudaPciBus, device_) != 0 ||
	    api_.get_device_attribute(&device, kCudaPciDevice, device_) != 0)
		return 0;
	return number_of_place(static_cast<unsigned>(domain), static_cast<unsigned>(bus),
			       static_cast<unsigned>(device));
}

int cuda_kind::open_memory(const handle &source, uintptr_t &addr)
{
	cuda_ipc_handle ipc;
	memcpy(&ipc, source.blob, sizeof ipc);
	cuda_address opened = 0;
	const int rc = call(api_.ipc_open, &opened, ipc, kCudaIpcLazyPeerAccess);
	if (rc != 0)
		return rc;
	addr = opened;
	if (lacks_atomics(opened)) {
		region r;
		r.addr = addr;
		r.bytes = source.bytes;
		without_atomics_.push_back(r);
	}
	return 0;
}

int cuda_kind::range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const
{
	cuda_address first = 0;
	const int code = api_.get_range(&first, &bytes, addr);
	start = first;
	return code;
}

// True for memory of another device, over a link on which our kernels' atomics are not atomic.
bool cuda_kind::lacks_atomics(cuda_address opened)
{
	int owner = device_, native = 1;
	if (api_.get_pointer_attribute(&owner, kCudaDeviceOrdinal, opened) != 0 || owner == device_)
		return false;
	return api_.get_peer_attribute(&native, kCudaPeerAtomics, device_, owner) == 0 && !native;
}

void cuda_kind::end_memory(const region &r, bool opened)
{
	if (opened)
		api_.ipc_close(r.addr);
	else
		api_.free(r.addr);
	std::erase_if(without_atomics_, [&](const region &one) { return one.addr == r.addr; });
}

int cuda_kind::get_pinned(size_t bytes, void **out)
{
	return call(api_.allocate_host, out, bytes, kCudaHostPortable | kCudaHostMapped);
}

int cuda_kind::place_of(const void *ptr, place &out) const
{
	unsigned type = 0;
	const int code = api_.get_pointer_attribute(&type, kCudaMemoryType, address(ptr));
	if (code == kCudaInvalidValue) // the driver does not know this memory
		out = place::pageable;
	else if (code != 0)
		return fail(api_.get_pointer_attribute.name, code);
	else
		out = type == kCudaTypeDevice || type == kCudaTypeUnified ? place::device : place::pinned;
	return 0;
}

int cuda_kind::device_of(const void *ptr) const
{
	const visit entered(*this);
	int ordinal = -1;
	if (entered.rc != 0 || api_.get_pointer_attribute(&ordinal, kCudaDeviceOrdinal, address(ptr)) != 0)
		return -1;
	return ordinal;
}

// --- copies ----------------------------------------------------------------------------------------------------------

int cuda_kind::submit_one(const piece &p)
{
	return call(api_.copy, address(p.dest), address(p.source), p.bytes, stream_);
}

int cuda_kind::submit_batch(const piece *pieces, size_t count)
{
	dests_.clear();
	sources_.clear();
	sizes_.clear();
	for (size_t i = 0; i < count; i++) {
		dests_.push_back(address(pieces[i].dest));
		sources_.push_back(address(pieces[i].source));
		sizes_.push_back(pieces[i].bytes);
	}
	cuda_copy_attributes how = {};
	how.source_order = kCudaOrderOfStream;
	size_t first = 0, failing = 0;
	if (api_.copy_batch.address)
		return call(api_.copy_batch, dests_.data(), sources_.data(), sizes_.data(), count, &how, &first,
			    size_t{1}, stream_);
	return call(api_.copy_batch_v1, dests_.data(), sources_.data(), sizes_.data(), count, &how, &first, size_t{1},
		    &failing, stream_);
}

int cuda_kind::submit_kernel(const piece *pieces, size_t count)
{
	constexpr size_t kThreads = 256, kUnit = 16, kMostBlocks = 4096;
	int rc = pieces_kernel_ ? 0 : load(cuda_pieces_text().c_str(), pieces_module_, kCudaPiecesName, pieces_kernel_);
	for (size_t begin = 0; begin < count && rc == 0; begin += kCudaMostPieces) {
		const size_t now = std::min(count - begin, kCudaMostPieces);
		cuda_pieces all = {};
		size_t longest = 0;
		for (size_t i = 0; i < now; i++) {
			const piece &p = pieces[begin + i];
			all.dest[i] = address(p.dest);
			all.source[i] = address(p.source);
			all.bytes[i] = p.bytes;
			longest = std::max(longest, p.bytes);
		}
		void *arguments[] = {&all};
		const size_t blocks = (longest + kThreads * kUnit - 1) / (kThreads * kUnit);
		rc = call(api_.launch, pieces_kernel_, static_cast<unsigned>(std::min(blocks, kMostBlocks / now)),
			  static_cast<unsigned>(now), 1U, unsigned{kThreads}, 1U, 1U, 0U, stream_,
			  static_cast<void **>(arguments), static_cast<void **>(nullptr));
	}
	return rc;
}

int cuda_kind::submit(const piece *pieces, size_t count, bool ours)
{
	if (count > 1 && ours && kernel_) {
		if (submit_kernel(pieces, count) == 0)
			return 0;
		kernel_ = false; // as with batches, below
	}
	if (count > 1 && batch_) {
		if (submit_batch(pieces, count) == 0)
			return 0;
		// A driver may have the call but not support it, for these addresses or at all. Pieces do not depend on
		// others of the same batch, so those already copied may be copied again.
		batch_ = false;
	}
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = submit_one(pieces[i]);
	return rc;
}

int cuda_kind::ask(bool &idle)
{
	const int code = api_.query(stream_);
	idle = code == 0;
	return code == 0 || code == kCudaNotReady ? 0 : fail(api_.query.name, code);
}

int cuda_kind::submit_fill(void *dest, int byte, size_t bytes)
{
	return call(api_.fill, address(dest), static_cast<unsigned char>(byte), bytes, stream_);
}

// --- atomics ---------------------------------------------------------------------------------------------------------

// The driver compiles the text, which takes milliseconds, so it is loaded on first use.
int cuda_kind::load(const char *text, cuda_module &module, const char *name, cuda_function &function) const
{
	cuda_module loaded = module;
	int rc = loaded ? 0 : call(api_.load_module, &loaded, static_cast<const void *>(text));
	if (rc != 0)
		return rc;
	rc = call(api_.get_function, &function, loaded, name);
	if (rc == 0) {
		module = loaded;
		return 0;
	}
	function = nullptr;
	api_.unload_module(loaded);
	module = nullptr;
	return rc;
}

int cuda_kind::submit_amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare, uint64_t *result)
{
	for (const region &one : without_atomics_)
		if (address(target) - one.addr < one.bytes)
			return failed(-EOPNOTSUPP, "atomic", "the link between the two devices has no atomics");
	const int rc = amo_ ? 0 : load(kCudaAmoText, module_, kCudaAmoName, amo_);
	if (rc != 0)
		return rc;
	cuda_amo_arguments a = {address(target), value, compare, address(result),
				static_cast<uint32_t>(op) + (bytes == 8 ? kCudaAmoWide : 0)};
	void *arguments[] = {&a.target, &a.value, &a.compare, &a.result, &a.op};
	return call(api_.launch, amo_, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream_, static_cast<void **>(arguments),
		    static_cast<void **>(nullptr));
}

// --- folds -----------------------------------------------------------------------------------------------------------

int cuda_kind::find_kernels(const fold &f, const kernels *&out)
{
	for (const kernels &one : folds_)
		if (one.form == f.form && one.op == f.op && one.type == f.type) {
			out = &one;
			return 0;
		}
	kernels made{f.form, f.op, f.type};
	const std::string text = cuda_fold_text(f.form, f.op, f.type);
	const size_t lanes = cuda_fold_lanes(f.type);
	int rc = load(text.c_str(), made.module, cuda_fold_name(f.form, f.op, f.type, 1).c_str(), made.single);
	if (rc == 0 && lanes > 1)
		rc = load(text.c_str(), made.module, cuda_fold_name(f.form, f.op, f.type, lanes).c_str(), made.wide);
	if (rc == 0) {
		folds_.push_back(made);
		out = &folds_.back();
	}
	return rc;
}

// Runs `count` threads' work items, from byte `begin` of every row on.
int cuda_kind::launch_on(cuda_function kernel, const fold &f, size_t begin, size_t count)
{
	constexpr size_t kThreads = 256, kMostBlocks = 2048; // enough to fill any device; threads loop for more
	if (!count)
		return 0;
	cuda_fold_arguments a;
	a.count = count;
	a.rows = static_cast<uint32_t>(f.row_count);
	a.outs = static_cast<uint32_t>(f.out_count);
	for (size_t i = 0; i < kMostRows; i++) {
		a.places.rows[i] = i < f.row_count ? address(f.rows[i]) + begin : 0;
		a.places.outs[i] = i < f.out_count ? address(f.outs[i]) + begin : 0;
	}
	void *arguments[] = {&a.count, &a.rows, &a.outs, &a.places};
	const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMostBlocks));
	return call(api_.launch, kernel, blocks, 1U, 1U, unsigned{kThreads}, 1U, 1U, 0U, stream_,
		    static_cast<void **>(arguments), static_cast<void **>(nullptr));
}

int cuda_kind::launch_fold(const fold &f)
{
	const kernels *k = nullptr;
	const int rc = find_kernels(f, k);
	if (rc != 0)
		return rc;
	uintptr_t bits = 0;
	for (size_t i = 0; i < f.row_count; i++)
		bits |= address(f.rows[i]);
	for (size_t i = 0; i < f.out_count; i++)
		bits |= address(f.outs[i]);
	const size_t lanes = cuda_fold_lanes(f.type);
	const size_t groups = k->wide && bits % kCudaFoldWide == 0 ? f.elements / lanes : 0;
	const int wide = launch_on(k->wide, f, 0, groups);
	return wide != 0 ? wide : launch_on(k->single, f, groups * kCudaFoldWide, f.elements - groups * lanes);
}

kind &cuda()
{
	static cuda_kind one;
	return one;
}

kind *new_cuda()
{
	return new cuda_kind;
}

} // namespace pgas::devices
