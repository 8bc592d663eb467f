// SPDX-License-Identifier: BSD-3-Clause
// The same as C++.
#include "test_check.c"
