// SPDX-License-Identifier: BSD-3-Clause
//
// What is counted, and when: from joining the job to leaving it; and the functions that tools/ requires of this tool.
#include "race.hpp"
#include "tool_report.hpp"
#include "tool_trace.hpp"

#include <unistd.h>

#include <algorithm>

namespace pgas_tools {

const char kSubject[] = "SHMEM";

namespace {

void note_heap()
{
	size_t high, total;
	shmem_impl_tool_heap(&high, &total);
	pgas_store_relaxed(&g.mine->head.heap_high, uint64_t{high});
	pgas_store_relaxed(&g.mine->head.heap_total, uint64_t{total});
}

} // namespace

bool user_asks()
{
	return shmem_impl_tool_asked() != 0;
}

std::string name_of_word(uint64_t place)
{
	const race::place_name name = race::name_place(place);
	return name.declared.empty() ? name.object : name.object + " (" + name.declared + ")";
}

const void *address_of_word(uint64_t place)
{
	return shmem_impl_tool_address(place);
}

// --- a call ----------------------------------------------------------------------------------------------------------

watch::watch(call id, family f, size_t bytes, int pe, shmem_ctx_t ctx, const signal_fact &signal)
	: bytes_(bytes), ctx_(ctx), signal_(signal), pe_(pe), row_(static_cast<uint32_t>(f)), family_(f), id_(id)
{
	enter();
}

watch::watch(call id, family f, shmem_team_t team, size_t part, size_t parts)
	: bytes_(part * parts), row_(row_of(f, 0)), family_(f), id_(id)
{
	if (!g.counting)
		return;
	const auto which = kFamilies[static_cast<uint32_t>(f)].algorithms;
	if (which != kOneAlgorithm)
		row_ = row_of(f, static_cast<uint32_t>(shmem_impl_tool_algorithm(which, team, part)) % kAlgorithms);
	enter(team);
}

void watch::enter(shmem_team_t team)
{
	if (!g.counting)
		return;
	start_ = now_ns();
	head &h = g.mine->head;
	pgas_store_relaxed(&h.in_pe, pe_);
	pgas_store_relaxed(&h.in_bytes, bytes_);
	pgas_store_relaxed(&h.in_since_ns, start_);
	if (g.wish.hang_after) {
		pgas_store_relaxed(&t_inside, 1u);
		pgas_store_relaxed(&h.in_place, signal_.addr ? shmem_impl_tool_offset(signal_.addr) + 1 : 0);
		pgas_store_relaxed(&h.in_value, signal_.value);
		pgas_store_relaxed(&h.in_how, static_cast<uint32_t>(signal_.how));
		pgas_store_relaxed(&h.in_size, signal_.size);
		pgas_store_relaxed(&h.in_team, reinterpret_cast<uint64_t>(team));
		pgas_store_relaxed(&h.in_team_pes,
				   team == SHMEM_TEAM_INVALID ? 0 : static_cast<uint32_t>(members(team)));
	}
	pgas_store_relaxed(&h.in_call, static_cast<uint32_t>(id_) + 1);
}

watch::~watch()
{
	if (!start_ || !g.mine)
		return;
	const uint64_t ns = now_ns() - start_;
	pgas_store_relaxed(&g.mine->head.in_call, 0u);
	if (g.wish.hang_after)
		pgas_store_relaxed(&t_inside, 0u);
	count_call(row_, bytes_, ns, kFamilies[static_cast<uint32_t>(family_)].is_waiting);
	if (family_ == family::memory)
		note_heap(); // now, because a job may end early
	const int pe = world_pe(ctx_, pe_);
	if (pe >= 0 && pe < g.n_pes)
		count_message(pe, bytes_);
	const bool is_signal = signal_.addr && signal_.how != static_cast<int>(kForLock);
	if (g.events)
		trace_put({start_, ns, bytes_, is_signal ? shmem_impl_tool_offset(signal_.addr) + 1 : 0, signal_.value,
			   pe, static_cast<uint16_t>(id_), 0, static_cast<uint8_t>(is_signal ? signal_.how : 0)});
}

void note_lock(const long *lock, bool is_held)
{
	if (!g.mine || !g.wish.hang_after)
		return;
	const uint64_t place = shmem_impl_tool_offset(lock) + 1, wanted = is_held ? 0 : place;
	for (uint64_t &entry : g.mine->head.held)
		if (pgas_load_relaxed(&entry) == wanted) {
			pgas_store_relaxed(&entry, is_held ? place : 0);
			return;
		}
}

int world_pe(shmem_ctx_t ctx, int pe)
{
	shmem_team_t team = SHMEM_TEAM_WORLD;
	if (pe == kNoPe || ctx == SHMEM_CTX_DEFAULT)
		return pe;
	if (pshmem_ctx_get_team(ctx, &team) != 0)
		return kNoPe;
	return team == SHMEM_TEAM_WORLD ? pe : pshmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

size_t members(shmem_team_t team)
{
	return static_cast<size_t>(std::max(pshmem_team_n_pes(team), 0));
}

shmem_team_t set_team(int start, int log_stride, int size)
{
	return start == 0 && size == g.n_pes && (log_stride == 0 || size == 1) ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID;
}

void set_counting(bool enabled)
{
	g.counting = enabled && g.mine;
}

namespace {

const char *algorithm_of_row(uint32_t r, const family_facts &f)
{
	if (!f.is_collective)
		return "";
	if (f.algorithms == kOneAlgorithm)
		return "direct";
	return shmem_impl_tool_algorithm_name(f.algorithms, static_cast<int>((r - kFirstCollective) % kAlgorithms));
}

} // namespace

// --- functions that tools/ requires ----------------------------------------------------------------------------------

row_facts facts_of(uint32_t r)
{
	const family f = family_of_row(r);
	if (f >= family::count)
		return {"", "", false, false};
	const family_facts &facts = kFamilies[static_cast<uint32_t>(f)];
	return {facts.text, algorithm_of_row(r, facts), facts.is_waiting, f == family::memory};
}

pe_place where_is(int pe)
{
	shmem_impl_tool_pe where;
	shmem_impl_tool_where(pe, &where);
	return {where.with_tool != 0, where.host, where.name};
}

void read_room(int pe, size_t offset, void *dst, size_t bytes)
{
	pshmem_getmem(dst, reinterpret_cast<const char *>(g.mine) + offset, bytes, pe);
}

figures *mapped_room(int pe)
{
	return static_cast<figures *>(pshmem_ptr(g.mine, pe));
}

void set_word(uint64_t *mine, uint64_t value, int pe)
{
	pshmem_uint64_atomic_set(mine, value, pe);
}

void await_word(const uint64_t *mine, uint64_t least)
{
	pshmem_uint64_wait_until(const_cast<uint64_t *>(mine), SHMEM_CMP_GE, least);
}

void settle_words()
{
	pshmem_quiet();
}

bool signal_fits(uint64_t word, int cmp, uint64_t wanted)
{
	const auto a = static_cast<int64_t>(word), b = static_cast<int64_t>(wanted);
	switch (cmp) {
	case SHMEM_CMP_EQ:
		return a == b;
	case SHMEM_CMP_NE:
		return a != b;
	case SHMEM_CMP_GT:
		return a > b;
	case SHMEM_CMP_GE:
		return a >= b;
	case SHMEM_CMP_LT:
		return a < b;
	default:
		return a <= b;
	}
}

bool signal_adds(int how)
{
	return how == SHMEM_SIGNAL_ADD;
}

void also_ending()
{
	race::ending();
}

const char *team_text(uint64_t team)
{
	const auto handle = reinterpret_cast<shmem_team_t>(team);
	if (handle == SHMEM_TEAM_WORLD)
		return "SHMEM_TEAM_WORLD ";
	return handle == SHMEM_TEAM_SHARED ? "SHMEM_TEAM_SHARED " : "";
}

void stop_job(int status)
{
	pshmem_global_exit(status);
	_exit(status); // pshmem_global_exit does not return
}

// --- the job ---------------------------------------------------------------------------------------------------------

namespace {

void joined()
{
	g.my_pe = pshmem_my_pe();
	g.n_pes = pshmem_n_pes();
	struct shmem_impl_tool_wish wish;
	shmem_impl_tool_wish(&wish);
	g.wish = {wish.stats, wish.trace, wish.hang_after, wish.check, wish.events};
	if (!note_places()) { // a few bytes per PE; but the others rely on this one
		fprintf(stderr, "PE %d: statistics: out of memory\n", g.my_pe);
		pshmem_global_exit(1);
	}
	int level = SHMEM_THREAD_SINGLE;
	pshmem_query_thread(&level);
	g.threads = level == SHMEM_THREAD_MULTIPLE;
	size_t bytes;
	auto *room = static_cast<char *>(shmem_impl_tool_room(&bytes));
	g.mine = reinterpret_cast<figures *>(room);
	head &h = g.mine->head;
	h.pe = static_cast<uint32_t>(g.my_pe);
	h.host = g.my_host;
	h.inlined = program_has_inlined_calls();
	if (g.wish.trace) {
		g.events = reinterpret_cast<event *>(room + kEventsAt);
		const size_t end = g.wish.check ? kRaceAt : bytes;
		g.room_for_events = std::min<uint64_t>(g.wish.events, (end - kEventsAt) / sizeof(event));
	}
	publish_names();
	note_heap();
	h.begin_ns = now_ns();
	pgas_store_release(&h.magic, kMagic); // pairs with load_acquire in read_near()
	ending_prepare(true);
	if (g.wish.hang_after)
		hang_prepare();
	if (g.wish.trace)
		clock_compare(0);
	if (g.wish.check)
		race::joined();
	g.counting = true;
}

void leaving()
{
	if (!g.mine)
		return;
	g.counting = false;
	head &h = g.mine->head;
	h.end_ns = now_ns();
	note_heap();
	pgas_store_relaxed(&h.left, 1u);
}

void all_left()
{
	if (!g.mine)
		return;
	if (g.wish.trace)
		clock_compare(1);
	if (g.my_pe == g.collector && g.wish.stats)
		report_all();
	if (g.my_pe == g.collector && g.wish.trace)
		trace_all();
	race::all_left();
	hang_close();
	ending_close();
	g.mine = nullptr;
	g.events = nullptr;
	forget_places();
}

constexpr shmem_impl_tool kTool = {SHMEM_TOOL_VERSION, joined, leaving, all_left, ending};

__attribute__((constructor)) void enter_library()
{
	if (shmem_impl_tool_enter(&kTool) != 0)
		fputs("libsma-tools.so: libsma.so is of another version; nothing is counted\n", stderr);
}

} // namespace
} // namespace pgas_tools

// Tells libsma that the loader has accepted this library.
extern "C" __attribute__((visibility("default"))) const int shmem_impl_tool_is_here = 1;
