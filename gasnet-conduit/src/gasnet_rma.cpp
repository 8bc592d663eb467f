// SPDX-License-Identifier: BSD-3-Clause
//
// Transfers where the inline path ends: nodes without a window here, whose bytes go through the provider's general path.
// These wait until the operation is complete.
#include "gasnet_state.hpp"

#include <cstring>

namespace gasnet {
namespace {

void check(const char *what, gasnet_node_t node)
{
	check_attached(what);
	if (node >= gasneti_front.nodes)
		fail("%s: node %u of %u", what, node, gasneti_front.nodes);
}

template <class Submit>
void whole(const char *what, gasnet_node_t node, Submit &&submit)
{
	check(what, node);
	pgas_backoff wait{};
	for (;;) {
		const ssize_t rc = submit();
		if (rc == 0)
			break;
		if (rc != -FI_EAGAIN)
			fail("%s, node %u: %s", what, node, fi_strerror(static_cast<int>(-rc)));
		gasneti_wait_turn(&wait);
	}
	if (const int rc = g.ops->drain(g.rma))
		fail("%s, node %u: %s", what, node, fi_strerror(-rc));
	if (fi_cntr_readerr(g.cntr))
		fail("%s, node %u: the transfer failed", what, node);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" void gasneti_put_other(gasnet_node_t node, void *dest, const void *src, size_t nbytes) noexcept
{
	whole("put", node,
	      [&] { return fi_write(g.rma, src, nbytes, nullptr, node, reinterpret_cast<uint64_t>(dest), 0, nullptr); });
}

extern "C" void gasneti_get_other(void *dest, gasnet_node_t node, const void *src, size_t nbytes) noexcept
{
	whole("get", node,
	      [&] { return fi_read(g.rma, dest, nbytes, nullptr, node, reinterpret_cast<uint64_t>(src), 0, nullptr); });
}

// Values have 1 to 8 bytes; odd lengths come here too. The low bytes count, whatever the machine's order.
extern "C" void gasneti_put_value_other(gasnet_node_t node, void *dest, gasnet_register_value_t value, size_t nbytes) noexcept
{
	if (nbytes > sizeof value)
		fail("put of a value: %zu bytes, at most %zu", nbytes, sizeof value);
	unsigned char bytes[sizeof value];
	memcpy(bytes, &value, sizeof value);
	const size_t skip = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof value - nbytes : 0;
	gasneti_put(node, dest, bytes + skip, nbytes);
}

extern "C" gasnet_register_value_t gasneti_get_value_other(gasnet_node_t node, const void *src, size_t nbytes) noexcept
{
	gasnet_register_value_t value = 0;
	if (nbytes > sizeof value)
		fail("get of a value: %zu bytes, at most %zu", nbytes, sizeof value);
	const size_t skip = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof value - nbytes : 0;
	gasneti_get(reinterpret_cast<char *>(&value) + skip, node, src, nbytes);
	return value;
}

extern "C" void gasneti_memset_other(gasnet_node_t node, void *dest, int val, size_t nbytes) noexcept
{
	char bytes[4096];
	memset(bytes, val, sizeof bytes);
	for (size_t at = 0; at < nbytes; at += sizeof bytes)
		gasneti_put_other(node, static_cast<char *>(dest) + at, bytes, nbytes - at < sizeof bytes ? nbytes - at : sizeof bytes);
}

extern "C" void gasneti_sync_other(void) noexcept
{
	if (const int rc = g.ops->drain(g.rma))
		fail("waiting for transfers: %s", fi_strerror(-rc));
	gasneti_front.pending_puts = gasneti_front.pending_gets = 0;
}

extern "C" void gasneti_bad_handle(const char *call) noexcept
{
	fail("%s: a handle that no call answered", call);
}
