// SPDX-License-Identifier: BSD-3-Clause
// oshrun_share.cpp: see oshrun_share.hpp.
//
// agent --machine: kernel, CPUs--> head --share: CPUs to leave out, PEs in all--> agent, before it starts its PEs
//
// Two hosts are one machine if they report the same kernel and have a CPU in common. Machines that were restored from
// one snapshot look like that, too: their PEs are bound as if they were one, which costs cores, but nothing else.
#include "oshrun_share.hpp"

#include <pgas/pgas_machine.hpp>

#include <algorithm>

namespace oshrun {
namespace {

constexpr int kPesMost = 1 << 20;

bool overlap(const cpu_set_t &a, const cpu_set_t &b)
{
	cpu_set_t common;
	CPU_AND(&common, &a, &b);
	return CPU_COUNT(&common) > 0;
}

message pack_share(int host, const cpu_share &share)
{
	packer body;
	body.u32(static_cast<uint32_t>(share.first));
	body.u32(static_cast<uint32_t>(share.total));
	body.u32(share.even);
	return {kind::share, host, 0, body.text};
}

} // namespace

message describe_machine(int host)
{
	const uint64_t kernel = pgas::kernel_number();
	const cpu_set_t cpus = pgas::usable_cores();
	packer body;
	body.u32(static_cast<uint32_t>(kernel));
	body.u32(static_cast<uint32_t>(kernel >> 32));
	body.str(cpu_list(cpus));
	return {kind::machine, host, 0, body.text};
}

bool machine_table::take(const message &msg, int first, int end)
{
	unpacker body(msg.body);
	uint64_t kernel = body.u32();
	kernel |= uint64_t{body.u32()} << 32;
	const std::string list = body.str();
	machine one = {msg.host, {}};
	if (msg.host < first || msg.host >= end || !body.good || !body.at_end() ||
	    (!list.empty() && !parse_cpus(list, one.cpus)))
		return false;
	if (kernel == 0 || list.empty())
		return true; // it does not know
	std::vector<machine> &same = machines_[kernel];
	if (std::any_of(same.begin(), same.end(), [&](const machine &known) { return known.host == one.host; }))
		return false;
	same.push_back(one);
	return true;
}

// Hosts that have the same CPUs take their cores in the order of the hosts. If their sets differ and overlap, nobody
// can say which cores a host's PEs would get.
std::vector<message> machine_table::divide(const std::vector<int> &pes) const
{
	std::vector<message> news;
	for (const auto &[kernel, same] : machines_)
		for (const machine &one : same) {
			cpu_share share = {0, pes[static_cast<size_t>(one.host)], true};
			bool alone = true;
			for (const machine &other : same) {
				if (other.host == one.host || !overlap(one.cpus, other.cpus))
					continue;
				const int count = pes[static_cast<size_t>(other.host)];
				alone = false;
				share.even = share.even && CPU_EQUAL(&one.cpus, &other.cpus);
				share.total += count;
				share.first += other.host < one.host ? count : 0;
			}
			if (!alone)
				news.push_back(pack_share(one.host, share));
		}
	return news;
}

bool read_share(const message &msg, cpu_share &share)
{
	unpacker body(msg.body);
	const uint32_t first = body.u32(), total = body.u32(), even = body.u32();
	if (!body.good || !body.at_end() || total > kPesMost || first > total || even > 1)
		return false;
	share = {static_cast<int>(first), static_cast<int>(total), even == 1};
	return true;
}

} // namespace oshrun
