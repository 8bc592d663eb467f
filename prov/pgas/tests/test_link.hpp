// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the files of prov/pgas/tests/test_link.
#pragma once

int run_safety_tests(); // test_link_safety.cpp
int run_shape_tests();  // test_link_shapes.cpp
