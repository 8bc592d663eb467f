// SPDX-License-Identifier: BSD-3-Clause
//
// The effect of a compiler's call on variables in partitions. The rules are the runtime's (LLVM 14 to 22):
//
//   begin, in the order of the list   a variable that is not there is created, with a count of 1; one that is there is
//                                     counted, except for members of a structure, which was counted itself. Its data is
//                                     new when it was just created or, for members, when the count is 1. New data is
//                                     transferred (to).
//   end, in the reverse order         counted down in the same way, or to 0 (delete). The call that would remove the
//                                     last count fetches the data (from). Variables with a count of 0 are removed after
//                                     the whole list.
//
// One rule differs: the runtime never counts the first part that a mapper produces. That is right only for the mapper
// of a member; elsewhere it would leave the variable in the partition for ever.
//
// For the runtime our variables have an infinite count, so that none is new and no map is the last: the rows for which
// that matters get the modifier "always".
#include "omp.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace shmem_omp {
namespace {

// On the device, structures begin at a multiple of up to this value, as on the host (the runtime's own limit).
constexpr uintptr_t kMostAligned = 16;

thread_local plan *t_plan;

// Variables that the runtime may be creating just now, because a call maps them and they are not ours. g_mutex; never
// destroyed.
struct foreign {
	const plan *owner;
	int device;
	uintptr_t begin;
	size_t bytes;
};
std::vector<foreign> &g_foreign = *new std::vector<foreign>;

// Passed to a mapper in place of the runtime's handle.
struct collector {
	std::vector<row> *rows;
	int item;
	int64_t parts = 0;
};
thread_local collector *t_collector;

uintptr_t number(const void *ptr)
{
	return reinterpret_cast<uintptr_t>(ptr);
}

bool is_none(const row &r)
{
	return (r.type & (kLiteral | kPrivate)) != 0;
}

// The object that a pointer points to is not a member, whatever the pointer is.
bool is_member(int64_t type)
{
	return parent_of(type) >= 0 && !(type & kPtrAndObj);
}

// The address from which the program maps.
const void *base_of(const row &r)
{
	return r.type & kPtrAndObj ? *static_cast<void **>(r.base) : r.base;
}

size_t bytes_of(const row &r)
{
	return r.size > 0 ? static_cast<size_t>(r.size) : 0;
}

// ";name;file;line;column;;", or empty if the program has no debug information
std::string words_for(const row &r)
{
	std::string text = r.name ? static_cast<const char *>(r.name) : "";
	std::string fields[3];
	size_t pos = 1;
	for (std::string &field : fields) {
		const size_t end = text.find(';', pos);
		if (end == std::string::npos)
			break;
		field = text.substr(pos, end - pos);
		pos = end + 1;
	}
	if (fields[2].empty() || fields[0] == "unknown")
		return "map";
	return "map of " + fields[0] + " (" + fields[1] + ":" + fields[2] + ")";
}

} // namespace

plan *current_plan()
{
	return t_plan;
}

bool collect(void *handle, const row &r)
{
	if (!t_collector || handle != t_collector)
		return false;
	collector &c = *t_collector;
	c.rows->push_back(r);
	c.rows->back().item = c.item;
	c.rows->back().part = static_cast<int>(c.parts++);
	return true;
}

int64_t count_collected(const void *handle)
{
	return t_collector && handle == t_collector ? t_collector->parts : -1;
}

plan::plan(void *location, int device, const items &list) : location_(location), device_(device), list_(list)
{
	rows_.reserve(static_cast<size_t>(list.count));
	for (int i = 0; i < list.count; i++)
		expand(i);
	for (size_t i = 0; i < rows_.size(); i++) {
		row &r = rows_[i];
		r.is_counted = !is_member(r.type) && !(r.part == 0 && is_member(list.types[r.item]));
		if (i + 1 == rows_.size())
			break;
		const row &n = rows_[i + 1];
		const int own = r.part < 0 ? r.item : r.part;
		r.is_combined = parent_of(r.type) < 0 && (n.part < 0) == (r.part < 0) && parent_of(n.type) == own;
	}
}

void plan::expand(int i)
{
	const row one{list_.bases[i],
		      list_.begins[i],
		      list_.sizes[i],
		      list_.types[i],
		      list_.names ? list_.names[i] : nullptr,
		      i,
		      -1,
		      false};
	if (is_none(one) || !list_.mappers || !list_.mappers[i]) {
		rows_.push_back(one);
		return;
	}
	mappers_ = true;
	collector c{&rows_, i};
	t_collector = &c;
	reinterpret_cast<void (*)(void *, void *, void *, int64_t, int64_t, void *)>(list_.mappers[i])(
		&c, one.base, one.begin, one.size, one.type, one.name);
	t_collector = nullptr;
}

bool plan::must_wait_for(const row &r, bool to_begin) const
{
	if (is_none(r) || (r.type & kAttach))
		return false;
	const uintptr_t begin = number(r.begin);
	const size_t bytes = bytes_of(r);
	if (const variable *v = find(device_, begin, bytes).variable_found)
		return v->busy;
	if (!to_begin || !chosen(device_, base_of(r), r.begin, bytes))
		return false;
	return std::any_of(g_foreign.begin(), g_foreign.end(), [&](const foreign &f) {
		return f.device == device_ && f.begin < begin + bytes && begin < f.begin + f.bytes;
	});
}

// Changes nothing until everything that the call needs is free: no thread waits for a waiting thread.
void plan::wait_until_free(std::unique_lock<std::mutex> &lock, bool to_begin)
{
	g_not_busy.wait(lock, [this, to_begin] {
		return std::none_of(rows_.begin(), rows_.end(),
				    [this, to_begin](const row &r) { return must_wait_for(r, to_begin); });
	});
}

// --- begin -----------------------------------------------------------------------------------------------------------

// Would the runtime create a new variable for it? Then begin and bytes are its range.
bool plan::may_place(const row &r, size_t pos, const finding &there, uintptr_t &begin, size_t &bytes) const
{
	if (there.variable_found || r.size <= 0 || !r.begin || is_member(r.type) || (r.type & kPresent))
		return false;
	begin = number(r.begin);
	bytes = bytes_of(r);
	const int device = device_;
	const auto is_there = [device](uintptr_t ptr) {
		return find(device, ptr, 1).variable_found ||
		       real().is_present(reinterpret_cast<const void *>(ptr), device);
	};
	if (is_there(begin) || is_there(begin + bytes - 1))
		return false;
	// variables that earlier rows of the same call will create
	for (size_t i = 0; i < pos; i++) {
		const row &e = rows_[i];
		if (!e.variable_mapped && !is_none(e) && !(e.type & kAttach) && number(e.begin) < begin + bytes &&
		    begin < number(e.begin) + bytes_of(e))
			return false;
	}
	if (!r.is_combined)
		return true;
	// part of a structure, which the runtime begins a little earlier, depending on its version
	for (uintptr_t unit = kMostAligned; unit > 1; unit /= 2)
		if (const uintptr_t more = begin % unit; more && !is_there(begin - more)) {
			begin -= more;
			bytes += more;
			break;
		}
	return true;
}

// Null: another thread, whose maps are not ours, was faster.
variable *plan::place(const row &r, const allocator &source, uintptr_t begin, size_t bytes)
{
	const std::string what = words_for(r);
	void *block = take_block(source, bytes, what.c_str());
	if (!block)
		fail("%s: partition %d has no room for %zu bytes; use a larger SHMEM_SYMMETRIC_PARTITION%d",
		     what.c_str(), source.id, bytes, source.id);
	const void *host = reinterpret_cast<const void *>(begin);
	if (real().associate(host, block, bytes, 0, device_) != 0) {
		if (!real().is_present(host, device_))
			fail("%s: device %d refuses %zu bytes of partition %d as the place of a variable", what.c_str(),
			     device_, bytes, source.id);
		source.release(block);
		return nullptr;
	}
	variable v;
	v.host = begin;
	v.bytes = bytes;
	v.block = block;
	v.allocator_used = source;
	v.device = device_;
	(r.type & kHold ? v.holds : v.maps) = 1;
	v.busy = true;
	variable &added = add(v);
	busy_.push_back(&added);
	return &added;
}

void plan::note_pointer(const row &r) const
{
	if (variable *v = find(device_, number(r.base), sizeof(void *)).variable_found)
		v->pointer = r.base;
}

void plan::begin_row(size_t pos)
{
	row &r = rows_[pos];
	const finding there = find(device_, number(r.begin), bytes_of(r));
	if (there.variable_found && (there.inside || (r.type & kImplicit))) {
		r.variable_mapped = there.variable_found;
		if (r.is_counted)
			(r.type & kHold ? r.variable_mapped->holds : r.variable_mapped->maps)++;
		else
			r.is_new = r.variable_mapped->maps + r.variable_mapped->holds == 1;
	} else {
		uintptr_t begin = 0;
		size_t bytes = 0;
		const allocator *src = chosen(device_, base_of(r), r.begin, bytes_of(r));
		if (src && may_place(r, pos, there, begin, bytes))
			r.variable_mapped = place(r, *src, begin, bytes);
		r.is_new = r.variable_mapped != nullptr;
	}
	if (r.type & kPtrAndObj)
		note_pointer(r);
	if (!r.variable_mapped) {
		if (r.size > 0)
			g_foreign.push_back({this, device_, number(r.begin), bytes_of(r)});
		return;
	}
	ours_ = true;
	if (r.is_new && (r.type & kTo))
		r.add = r.type & kPtrAndObj ? kAlways : kAlways | kClose;
	news_ |= r.is_new;
}

// A pointer that receives its device value (LLVM 22) when it or its target is new.
void plan::attach_row(row &r)
{
	for (const row &e : rows_)
		if (e.variable_mapped && e.is_new &&
		    (number(r.base) - number(e.begin) < bytes_of(e) || number(r.begin) - number(e.begin) < bytes_of(e)))
			r.add = kAlways;
	if (r.add)
		note_pointer(r);
}

void plan::begin()
{
	std::unique_lock<std::mutex> lock(g_mutex);
	wait_until_free(lock, true);
	for (size_t i = 0; i < rows_.size(); i++)
		if (!is_none(rows_[i]) && !(rows_[i].type & kAttach))
			begin_row(i);
	for (row &r : rows_) {
		if (ours_ && !is_none(r) && (r.type & kAttach))
			attach_row(r);
		changes_ |= r.add != 0;
	}
}

void plan::finish_begin()
{
	const std::lock_guard<std::mutex> lock(g_mutex);
	for (variable *v : busy_)
		v->busy = false;
	busy_.clear();
	std::erase_if(g_foreign, [this](const foreign &f) { return f.owner == this; });
	g_not_busy.notify_all();
}

// --- end -------------------------------------------------------------------------------------------------------------

void plan::end_row(row &r)
{
	const finding there = find(device_, number(r.begin), bytes_of(r));
	if (!there.variable_found || !(there.inside || (r.type & kImplicit)))
		return;
	variable &v = *there.variable_found;
	uint64_t &mine = r.type & kHold ? v.holds : v.maps;
	const uint64_t others = r.type & kHold ? v.maps : v.holds;
	const bool is_last = others == 0 && (mine == 1 || (r.type & kDelete));
	r.variable_mapped = &v;
	v.ends++;
	ours_ = true;
	if (is_last && (r.type & kFrom) && r.size > 0)
		r.add = kAlways;
	if (!r.is_counted)
		return;
	const bool was_there = v.maps + v.holds != 0;
	if (mine)
		mine = r.type & kDelete ? 0 : mine - 1;
	if (was_there && v.maps + v.holds == 0) {
		v.busy = true;
		busy_.push_back(&v);
	}
}

void plan::end()
{
	std::unique_lock<std::mutex> lock(g_mutex);
	ours_ = news_ = changes_ = false;
	for (row &r : rows_) {
		r.add = 0;
		r.variable_mapped = nullptr;
	}
	wait_until_free(lock, false);
	for (auto r = rows_.rbegin(); r != rows_.rend(); ++r) {
		if (!is_none(*r) && !(r->type & kAttach))
			end_row(*r);
		changes_ |= r->add != 0;
	}
	if (ours_ && !shmem_is_running())
		fail("a variable in a partition was still mapped when shmem_finalize was called; end its map before");
}

// LLVM 14 keeps the pointers within a variable by their host addresses until it removes a variable there that has
// pointers. Therefore map and unmap one with a null pointer.
void plan::forget_pointers(const variable &v) const
{
	void *const host = reinterpret_cast<void *>(v.host);
	void *bases[] = {host, v.pointer}, *begins[] = {host, nullptr};
	int64_t sizes[] = {static_cast<int64_t>(v.bytes), 0};
	int64_t types[] = {0, kPtrAndObj | int64_t{1} << kMemberShift};
	real().data_begin(location_, v.device, 2, bases, begins, sizes, types, nullptr, nullptr);
	real().data_end(location_, v.device, 1, bases, begins, sizes, types, nullptr, nullptr);
}

void plan::finish_end()
{
	std::vector<variable> gone;
	{
		std::unique_lock<std::mutex> lock(g_mutex);
		for (const row &r : rows_)
			if (r.variable_mapped)
				r.variable_mapped->ends--;
		g_not_busy.notify_all();
		// all threads pass the lines above before they wait here
		g_not_busy.wait(lock, [this] {
			return std::all_of(busy_.begin(), busy_.end(), [](const variable *v) { return v->ends == 0; });
		});
		for (variable *v : busy_) {
			void *host = reinterpret_cast<void *>(v->host);
			if (real().disassociate(host, v->device) != 0)
				fail("the variable at %p is not on device %d any more, or held there", host, v->device);
			gone.push_back(*v);
			if (v->pointer)
				forget_pointers(*v);
		}
		for (variable *v : busy_)
			remove(*v);
		if (!busy_.empty())
			g_not_busy.notify_all();
		busy_.clear();
	}
	for (const variable &v : gone)
		v.allocator_used.release(v.block);
}

// --- the runtime's part ----------------------------------------------------------------------------------------------

void plan::make_types(others what)
{
	types_.assign(list_.types, list_.types + list_.count);
	std::vector<char> is_ours(types_.size(), 0);
	for (const row &r : rows_) {
		const auto i = static_cast<size_t>(r.item);
		is_ours[i] |= r.add != 0;
		if (r.part < 0)
			types_[i] = (what == others::never_always ? r.type & ~kAlways : r.type) | r.add;
	}
	if (what == others::left_out)
		for (size_t i = 0; i < types_.size(); i++)
			if (!is_ours[i])
				types_[i] = kLiteral;
}

void plan::call_begin(others what)
{
	make_types(what);
	t_plan = mappers_ ? this : nullptr;
	direction_ = 1;
	mapped_row_ = rows_.size();
	real().data_begin(location_, device_, list_.count, list_.bases, list_.begins, list_.sizes, types_.data(),
			  list_.names, list_.mappers);
	t_plan = nullptr;
}

void plan::call_end(others what)
{
	make_types(what);
	t_plan = mappers_ ? this : nullptr;
	direction_ = -1;
	mapped_row_ = rows_.size();
	real().data_end(location_, device_, list_.count, list_.bases, list_.begins, list_.sizes, types_.data(),
			list_.names, list_.mappers);
	t_plan = nullptr;
}

// The runtime calls the mappers of the list again, in its order: a handle without parts belongs to the next one.
int64_t plan::component_type(void *handle, int64_t type)
{
	const auto parts = static_cast<size_t>(real().num_components(handle));
	if (parts == 0) {
		const size_t count = rows_.size();
		if (direction_ > 0) {
			size_t i = mapped_row_ == count ? 0 : mapped_row_ + 1;
			while (i < count && rows_[i].part != 0)
				i++;
			mapped_row_ = i;
		} else {
			size_t i = mapped_row_;
			while (i > 0 && rows_[i - 1].part != 0)
				i--;
			mapped_row_ = i > 0 ? i - 1 : count;
		}
	}
	const size_t pos = mapped_row_ + parts;
	return pos < rows_.size() && rows_[pos].part == static_cast<int>(parts) ? type | rows_[pos].add : type;
}

} // namespace shmem_omp
