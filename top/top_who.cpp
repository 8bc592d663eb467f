// SPDX-License-Identifier: BSD-3-Clause
// top_who.cpp: see top_who.hpp. It gives profile/tool_conclusion.cpp, which belongs to the tools in the PEs, what it
// asks of a tool.
#include "top_who.hpp"

#include <cinttypes>
#include <memory>

namespace oshtop {
namespace {

constexpr size_t kConcludeMost = 512; // the conclusions compare all with all

const call_names *g_names = nullptr; // while conclusions are drawn

bool contains(const std::string &text, const char *part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

// As in tool_families.def and gasnet_look_names.def: waits, barriers, syncs, quiet, fence, locks.
bool is_waiting_call(const std::string &name)
{
	for (const char *part : {"wait", "Wait", "BLOCK", "barrier", "Barrier", "sync", "quiet", "fence", "set_lock"})
		if (contains(name, part))
			return true;
	return false;
}

std::string place_of(const pgas_tools::head &h, const call_names &names)
{
	char part[96];
	std::string text = names.text(h.in_call - 1);
	if (h.in_place && h.in_pe == pgas_tools::kNoPe) {
		snprintf(part, sizeof part, " of symmetric 0x%" PRIx64, h.in_place - 1);
		text += part;
	}
	if (h.in_pe != pgas_tools::kNoPe)
		text += " to PE " + std::to_string(h.in_pe);
	if (h.in_bytes)
		text += ", " + std::to_string(h.in_bytes) + " bytes";
	return text;
}

std::vector<std::string> conclusions_of(const sampler &source, const sample &now)
{
	using pgas_tools::figures;
	if (now.pes.size() > kConcludeMost)
		return {};
	std::vector<std::unique_ptr<figures>> kept;
	std::vector<figures *> all;
	const pe_sample *first = nullptr;
	for (const pe_sample &pe : now.pes) {
		all.push_back(nullptr);
		if (!pe.memory.tool)
			continue;
		first = first ? first : &pe;
		kept.push_back(std::make_unique_for_overwrite<figures>());
		kept.back()->head = pe.memory.tool->head;
		all.back() = kept.back().get();
	}
	if (!first)
		return {};
	g_names = &source.names_of(first->rank);
	pgas_tools::g.n_pes = static_cast<int>(now.pes.size());
	pgas_tools::g.threads = true; // another thread of a PE may go on: nothing here tells
	return pgas_tools::conclusions(all);
}

} // namespace oshtop

namespace pgas_tools {

process g;

// The text lives until the next call.
const char *call_text(uint32_t id)
{
	static std::string text;
	text = oshtop::g_names->text(id);
	return text.c_str();
}

std::string name_of_word(uint64_t place)
{
	char text[64];
	snprintf(text, sizeof text, "symmetric 0x%" PRIx64, place);
	return text;
}

} // namespace pgas_tools
