// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of test_port_verbs. Each gives the number of tests that failed.
#pragma once

int run_call_tests(); // test_port_verbs_call.cpp: who may call, and outages
int run_end_tests();  // test_port_verbs_end.cpp: who goes, and when
int run_link_tests(); // test_port_verbs_link.cpp: the link on this port
