// SPDX-License-Identifier: BSD-3-Clause
// The same test as C++: the generic names are overloads here.
#include "typed_rma.c"
