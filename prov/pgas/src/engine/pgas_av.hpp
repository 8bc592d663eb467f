// SPDX-License-Identifier: BSD-3-Clause
//
// Address vectors.
#pragma once

#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

#include <rdma/fi_domain.h>

#include "support/pgas_addr.hpp"

namespace pgas {

struct domain;
struct ep_core;
struct eq;

struct av_entry {
	bool used = false;
	ep_name name;
	fi_addr_t user_id = FI_ADDR_NOTAVAIL; // as completions report it
};

struct av {
	fid_av fid{};
	domain *dom;
	fi_av_type type;
	eq *bound_eq = nullptr;
	uint64_t flags = 0;
	std::vector<av_entry> entries;
	std::vector<uint32_t> holes;
	std::unordered_multimap<std::string, uint32_t> by_name; // canonical name -> index
	uint64_t changes = 0;
	std::vector<ep_core *> eps;
	std::atomic<int> users{0};
};
int av_open(fid_domain *dom, fi_av_attr *attr, fid_av **out, void *context) noexcept;

} // namespace pgas
