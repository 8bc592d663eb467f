// SPDX-License-Identifier: BSD-3-Clause
//
// Definitions that libfabric's headers have only in some versions. libfabric 2 removed some names and deprecated
// others, whose values stay part of the ABI. Structures grew at their ends, so a module built on 1.17 may be given
// larger ones than its headers define.
#pragma once

#include "pgas_libfabric.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>

namespace pgas {

inline constexpr uint64_t kApiOrderStrict = 0x1ff;       // FI_ORDER_STRICT
inline constexpr int kApiMrBasic = 1 << 0;               // FI_MR_BASIC
inline constexpr int kApiMrScalable = 1 << 1;            // FI_MR_SCALABLE
inline constexpr uint64_t kApiRegMr = uint64_t{1} << 59; // FI_REG_MR
inline constexpr int kApiProgressUnified = 3;            // FI_PROGRESS_CONTROL_UNIFIED
inline constexpr int kApiOptCudaPermitted = 10;          // FI_OPT_CUDA_API_PERMITTED

// fi_ops_av as of 1.20. Callers check size before they use the last three.
struct api_av_ops {
	size_t size;
	decltype(fi_ops_av::insert) insert;
	decltype(fi_ops_av::insertsvc) insertsvc;
	decltype(fi_ops_av::insertsym) insertsym;
	decltype(fi_ops_av::remove) remove;
	decltype(fi_ops_av::lookup) lookup;
	decltype(fi_ops_av::straddr) straddr;
	decltype(fi_ops_av::av_set) av_set;
	int (*insert_auth_key)(fid_av *av, const void *key, size_t size, fi_addr_t *addr, uint64_t flags);
	int (*lookup_auth_key)(fid_av *av, fi_addr_t addr, void *key, size_t *size);
	int (*set_user_id)(fid_av *av, fi_addr_t addr, fi_addr_t user_id, uint64_t flags);
};
static_assert(offsetof(api_av_ops, av_set) == offsetof(fi_ops_av, av_set));

// A field beyond those in the oldest headers, at the same offset in all newer ones.
template <class Field, class Object>
Field *api_field(Object *object, size_t off)
{
	return reinterpret_cast<Field *>(reinterpret_cast<uintptr_t>(object) + off);
}

// fi_cq_err_entry::src_addr. Only callers with API 1.20 or newer have it.
inline fi_addr_t *api_error_source(fi_cq_err_entry *e)
{
	return api_field<fi_addr_t>(e, offsetof(fi_cq_err_entry, err_data_size) + sizeof(size_t));
}

// The last fields of fi_domain_attr in hints. libfabric passes hints in its own, largest form, whatever form the caller
// used; without libfabric they are not read.
inline size_t api_max_ep_auth_key(const fi_domain_attr &a)
{
	return FI_VERSION_GE(libfabric_version(), FI_VERSION(1, 20))
		       ? *api_field<const size_t>(&a, offsetof(fi_domain_attr, tclass) + 8)
		       : 0;
}

inline uint32_t api_max_group_id(const fi_domain_attr &a)
{
	return FI_VERSION_GE(libfabric_version(), FI_VERSION(2, 0))
		       ? *api_field<const uint32_t>(&a, offsetof(fi_domain_attr, tclass) + 16)
		       : 0;
}

} // namespace pgas
