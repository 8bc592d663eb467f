// SPDX-License-Identifier: BSD-3-Clause
//
// Where the buffers of a data call may lie. The entry points of pgas_rma.cpp, pgas_amo.cpp and pgas_msg.cpp are
// templates over one of these two policies:
//
//   host_buffers        host memory: descriptors are not read. Tables of endpoints without FI_HMEM
//   described_buffers   host memory, or the device memory that a descriptor names. Tables of endpoints with FI_HMEM
//
// An object holds the descriptors of one call. It is empty for host memory, where it costs no instruction.
#pragma once

#include "engine/pgas_op.hpp"
#include "hmem/pgas_hmem.hpp"

namespace pgas {

struct host_buffers {
	static constexpr bool kDevices = false;

	struct injected {
		static constexpr int err = 0;
		const void *buf;
		injected(fid_ep *, const void *src, size_t) : buf(src) {}
		injected(fid_ep *, const void *src, size_t, fi_datatype) : buf(src) {}
	};

	host_buffers() = default;
	explicit host_buffers(void *const *, void *const * = nullptr, void *const * = nullptr) {}
	int submit(fid_ep *f, fi_addr_t addr, op &o) const { return static_cast<int>(op_submit(f, addr, o)); }
	ssize_t receive(fid_ep *f, const iovec *iov, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
			void *context, uint64_t flags, bool tagged) const
	{
		return rx_post(f, iov, count, src, tag, ignore, context, flags, tagged);
	}
};

struct described_buffers {
	static constexpr bool kDevices = true;

	// It has no descriptor, so the driver is asked. From here on the call is one with host memory.
	using injected = hmem_injected;

	explicit described_buffers(void *const *operand, void *const *cmp = nullptr, void *const *res = nullptr)
		: desc{operand, cmp, res}
	{
	}
	int submit(fid_ep *f, fi_addr_t addr, op &o) const { return hmem_submit(f, addr, o, desc); }
	ssize_t receive(fid_ep *f, const iovec *iov, size_t count, fi_addr_t src, uint64_t tag, uint64_t ignore,
			void *context, uint64_t flags, bool tagged) const
	{
		return hmem_receive(f, iov, desc.operand, count, src, tag, ignore, context, flags, tagged);
	}

	hmem_descriptors desc;
};

} // namespace pgas
