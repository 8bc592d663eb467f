// SPDX-License-Identifier: BSD-3-Clause
// top_memory.cpp: see top_memory.hpp.
#include "top_memory.hpp"

#include <pgas/pgas_segment.hpp>
#include <teams/teams_team.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace oshtop {
namespace {

using pgas::library_memory;
using pgas::teams::block_head;
using pgas::teams::kLine;
using pgas::teams::line;

constexpr int kExtentsMost = 4096;
constexpr uint64_t kBlock = 512; // unit of st_blocks
constexpr const library_memory *kKinds[] = {&pgas::kShmemMemory, &pgas::kGasnetMemory};
constexpr const char *kEndpoint = "pgas-endpoint"; // shm_segment.cpp

bool has_huge_pages(int fd)
{
	struct statfs info;
	return fstatfs(fd, &info) == 0 && static_cast<unsigned long>(info.f_type) == HUGETLBFS_MAGIC;
}

// Bytes of [0, end) that take memory.
uint64_t data_bytes(int fd, uint64_t end)
{
	uint64_t sum = 0;
	off_t pos = 0;
	for (int i = 0; i < kExtentsMost; i++) {
		const off_t begin = lseek(fd, pos, SEEK_DATA);
		if (begin < 0 || static_cast<uint64_t>(begin) >= end)
			break;
		pos = lseek(fd, begin, SEEK_HOLE);
		if (pos <= begin)
			break;
		sum += std::min(static_cast<uint64_t>(pos), end) - static_cast<uint64_t>(begin);
	}
	return sum;
}

uint64_t size_of(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 && info.st_size > 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

uint64_t allocated_bytes(int fd)
{
	struct stat info;
	return fstat(fd, &info) == 0 ? static_cast<uint64_t>(info.st_blocks) * kBlock : 0;
}

// With reserved huge pages the program's part is a file of its own, of the same name.
void add_heap(int fd, uint64_t huge_bytes, const library_memory &kind, memory_facts &facts)
{
	const uint64_t all = allocated_bytes(fd) + huge_bytes, own = data_bytes(fd, kind.internal_bytes);
	const uint64_t size = size_of(fd);
	if (size <= kind.internal_bytes)
		return; // it was cut since
	facts.kind = &kind;
	facts.heap_bytes = size - kind.internal_bytes;
	facts.touched_bytes = std::min(all > own ? all - own : 0, facts.heap_bytes);
}

// Positions of a ring begin at the number of its slots, and only grow.
void add_arrivals(int fd, memory_facts &facts)
{
	const auto s = read_value<pgas::ep_shared>(fd, 0);
	if (s.h.magic != pgas::kSegmentMagic || s.h.version != pgas::kSegmentVersion ||
	    s.h.kind != static_cast<uint32_t>(pgas::segment_kind::endpoint))
		return;
	const pgas::ep_layout layout = pgas::ep_layout::of(s.slots, s.eager_count, s.eager_bytes);
	if (layout.bytes != size_of(fd))
		return;
	const auto head = read_value<uint64_t>(fd, layout.ring_off + offsetof(pgas_ring, head));
	facts.arrivals = facts.arrivals.value_or(0) + (head > s.slots ? head - s.slots : 0);
}

uint64_t number_at(int fd, uint64_t block, size_t offset)
{
	return read_value<uint64_t>(fd, block + offset);
}

void add_team(int fd, const library_memory &kind, uint32_t pes, uint32_t rank, bool is_first, team_numbers &team)
{
	const uint64_t block = kind.teams_off + static_cast<uint64_t>(kind.client_lines) * kLine;
	const auto h = std::make_unique<block_head>();
	read_at(fd, block, h.get(), sizeof *h);
	team.from_previous = h->hop[0].number;
	for (size_t i = 0; i < std::size(team.from_children); i++)
		team.from_children[i] = h->up[i].number;
	team.from_parent = h->down.number;
	team.arrived = h->arrived.number;
	team.released = h->released.number;
	team.host_released = h->host_down.number;
	team.progress = h->progress.number;
	const auto line_off = [&](uint64_t row, uint64_t member) {
		return sizeof *h + (row * pes + member) * kLine + offsetof(line, number);
	};
	for (unsigned r = 0; r < pgas::teams::kRing; r++)
		team.exchange = std::max(team.exchange, number_at(fd, block, line_off(r, rank)));
	if (!is_first)
		return;
	std::vector<line> lines(pes);
	read_at(fd, block + line_off(pgas::teams::kRing, 0), lines.data(), lines.size() * sizeof lines[0]);
	for (const line &one : lines)
		team.from_host.push_back(one.number);
}

// The words of gasnet_barrier.cpp, at the start of a node's memory: the barrier's number is in the upper bits.
uint64_t count_gasnet_barriers(int fd)
{
	constexpr int number_shift = 34;
	return std::max(read_value<uint64_t>(fd, 0), read_value<uint64_t>(fd, sizeof(uint64_t))) >> number_shift;
}

} // namespace

void call_names::read(int fd, uint64_t room_off, uint32_t bytes)
{
	names_.clear();
	std::string text(std::min<size_t>(bytes, pgas_tools::kEventsAt - pgas_tools::kNamesAt), '\0');
	read_at(fd, room_off + pgas_tools::kNamesAt, text.data(), text.size());
	for (size_t begin = 0; begin < text.size();) {
		const size_t end = std::min(text.find('\0', begin), text.size());
		names_.push_back(escape_text(text.substr(begin, end - begin), 64));
		begin = end + 1;
	}
}

std::string call_names::text(uint32_t id) const
{
	return id < names_.size() ? names_[id] : "call " + std::to_string(id);
}

void pe_memory::add_tool(int fd, const library_memory &kind, memory_facts &facts)
{
	using pgas_tools::figures;
	auto tool = std::make_unique<tool_figures>();
	tool->head = read_value<pgas_tools::head>(fd, kind.tool_off);
	if (tool->head.magic != pgas_tools::kMagic)
		return;
	std::vector<pgas_tools::row> rows(pgas_tools::kRows);
	read_at(fd, kind.tool_off + offsetof(figures, rows), rows.data(), rows.size() * sizeof rows[0]);
	for (const pgas_tools::row &one : rows)
		tool->calls += one.calls;
	tool->messages = tool->head.near.messages + tool->head.far.messages;
	tool->bytes = tool->head.near.bytes + tool->head.far.bytes;
	if (names_bytes_ != tool->head.names_bytes)
		names_.read(fd, kind.tool_off, names_bytes_ = tool->head.names_bytes);
	facts.tool = std::move(tool);
}

// The process may open and close files at any time: each look finds them anew, and opens each only while it reads it,
// so that memory of a PE that has ended is not held.
memory_facts pe_memory::look(pid_t pid, uint32_t rank, uint32_t pes, bool is_first)
{
	memory_facts facts;
	std::vector<memfd> files;
	unique_fd heap;
	const library_memory *kind = nullptr;
	uint64_t huge_bytes = 0;
	list_memfds(pid, files);
	for (const memfd &one : files)
		for (const library_memory *known : kKinds) {
			unique_fd file = one.name == known->file ? open_memfd(pid, one.fd) : unique_fd();
			if (file && has_huge_pages(file.get()))
				huge_bytes += allocated_bytes(file.get());
			else if (file && !heap && size_of(file.get()) > known->internal_bytes) {
				heap = std::move(file);
				kind = known;
			}
		}
	if (!heap)
		return facts;
	add_heap(heap.get(), huge_bytes, *kind, facts);
	if (!facts.kind)
		return facts;
	if (kind == &pgas::kShmemMemory)
		add_team(heap.get(), *kind, pes, rank, is_first, facts.team);
	else
		facts.gasnet_barriers = count_gasnet_barriers(heap.get());
	add_tool(heap.get(), *kind, facts);
	for (const memfd &one : files)
		if (const unique_fd file = one.name == kEndpoint ? open_memfd(pid, one.fd) : unique_fd())
			add_arrivals(file.get(), facts);
	return facts;
}

} // namespace oshtop
