// SPDX-License-Identifier: BSD-3-Clause
//
// The fabric and its event queues.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "pgas_wait.hpp"

namespace pgas {

struct fabric {
	fid_fabric fid{};
	std::atomic<int> users{0};
};
int fabric_open(fi_fabric_attr *attr, fid_fabric **out, void *context) noexcept;
int fabric_trywait(fid_fabric *fab, fid **fids, int count) noexcept; // pgas_poll.cpp
int domain_open(fid_fabric *fab, fi_info *info, fid_domain **out, void *context) noexcept;

struct eq_event {
	uint32_t event;
	std::vector<char> data;
	bool is_error;
	fi_eq_err_entry error;
};

struct eq {
	fid_eq fid{};
	fabric *fab;
	uint64_t flags;
	size_t room;
	wait_object waiters{CLOCK_MONOTONIC}; // its mutex guards the events
	std::deque<eq_event> events;
	std::atomic<int> users{0};
};
int eq_open(fid_fabric *fab, fi_eq_attr *attr, fid_eq **out, void *context) noexcept;
int eq_report(eq *q, uint32_t event, fid_t fid, void *context, uint64_t data);
int eq_report_error(eq *q, fid_t fid, void *context, uint64_t data, int err); // err: positive FI_E*

} // namespace pgas
