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

namespace pgas::devices {
namespace {

constexpr const char *kFiles[] = {"libcuda.so.1", nullptr};
// The first two are created at the first use of the driver; the third exists when the kernel driver is loaded. The
// others are for Tegra, and Windows.
constexpr const char *kNodes[] = {"/dev/nvidiactl",   "/dev/nvidia0", "/proc/driver/nvidia/gpus/*",
				  "/dev/nvhost-gpu*", "/dev/dxg",     nullptr};
constexpr driver_library kDriver = {"the CUDA driver", "CUDA device", kFiles, "PGAS_CUDA_DRIVER", kNodes};

constexpr uintptr_t kNoContext = 1; // no context was current; no real one has this address

cuda_address address(const void *ptr)
{
	return reinterpret_cast<uintptr_t>(ptr);
}

} // namespace

const driver_library &cuda_kind::library() const
{
	return kDriver;
}

int cuda_kind::fail(const char *name, int code) const
{
	const char *text = nullptr;
	if (api_.get_error_string(code, &text) != 0 || !text)
		text = "an error that the driver has no words for";
	return failed(errno_of_cuda(code), name, text);
}

// --- the device ------------------------------------------------------------------------------------------------------

int cuda_kind::count_devices(int &count)
{
	const int rc = call(api_.init, 0U);
	return rc != 0 ? rc : call(api_.get_device_count, &count);
}

int cuda_kind::use_current(bool &found)
{
	cuda_context current = nullptr;
	int rc = call(api_.get_current, &current);
	if (rc != 0 || !current)
		return rc;
	rc = call(api_.get_current_device, &device_);
	if (rc == 0)
		context_ = current;
	found = rc == 0;
	return rc;
}

int cuda_kind::open_context()
{
	int unified = 0;
	int rc = call(api_.get_device_attribute, &unified, kCudaUnifiedAddressing, device_);
	if (rc == 0 && !unified)
		rc = failed(-ENODEV, api_.get_device_attribute.name, "the device has no unified addressing");
	if (rc != 0 || context_)
		return rc;
	rc = call(api_.retain_primary, &context_, device_);
	retained_ = rc == 0;
	return rc;
}

int cuda_kind::open_for(const void *memory, char *why, size_t room)
{
	if (!driver_is_loaded(kDriver))
		return failed(-ENXIO, kFiles[0], "it is not loaded");
	return open_by([&] { return find_owner(memory); }, why, room);
}

// Memory of a pool has no context: its device's primary context is used.
int cuda_kind::find_owner(const void *memory)
{
	unsigned type = 0;
	if (api_.get_pointer_attribute(&type, kCudaMemoryType, address(memory)) != 0 || type != kCudaTypeDevice)
		return failed(-ENXIO, api_.get_pointer_attribute.name, "it is not memory of a CUDA device");
	const int rc = call(api_.get_pointer_attribute, static_cast<void *>(&context_), kCudaContext, address(memory));
	return rc != 0 ? rc
		       : call(api_.get_pointer_attribute, static_cast<void *>(&device_), kCudaDeviceOrdinal,
			      address(memory));
}

int cuda_kind::open_stream()
{
	batch_ = api_.copy_batch.address || api_.copy_batch_v1.address;
	return call(api_.create_stream, &stream_, kCudaStreamNonBlocking);
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
		if (!is_chosen())
			api_.set_current(nullptr);
		api_.release_primary(device_);
	}
	retained_ = false;
	context_ = nullptr;
}

int cuda_kind::enter(uintptr_t &before) const
{
	if (!context_)
		return failed(-ENODEV, name(), "the device is not open");
	cuda_context current = nullptr;
	const int rc = call(api_.get_current, &current);
	before = current == context_ ? 0 : reinterpret_cast<uintptr_t>(current);
	if (!current && is_chosen())
		before = kNoContext;
	return rc != 0 || current == context_ ? rc : call(api_.set_current, context_);
}

void cuda_kind::leave(uintptr_t before) const
{
	if (before)
		api_.set_current(before == kNoContext ? nullptr : reinterpret_cast<cuda_context>(before));
}

// --- memory ----------------------------------------------------------------------------------------------------------

int cuda_kind::get_memory(size_t bytes, uintptr_t &addr)
{
	cuda_address got = 0;
	const int rc = call(api_.allocate, &got, bytes);
	addr = got;
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
	if (rc == 0)
		put_blob(ipc, out);
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
	cuda_address opened = 0;
	const int rc = call(api_.ipc_open, &opened, get_blob<cuda_ipc_handle>(source), kCudaIpcLazyPeerAccess);
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

void cuda_kind::close_memory(const region &r)
{
	api_.ipc_close(r.addr);
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
	return driver_kind::submit(pieces, count, ours);
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
		if (contains(one, address(target)))
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

kind *new_cuda()
{
	return new cuda_kind;
}

} // namespace pgas::devices
