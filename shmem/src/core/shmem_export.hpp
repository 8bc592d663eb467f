// SPDX-License-Identifier: BSD-3-Clause
//
// How the library defines the C names that it exports.
#pragma once

// One line per C name: pshmem_ is the function, shmem_ its weak alias, so that profiling tools can take over the name.
#define SHMEM_EXPORT __attribute__((visibility("default")))
#define SHMEM_NAME(ret_arg, name_arg, params_arg)                                                                      \
	extern "C" SHMEM_EXPORT ret_arg p##name_arg params_arg noexcept;                                               \
	extern "C" SHMEM_EXPORT ret_arg name_arg params_arg noexcept __attribute__((weak, alias("p" #name_arg)));      \
	extern "C" SHMEM_EXPORT ret_arg p##name_arg params_arg noexcept
