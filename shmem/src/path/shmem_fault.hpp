// SPDX-License-Identifier: BSD-3-Clause
//
// The handler of faults: see shmem_fault.cpp.
#pragma once

namespace shmem {

void fault_handler_install();
void fault_handler_remove();

} // namespace shmem
