// SPDX-License-Identifier: BSD-3-Clause
//
// The CUDA kind; declared here also for the OpenMP kind, whose memory may be CUDA's: see kind_cuda.cpp.
#pragma once

#include "cuda_api.hpp"
#include "device_driver_kind.hpp"

namespace pgas::devices {

class cuda_kind final : public driver_kind {
public:
	const char *name() const override { return "cuda"; }
	int device_of(const void *ptr) const override;
	bool can_fold(fold_op op, fold_type type) const override
	{
		return !is_float(type) || op <= fold_op::max; // no bit operations on floating-point numbers
	}
	// Opens the device and the context of memory that another library has allocated. -ENXIO: the driver is not
	// loaded, or does not know this memory.
	int open_for(const void *memory, char *why, size_t room);

private:
	const driver_library &library() const override;
	driver_symbols symbols() override { return symbols_of(api_); }
	int count_devices(int &count) override;
	int use_current(bool &found) override;
	int select(int index) override { return call(api_.get_device, &device_, index); }
	int open_context() override;
	int open_stream() override;
	void end_device() override;
	int enter(uintptr_t &before) const override;
	void leave(uintptr_t before) const override;
	uint64_t number_of_device() const override;

	int get_memory(size_t bytes, uintptr_t &addr) override;
	void free_memory(const region &r) override { api_.free(r.addr); }
	int give_memory(const region &r, handle &out) override;
	int open_memory(const handle &source, uintptr_t &addr) override;
	void close_memory(const region &r) override;
	int range_of(uintptr_t addr, uintptr_t &start, size_t &bytes) const override;
	int get_pinned(size_t bytes, void **out) override;
	void end_pinned(void *ptr) override { api_.free_host(ptr); }
	int place_of(const void *ptr, place &out) const override;

	int submit(const piece *pieces, size_t count, bool ours) override;
	int submit_one(const piece &p) override;
	int submit_fill(void *dest, int byte, size_t bytes) override;
	int submit_amo(amo_op op, void *target, size_t bytes, uint64_t value, uint64_t compare,
		       uint64_t *result) override;
	int launch_fold(const fold &f) override;
	int wait() override { return call(api_.synchronize, stream_); }
	int ask(bool &idle) override { return ask_by(api_.query, kCudaNotReady, idle, stream_); }
	int fail(const char *name, int code) const override;

	int find_owner(const void *memory);
	int submit_batch(const piece *pieces, size_t count);
	int submit_kernel(const piece *pieces, size_t count);
	bool lacks_atomics(cuda_address opened);
	int load(const char *text, cuda_module &module, const char *name, cuda_function &function) const;
	struct kernels { // of one kernel text: cuda_fold.hpp
		fold_form form;
		fold_op op;
		fold_type type;
		cuda_module module = nullptr;
		cuda_function single = nullptr, wide = nullptr;
	};
	int find_kernels(const fold &f, const kernels *&out);
	int launch_on(cuda_function kernel, const fold &f, size_t begin, size_t count);

	cuda_api api_;
	cuda_context context_ = nullptr;
	cuda_device device_ = 0;
	bool retained_ = false;
	cuda_stream stream_ = nullptr;
	cuda_module module_ = nullptr;
	cuda_function amo_ = nullptr;
	cuda_module pieces_module_ = nullptr;
	cuda_function pieces_kernel_ = nullptr;
	bool kernel_ = true;                        // works, or not tried yet
	bool batch_ = true;                         // works, or not tried yet
	std::vector<cuda_address> dests_, sources_; // of a batch
	std::vector<size_t> sizes_;
	std::vector<region> without_atomics_;
	std::deque<kernels> folds_;
};

} // namespace pgas::devices
