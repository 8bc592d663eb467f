// SPDX-License-Identifier: BSD-3-Clause
//
// libibverbs and librdmacm, loaded when a port over them is opened: machines without rdma-core load this library, too,
// and tests put functions of their own here. The inline functions of verbs.h (post, poll) use the device's own table
// and need no entry.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <string>

namespace pgas {

#define PGAS_VERBS_FUNCTIONS(X)                                                                                        \
	X(ibv_get_device_list)                                                                                         \
	X(ibv_free_device_list)                                                                                        \
	X(ibv_open_device)                                                                                             \
	X(ibv_close_device)                                                                                            \
	X(ibv_query_device)                                                                                            \
	X(ibv_get_device_name)                                                                                         \
	X(ibv_alloc_pd)                                                                                                \
	X(ibv_dealloc_pd)                                                                                              \
	X(ibv_reg_mr)                                                                                                  \
	X(ibv_dereg_mr)                                                                                                \
	X(ibv_create_comp_channel)                                                                                     \
	X(ibv_destroy_comp_channel)                                                                                    \
	X(ibv_create_cq)                                                                                               \
	X(ibv_destroy_cq)                                                                                              \
	X(ibv_get_cq_event)                                                                                            \
	X(ibv_ack_cq_events)                                                                                           \
	X(ibv_create_srq)                                                                                              \
	X(ibv_destroy_srq)                                                                                             \
	X(ibv_create_qp)                                                                                               \
	X(ibv_destroy_qp)                                                                                              \
	X(ibv_modify_qp)                                                                                               \
	X(ibv_get_async_event)                                                                                         \
	X(ibv_ack_async_event)                                                                                         \
	X(ibv_event_type_str)                                                                                          \
	X(ibv_wc_status_str)                                                                                           \
	X(ibv_fork_init)                                                                                               \
	X(rdma_create_event_channel)                                                                                   \
	X(rdma_destroy_event_channel)                                                                                  \
	X(rdma_create_id)                                                                                              \
	X(rdma_destroy_id)                                                                                             \
	X(rdma_bind_addr)                                                                                              \
	X(rdma_listen)                                                                                                 \
	X(rdma_get_src_port)                                                                                           \
	X(rdma_resolve_addr)                                                                                           \
	X(rdma_resolve_route)                                                                                          \
	X(rdma_init_qp_attr)                                                                                           \
	X(rdma_establish)                                                                                              \
	X(rdma_connect)                                                                                                \
	X(rdma_accept)                                                                                                 \
	X(rdma_reject)                                                                                                 \
	X(rdma_disconnect)                                                                                             \
	X(rdma_get_cm_event)                                                                                           \
	X(rdma_ack_cm_event)

struct verbs_api {
#define PGAS_VERBS_FUNCTION(name) decltype(&::name) name = nullptr;
	PGAS_VERBS_FUNCTIONS(PGAS_VERBS_FUNCTION)
#undef PGAS_VERBS_FUNCTION
};

// Returns null, with the reason in `why`, if rdma-core is not installed. The libraries stay loaded.
const verbs_api *verbs_load(std::string &why);

} // namespace pgas
