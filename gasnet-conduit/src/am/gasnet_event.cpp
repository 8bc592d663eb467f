// SPDX-License-Identifier: BSD-3-Clause
//
// Waiting for events that are not complete: transfers of gasnet_far.cpp, and operations of other rooms, for which every
// wait also polls messages.
#include "rma/gasnet_rma.hpp"

namespace gasnet {
namespace {

void check_handle(gasnet_handle_t handle, const char *call)
{
	if (handle == GEX_EVENT_NO_OP || handle->magic != kEvent)
		fail("%s: a handle that no call returned", call);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

extern "C" void gasneti_sync_far_handle(gasnet_handle_t handle, const char *call) noexcept
{
	check_handle(handle, call);
	if (is_transfer(handle))
		return far_finish(call);
	gasnet_AMPoll();
	pgas_backoff wait{};
	while (!handle->finish(handle, call))
		gasneti_wait_turn(&wait);
}

extern "C" int gasneti_try_far_handle(gasnet_handle_t handle, const char *call) noexcept
{
	check_handle(handle, call);
	return handle->finish(handle, call) ? GASNET_OK : GASNET_ERR_NOT_READY;
}

extern "C" void gasneti_sync_some_handles(gasnet_handle_t *handles, size_t count, const char *call) noexcept
{
	pgas_backoff wait{};
	while (gasneti_try_handles(handles, count, 1, call) != GASNET_OK)
		gasneti_wait_turn(&wait);
}
