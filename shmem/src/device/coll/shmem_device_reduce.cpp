// SPDX-License-Identifier: BSD-3-Clause
//
// Reductions and scans on device memory. Where the kind has kernels for it (devices_kind.hpp, submit_fold), these fold:
// the members that act for a device share the elements, and each one's kernel reads all sources and writes all dests,
// since all of them are open here. Otherwise member r works on the r-th share of the elements: it reads that share of
// every source, folds it on the host and writes it into every dest. No two members touch the same elements, so dest may
// be source.
#include "shmem_device_calls.hpp"
#include "shmem_device_coll.hpp"

#include <cstring>

#include <teams/teams_fold.hpp>

namespace shmem {
namespace {

constexpr size_t kAloneBytes = size_t{64} << 10; // up to here one member reduces alone for those that share a device
constexpr size_t kFoldBytes = size_t{512} << 10; // of each member's row, folded at a time

// --- by kernels ------------------------------------------------------------------------------------------------------

struct device_fold {
	devices::fold_op op;
	devices::fold_type type;
	size_t per_element; // a complex number is two
};

template <class Op, class T>
bool is_this(const teams::reduction &r)
{
	return r.fold == teams::reduction_of<Op, T>().fold;
}

// The host's fold function identifies operation and type. The linker may merge functions with identical code, which
// does no harm: they do the same.
template <class Op>
bool find_integers(const teams::reduction &r, devices::fold_op op, bool compares, device_fold &out)
{
	using devices::fold_type;
	fold_type type = fold_type::f64;
	if (is_this<Op, uint8_t>(r))
		type = fold_type::u8;
	else if (is_this<Op, uint16_t>(r))
		type = fold_type::u16;
	else if (is_this<Op, uint32_t>(r))
		type = fold_type::u32;
	else if (is_this<Op, uint64_t>(r))
		type = fold_type::u64;
	else if (compares && is_this<Op, int8_t>(r))
		type = fold_type::s8;
	else if (compares && is_this<Op, int16_t>(r))
		type = fold_type::s16;
	else if (compares && is_this<Op, int32_t>(r))
		type = fold_type::s32;
	else if (compares && is_this<Op, int64_t>(r))
		type = fold_type::s64;
	out = {op, type, 1};
	return type != fold_type::f64;
}

template <class Op>
bool find_numbers(const teams::reduction &r, devices::fold_op op, bool compares, device_fold &out)
{
	if (find_integers<Op>(r, op, compares, out))
		return true;
	const bool single = is_this<Op, float>(r);
	out = {op, single ? devices::fold_type::f32 : devices::fold_type::f64, 1};
	return single || is_this<Op, double>(r);
}

// Sums of complex numbers are sums of their parts. False: the host must do it (long double, products of complex).
bool find_fold(const teams::reduction &r, device_fold &out)
{
	using devices::fold_op, devices::fold_type;
	if (is_this<teams::op_sum, shmem_impl_complexf_t>(r) || is_this<teams::op_sum, shmem_impl_complexd_t>(r)) {
		out = {fold_op::sum, r.size == 8 ? fold_type::f32 : fold_type::f64, 2};
		return true;
	}
	return find_numbers<teams::op_sum>(r, fold_op::sum, false, out) ||
	       find_numbers<teams::op_prod>(r, fold_op::prod, false, out) ||
	       find_numbers<teams::op_min>(r, fold_op::min, true, out) ||
	       find_numbers<teams::op_max>(r, fold_op::max, true, out) ||
	       find_integers<teams::op_and>(r, fold_op::band, false, out) ||
	       find_integers<teams::op_or>(r, fold_op::bor, false, out) ||
	       find_integers<teams::op_xor>(r, fold_op::bxor, false, out);
}

// The same result on all members: it depends on the call and on the location of all of them.
bool can_fold_by_kernels(const teams::team &t, const device_fold &f, const void *dest, const void *source)
{
	const partition *d = device_of(dest), *s = device_of(source);
	if (!d || !s || d->kind != s->kind || !d->kind->can_fold(f.op, f.type) ||
	    static_cast<size_t>(t.size) > devices::kMostRows)
		return false;
	for (int j = 0; j < t.size; j++)
		if (on_other_host(teams::world_rank(t, j)))
			return false;
	return true;
}

// False: nothing was done.
bool fold_by_kernels(teams::team &t, devices::fold_form form, const teams::reduction &op, void *dest,
		     const void *source, size_t elements, const char *name)
{
	constexpr size_t kUnit = 64; // shares begin at an alignment for wide loads, if the arrays are aligned
	device_fold what;
	if (!find_fold(op, what) || !can_fold_by_kernels(t, what, dest, source))
		return false;
	const actor me(t, source, name);
	teams::sync(t); // the others' sources are ready
	if (me.acts()) {
		devices::kind &k = driver_of(dest, source, name);
		const share units = share_of((elements + kUnit - 1) / kUnit, me.turn(), me.heads());
		const size_t begin = units.first * kUnit, end = std::min(elements, (units.first + units.count) * kUnit);
		const void *rows[devices::kMostRows];
		void *outs[devices::kMostRows];
		for (int j = 0; j < t.size; j++) {
			rows[j] = static_cast<const char *>(place_at(t, j, source, name)) + begin * op.size;
			outs[j] = static_cast<char *>(place_at(t, j, dest, name)) + begin * op.size;
		}
		const auto n = static_cast<size_t>(t.size);
		const devices::fold f{form, what.op, what.type, rows,
				      outs, n,       n,         end > begin ? (end - begin) * what.per_element : 0};
		if (k.submit_fold(f) != 0 || k.finish() != 0)
			driver_failed(k, name);
	}
	teams::sync(t);
	return true;
}

// --- by the host -----------------------------------------------------------------------------------------------------

// Rows of a fold on the host: one for each member.
struct rows {
	rows(size_t members, size_t bytes) : room(new char[members * bytes]), addrs(members)
	{
		for (size_t j = 0; j < members; j++)
			addrs[j] = room.get() + j * bytes;
	}
	std::unique_ptr<char[]> room;
	std::vector<const void *> addrs;
	char *row(int j) { return const_cast<char *>(static_cast<const char *>(addrs[static_cast<size_t>(j)])); }
};

// Which elements are mine: a share of them; for a few elements on a shared device, all or none.
share my_part(teams::team &t, const actor &me, size_t elements, size_t size)
{
	if (me.shared() && elements * size <= kAloneBytes)
		return t.me == 0 ? share{0, elements} : share{0, 0};
	return share_of(elements, t.me, t.size);
}

// Reads my elements of every source, part by part, calls fold(rows of all, count), and writes the result into every
// dest. fold returns a function that maps member j to its result row.
template <class Fold>
void fold_my_part(teams::team &t, size_t size, void *dest, const void *source, size_t elements, const char *name,
		  Fold &&fold)
{
	devices::kind &k = driver_of(dest, source, name);
	const share mine = my_part(t, actor(t, source, name), elements, size);
	const size_t at_once = std::max(size_t{1}, kFoldBytes / size);
	rows host(static_cast<size_t>(t.size), std::min(mine.count, at_once) * size);
	teams::sync(t); // the others' sources are ready
	for (size_t done = 0; done < mine.count; done += at_once) {
		const size_t count = std::min(at_once, mine.count - done), offset = (mine.first + done) * size;
		batch input(t, k, name), out(t, k, name);
		each_member(t, [&](int j) { input.pull(j, host.row(j), source, offset, count * size); });
		input.run();
		const auto row_of = fold(host, count);
		each_member(t, [&](int j) { out.push(j, dest, offset, row_of(j), count * size); });
		out.run();
	}
	teams::sync(t);
}

} // namespace

void device_reduce(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		   const char *name)
{
	if (staged_reduce(t, op, dest, source, elements, name) ||
	    fold_by_kernels(t, devices::fold_form::all, op, dest, source, elements, name))
		return;
	fold_my_part(t, op.size, dest, source, elements, name, [&](rows &host, size_t count) {
		op.fold(host.row(0), host.addrs.data(), host.addrs.size(), count);
		return [&host](int) { return host.row(0); };
	});
}

// Member j's result of an element is the sum over members 0 to j, or 0 to j - 1. An empty sum is zero.
void device_scan(teams::team &t, const teams::reduction &op, void *dest, const void *source, size_t elements,
		 bool exclusive, const char *name)
{
	using devices::fold_form;
	if (staged_scan(t, op, dest, source, elements, exclusive, name) ||
	    fold_by_kernels(t, exclusive ? fold_form::exclusive : fold_form::inclusive, op, dest, source, elements,
			    name))
		return;
	std::vector<char> nobody;
	fold_my_part(t, op.size, dest, source, elements, name, [&](rows &host, size_t count) {
		for (int j = 1; j < t.size; j++) { // row j becomes the sum of members 0 to j
			const void *two[] = {host.row(j - 1), host.row(j)};
			op.fold(host.row(j), two, 2, count);
		}
		nobody.assign(count * op.size, 0);
		return [&host, &nobody, exclusive](int j) {
			return !exclusive ? host.row(j) : j > 0 ? host.row(j - 1) : nobody.data();
		};
	});
}

} // namespace shmem
