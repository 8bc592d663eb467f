// SPDX-License-Identifier: BSD-3-Clause
// The same by C++ overloads.
#define TEST_GENERIC 1
#include "coll_types.c"
