// SPDX-License-Identifier: BSD-3-Clause
//
// What the inline transfers of gasnet_pgas_rma.h do not handle: values of odd sizes. Nodes without a window are in
// gasnet_far.cpp.
#include "core/gasnet_core.hpp"

#include <cstring>

using namespace gasnet;

extern "C" void gasneti_copy_out_small(void *shared, const void *src, size_t nbytes) noexcept
{
	if (gasneti_put_word(shared, src, nbytes))
		return;
	pgas_fence_stores();
	memcpy(shared, src, nbytes);
}

extern "C" void gasneti_copy_in_small(void *dst, const void *shared, size_t nbytes) noexcept
{
	memcpy(dst, shared, nbytes); // whole words: libc moves 1, 2, 4 and 8 bytes at once
	pgas_fence_acquire();
}

// The low bytes count, on machines of either byte order.
extern "C" gasnet_handle_t gasneti_put_odd(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes,
					   enum gasneti_until until, int implicit) noexcept
{
	if (nbytes > sizeof value)
		fail("put of a value: %zu bytes, at most %zu", nbytes, sizeof value);
	unsigned char bytes[sizeof value];
	memcpy(bytes, &value, sizeof value);
	const size_t skip = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof value - nbytes : 0;
	return gasneti_put_some(node, dest, bytes + skip, nbytes, until, implicit);
}

extern "C" gasnet_register_value_t gasneti_get_odd(gasnet_node_t node, const void *src, size_t nbytes) noexcept
{
	gasnet_register_value_t value = 0;
	if (nbytes > sizeof value)
		fail("get of a value: %zu bytes, at most %zu", nbytes, sizeof value);
	const size_t skip = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof value - nbytes : 0;
	gasneti_get_some(reinterpret_cast<char *>(&value) + skip, node, src, nbytes, GASNETI_DONE, 0);
	return value;
}
