// SPDX-License-Identifier: BSD-3-Clause
//
// Lists of buffers: their total, a part of them, and copies out of and into them.
#pragma once

#include <sys/uio.h>

#include <cstddef>

#include <rdma/fi_atomic.h>

namespace pgas {

size_t iov_total(const iovec *iov, size_t count);
size_t ioc_total(const fi_ioc *list, size_t count); // elements
// Writes bytes [skip, skip + len) of the list as a list of their own; returns its number of entries.
size_t iov_part(const iovec *iov, size_t count, size_t skip, size_t len, iovec *out);
void iov_gather(const iovec *iov, size_t count, size_t skip, void *dst, size_t len);
void iov_scatter(const iovec *iov, size_t count, size_t skip, const void *src, size_t len);
// The same where the list is the memory that others may use meanwhile, and the single buffer is private.
void iov_load(const iovec *iov, size_t count, void *dst, size_t len);
void iov_store(const iovec *iov, size_t count, const void *src, size_t len);

} // namespace pgas
