// SPDX-License-Identifier: BSD-3-Clause
//
// Remote atomics: domains, and the operations that are not inline in the client.
#include "core/gasnet_objects.hpp"
#include "gasnet_rma.hpp"

#include <gasnet_ratomic.h>

#include <cstdlib>
#include <cstring>

namespace gasnet {
namespace {

// The windows follow, and then some that are 0: a rank that does not exist leads to the cold exit, which reports it.
constexpr size_t kNoWindows = 64;
struct alignas(uint64_t) domain {
	gex_TM_t tm;
	gex_DT_t dt;
	gex_OP_t ops;
	gex_Flags_t flags;
	void *cdata;
};

domain *domain_of(gex_AD_t ad)
{
	return reinterpret_cast<domain *>(ad) - 1;
}

constexpr gex_OP_t kFetching = 0xffff0000;
constexpr gex_OP_t kBits = GEX_OP_AND | GEX_OP_OR | GEX_OP_XOR | GEX_OP_FAND | GEX_OP_FOR | GEX_OP_FXOR;
constexpr gex_OP_t kArithmetic = GEX_OP_ADD | GEX_OP_SUB | GEX_OP_INC | GEX_OP_DEC | GEX_OP_MULT | GEX_OP_MIN |
				 GEX_OP_MAX | GEX_OP_SET | GEX_OP_CAS;
constexpr gex_OP_t kAll = kArithmetic | GEX_OP_TO_FETCHING(kArithmetic) | kBits | GEX_OP_GET;

bool is_float(gex_DT_t dt)
{
	return dt == GEX_DT_FLT || dt == GEX_DT_DBL;
}

struct datatype {
	fi_datatype fi;
	size_t bytes;
};
// The provider's type; bytes is 0 if there is none.
datatype datatype_of(gex_DT_t dt)
{
	switch (dt) {
	case GEX_DT_I32:
		return {FI_INT32, 4};
	case GEX_DT_U32:
		return {FI_UINT32, 4};
	case GEX_DT_I64:
		return {FI_INT64, 8};
	case GEX_DT_U64:
		return {FI_UINT64, 8};
	case GEX_DT_FLT:
		return {FI_FLOAT, 4};
	case GEX_DT_DBL:
		return {FI_DOUBLE, 8};
	default:
		return {FI_VOID, 0};
	}
}

void check(const domain *d, gex_DT_t dt, gex_OP_t opcode)
{
	if (d->dt != dt)
		fail("gex_AD_Op: the atomic domain is of another type");
	if (!opcode || (opcode & (opcode - 1)) || !(d->ops & opcode))
		fail("gex_AD_Op: the atomic domain was not created for operation %#x", opcode);
}

// --- memory that is mapped here --------------------------------------------------------------------------------------

template <class T>
using here_fn = int (*)(T *, T *, gex_OP_t, T, T);

template <class T, class Here>
void here(Here fn, void *addr, void *result, gex_OP_t opcode, const void *operand1, const void *operand2)
{
	T a, b, unused;
	memcpy(&a, operand1, sizeof a);
	memcpy(&b, operand2, sizeof b);
	fn(static_cast<T *>(addr), result ? static_cast<T *>(result) : &unused, opcode, a, b);
}

void op_here(gex_DT_t dt, void *addr, void *result, gex_OP_t opcode, const void *a, const void *b)
{
#define GASNETI_TYPE(name_arg, type_arg)                                                                               \
	case GEX_DT_##name_arg:                                                                                        \
		here<type_arg>(                                                                                        \
			[](type_arg *p, type_arg *r, gex_OP_t o, type_arg x, type_arg y) {                             \
				gasneti_ad_at_once_##name_arg(p, r, o, x, y, 0) ||                                     \
					gasneti_ad_in_loop_##name_arg(p, r, o, x, y, 0);                               \
			},                                                                                             \
			addr, result, opcode, a, b);                                                                   \
		break;
	switch (dt) {
		GASNETI_AD_TYPES(GASNETI_TYPE)
	}
#undef GASNETI_TYPE
}

// --- over a wire -----------------------------------------------------------------------------------------------------

// Operations that the provider does not have become sums: of the negated operand, of 1, of -1.
struct wire_op {
	fi_op fi;
	uint64_t value; // in the first bytes, as many as the type has
};

template <class T>
uint64_t word_of(T v)
{
	uint64_t word = 0;
	memcpy(&word, &v, sizeof v);
	return word;
}

// 1 or -1 of that type, times the operand if there is one
template <class T>
uint64_t signed_word(int sign, const void *operand)
{
	T v = 1;
	if (operand)
		memcpy(&v, operand, sizeof v);
	return word_of<T>(static_cast<T>(sign < 0 ? T{} - v : v));
}

uint64_t signed_value(gex_DT_t dt, int sign, const void *operand)
{
	if (dt == GEX_DT_FLT)
		return signed_word<float>(sign, operand);
	if (dt == GEX_DT_DBL)
		return signed_word<double>(sign, operand);
	return datatype_of(dt).bytes == 4 ? signed_word<uint32_t>(sign, operand) : signed_word<uint64_t>(sign, operand);
}

wire_op wire_op_of(gex_DT_t dt, gex_OP_t plain, const void *operand)
{
	uint64_t value = 0;
	memcpy(&value, operand, datatype_of(dt).bytes);
	switch (plain) {
	case GEX_OP_ADD:
		return {FI_SUM, value};
	case GEX_OP_SUB:
		return {FI_SUM, signed_value(dt, -1, operand)};
	case GEX_OP_INC:
		return {FI_SUM, signed_value(dt, 1, nullptr)};
	case GEX_OP_DEC:
		return {FI_SUM, signed_value(dt, -1, nullptr)};
	case GEX_OP_MULT:
		return {FI_PROD, value};
	case GEX_OP_MIN:
		return {FI_MIN, value};
	case GEX_OP_MAX:
		return {FI_MAX, value};
	case GEX_OP_AND:
		return {FI_BAND, value};
	case GEX_OP_OR:
		return {FI_BOR, value};
	case GEX_OP_XOR:
		return {FI_BXOR, value};
	case GEX_OP_CAS:
		return {FI_CSWAP, value};
	default:
		return {FI_ATOMIC_WRITE, value};
	}
}

// Floating-point numbers are compared bit by bit, as in local operations.
fi_datatype type_for(gex_DT_t dt, fi_op op)
{
	const datatype type = datatype_of(dt);
	if (op == FI_CSWAP && is_float(dt))
		return type.bytes == 4 ? FI_UINT32 : FI_UINT64;
	return type.fi;
}

gex_Event_t op_far(gasnet_node_t node, gex_DT_t dt, void *result, void *target, gex_OP_t opcode, const void *operand1,
		   const void *operand2, int implicit)
{
	const size_t bytes = datatype_of(dt).bytes;
	const bool get = opcode == GEX_OP_GET, fetch = (opcode & kFetching) != 0;
	wire_op w = get ? wire_op{FI_ATOMIC_READ, 0}
			: wire_op_of(dt, fetch ? GEX_OP_TO_NONFETCHING(opcode) : opcode, operand1);
	uint64_t compare = w.value, old = 0, next = 0;
	memcpy(&next, operand2, bytes);
	if (w.fi == FI_CSWAP)
		w.value = next;
	const gex_Event_t event =
		far_atomic(node, target, type_for(dt, w.fi), w.fi, w.value, compare, fetch ? &old : nullptr, implicit);
	if (fetch)
		memcpy(result, &old, bytes);
	return event;
}

gex_Event_t op_anywhere(gex_AD_t ad, gex_DT_t dt, void *result, gex_Rank_t rank, void *target, gex_OP_t opcode,
			const void *operand1, const void *operand2, gex_Flags_t flags, int implicit)
{
	if (ad == GEX_AD_INVALID)
		fail("gex_AD_Op: not an atomic domain");
	const domain *d = domain_of(ad);
	check(d, dt, opcode);
	const gasnet_node_t node =
		team_jobrank("gex_AD_Op", flags & GEX_FLAG_RANK_IS_JOBRANK ? &g_world->face : d->tm, rank);
	const bool own = node == gasneti_front.mynode && is_outside(node);
	const uint64_t window = is_outside(node) ? 0 : g_windows[node];
	if (window || own) {
		op_here(dt, static_cast<char *>(target) + window, result, opcode, operand1, operand2);
		return GEX_EVENT_INVALID;
	}
	return op_far(node, dt, result, target, opcode, operand1, operand2, implicit);
}

} // namespace
} // namespace gasnet

using namespace gasnet;

#define GASNETI_TYPE(name_arg, type_arg)                                                                               \
	extern "C" gex_Event_t gasneti_ad_far_##name_arg(gex_AD_t ad, type_arg *result, gex_Rank_t rank, void *addr,   \
							 gex_OP_t opcode, type_arg a, type_arg b, gex_Flags_t flags,   \
							 int implicit) noexcept                                        \
	{                                                                                                              \
		return op_anywhere(ad, GEX_DT_##name_arg, result, rank, addr, opcode, &a, &b, flags, implicit);        \
	}
GASNETI_AD_TYPES(GASNETI_TYPE)
#undef GASNETI_TYPE

// --- operations that a compiler did not see, in memory that is mapped here -------------------------------------------

namespace gasnet {

// Loops, and operations that the type does not have. The arguments are in the same places as the caller's, which
// therefore moves none; if the function were local to this file, the compiler would change that.
#define GASNETI_TYPE(name_arg, type_arg)                                                                               \
	[[gnu::noinline]] gex_Event_t op_in_loop(GASNETI_AD_PARAMETERS(type_arg)) noexcept                             \
	{                                                                                                              \
		if (!gasneti_ad_in_loop_##name_arg(local, result, opcode, a, b, 0))                                    \
			fail("gex_AD_Op: operation %#x is not valid for data type " #name_arg, opcode);                \
		return GEX_EVENT_INVALID;                                                                              \
	}
GASNETI_AD_TYPES(GASNETI_TYPE)
#undef GASNETI_TYPE

} // namespace gasnet

// Comparisons dispatch the sums, the jump table everything else: an atomic instruction waits for every branch before
// it, and a branch through a table waits for a load, which waits for the last atomic.
#define GASNETI_IS(op_arg, name_arg, loose_arg)                                                                        \
	(opcode == GEX_OP_##op_arg && gasneti_ad_at_once_##name_arg(local, result, GEX_OP_##op_arg, a, b, loose_arg))
#define GASNETI_ORDERED(call_arg, name_arg, type_arg, loose_arg)                                                       \
	extern "C" gex_Event_t gasneti_ad_##call_arg##_##name_arg(GASNETI_AD_PARAMETERS(type_arg)) noexcept            \
	{                                                                                                              \
		if (PGAS_LIKELY(GASNETI_IS(FADD, name_arg, loose_arg) || GASNETI_IS(ADD, name_arg, loose_arg) ||       \
				gasneti_ad_at_once_##name_arg(local, result, opcode, a, b, loose_arg)))                \
			return GEX_EVENT_INVALID;                                                                      \
		return op_in_loop(GASNETI_AD_ARGUMENTS(local, result, rank, addr, opcode, a, b));                      \
	}
#define GASNETI_TYPE(name_arg, type_arg)                                                                               \
	GASNETI_ORDERED(here, name_arg, type_arg, 0)                                                                   \
	GASNETI_ORDERED(loose, name_arg, type_arg, 1)
GASNETI_AD_TYPES(GASNETI_TYPE)
#undef GASNETI_TYPE
#undef GASNETI_ORDERED
#undef GASNETI_IS

// Collective, but there is nothing to agree on: operations of all nodes are atomic with respect to each other anyway.
extern "C" void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags) noexcept
{
	if (!ad_p || tm == GEX_TM_INVALID || team_of(tm)->pair)
		fail("gex_AD_Create: needs a team, and a place for the domain");
	if (!datatype_of(dt).bytes)
		fail("gex_AD_Create: data type %#x is not valid for atomics", dt);
	if (!ops || (ops & ~kAll) || (is_float(dt) && (ops & kBits)))
		fail("gex_AD_Create: operations %#x are not all for data type %#x", ops, dt);
	auto *d = static_cast<domain *>(calloc(1, sizeof(domain) + sizeof(uint64_t) * (tm->size + kNoWindows)));
	if (!d)
		fail("gex_AD_Create: out of memory");
	memcpy(d + 1, tm->windows, sizeof(uint64_t) * tm->size);
	d->tm = tm;
	d->dt = dt;
	d->ops = ops;
	d->flags = flags;
	windows_made(reinterpret_cast<uint64_t *>(d + 1), tm->jobranks, tm->size);
	*ad_p = reinterpret_cast<gex_AD_t>(d + 1);
}

extern "C" void gex_AD_Destroy(gex_AD_t ad) noexcept
{
	if (ad == GEX_AD_INVALID)
		return;
	windows_gone(reinterpret_cast<uint64_t *>(ad));
	free(domain_of(ad));
}
extern "C" gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad) noexcept
{
	return domain_of(ad)->flags;
}
extern "C" gex_TM_t gex_AD_QueryTM(gex_AD_t ad) noexcept
{
	return domain_of(ad)->tm;
}
extern "C" gex_DT_t gex_AD_QueryDT(gex_AD_t ad) noexcept
{
	return domain_of(ad)->dt;
}
extern "C" gex_OP_t gex_AD_QueryOps(gex_AD_t ad) noexcept
{
	return domain_of(ad)->ops;
}
extern "C" void gex_AD_SetCData(gex_AD_t ad, const void *val) noexcept
{
	domain_of(ad)->cdata = const_cast<void *>(val);
}
extern "C" void *gex_AD_QueryCData(gex_AD_t ad) noexcept
{
	return domain_of(ad)->cdata;
}
