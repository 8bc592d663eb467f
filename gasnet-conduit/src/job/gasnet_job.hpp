// SPDX-License-Identifier: BSD-3-Clause
//
// Starting and ending a job. This room calls all others, and none calls it.
#pragma once

#include "core/gasnet_core.hpp"

namespace gasnet {

// gasnet_start.cpp: if no launcher started us and GASNET_PSHM_NODES asks for nodes, becomes their launcher
void start_nodes();

// gasnet_init.cpp: joins the job, except for messages and the client's segment. Returns GASNET_OK or an error.
int job_start(const char *config);
// gasnet_init.cpp: opens messages; collective
int job_open_messages();
// gasnet_init.cpp: gives every node's segment its size; collective. A wrong size is an error on this node alone.
int job_attach_segment(uintptr_t bytes);

// gasnet_exit.cpp
void exit_setup();

// The statistics tool (gasnet_profile.cpp).
bool tool_here() noexcept; // a tool is loaded
// By node, whether it has a tool, once all have reported it. Then the job begins, and later ends: this node leaves; all
// have left or, without `all`, some did not.
void tool_told(std::vector<uint8_t> with_tool);
void tool_joined() noexcept;
void tool_leaving() noexcept;
void tool_all_left(bool all, int code) noexcept;

} // namespace gasnet
