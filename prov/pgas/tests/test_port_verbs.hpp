// SPDX-License-Identifier: BSD-3-Clause
//
// The parts of test_port_verbs. Each returns the number of failed tests.
#pragma once

int run_call_tests(); // test_port_verbs_call.cpp: calls, rights and outages
int run_end_tests();  // test_port_verbs_end.cpp: deaths and ends
int run_link_tests(); // test_port_verbs_link.cpp: the link on this port
