// SPDX-License-Identifier: BSD-3-Clause
//
// Sharing a core with a process that computes. For our own libraries, not installed.
#pragma once

namespace pgas {

// Asks the kernel for short slices for the calling thread. Its share of a core stays the same, but when it wakes it may
// end the slice of a process that computes, instead of waiting for a tick (1 to 10 ms). Linux does so from 6.12 on; if
// the kernel is older or refuses, nothing changes.
void ask_for_short_slices();

} // namespace pgas
