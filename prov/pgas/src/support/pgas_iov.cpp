// SPDX-License-Identifier: BSD-3-Clause
#include "pgas_iov.hpp"

#include <pgas/pgas_copy.h>

namespace pgas {

size_t iov_total(const iovec *iov, size_t count)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += iov[i].iov_len;
	return n;
}

size_t ioc_total(const fi_ioc *list, size_t count)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		n += list[i].count;
	return n;
}

namespace {

template <class Move>
void iov_walk(const iovec *iov, size_t count, size_t skip, size_t len, Move &&move)
{
	size_t done = 0;
	for (size_t i = 0; i < count && done < len; i++) {
		if (skip >= iov[i].iov_len) {
			skip -= iov[i].iov_len;
			continue;
		}
		size_t n = iov[i].iov_len - skip;
		if (n > len - done)
			n = len - done;
		move(static_cast<char *>(iov[i].iov_base) + skip, done, n);
		done += n;
		skip = 0;
	}
}

} // namespace

size_t iov_part(const iovec *iov, size_t count, size_t skip, size_t len, iovec *out)
{
	size_t n = 0;
	iov_walk(iov, count, skip, len, [&](char *p, size_t, size_t bytes) { out[n++] = {p, bytes}; });
	return n;
}

void iov_gather(const iovec *iov, size_t count, size_t skip, void *dst, size_t len)
{
	iov_walk(iov, count, skip, len,
		 [&](char *p, size_t pos, size_t n) { pgas_copy_out(static_cast<char *>(dst) + pos, p, n); });
}

void iov_scatter(const iovec *iov, size_t count, size_t skip, const void *src, size_t len)
{
	iov_walk(iov, count, skip, len,
		 [&](char *p, size_t pos, size_t n) { pgas_copy_in(p, static_cast<const char *>(src) + pos, n); });
}

void iov_load(const iovec *iov, size_t count, void *dst, size_t len)
{
	iov_walk(iov, count, 0, len,
		 [&](char *p, size_t pos, size_t n) { pgas_copy_in(static_cast<char *>(dst) + pos, p, n); });
}

void iov_store(const iovec *iov, size_t count, const void *src, size_t len)
{
	iov_walk(iov, count, 0, len,
		 [&](char *p, size_t pos, size_t n) { pgas_copy_out(p, static_cast<const char *>(src) + pos, n); });
}

} // namespace pgas
