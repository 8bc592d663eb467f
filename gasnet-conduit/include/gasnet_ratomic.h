/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GASNet-EX's remote atomics: atomic domains, and operations on six types. C11 and C++.
 *
 * In memory that is mapped here an operation is a CPU instruction, or a loop of compare and swap if there is none
 * (products, minimum, maximum, floating-point numbers). The owner's CPU executes operations that arrive over a wire
 * in the same way: all of them are atomic with respect to each other, whatever domain they use. Each is an acquire
 * and a release, except on aarch64, where that costs: there a single-instruction operation is relaxed unless it
 * has GEX_FLAG_AD_ACQ or GEX_FLAG_AD_REL.
 */
#ifndef GASNET_RATOMIC_H
#define GASNET_RATOMIC_H

#include <gasnetex.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A domain points at the windows of its team, by rank; the library's part of it lies in front of them. They are its
 * own copy: no load after an atomic instruction begins before that completes, and a pointer to the windows would be
 * one more load that the next one waits for.
 */
struct gasneti_domain;
typedef struct gasneti_domain *gex_AD_t;
#define GEX_AD_INVALID ((gex_AD_t)0)

PGAS_EXPORT void gex_AD_Create(gex_AD_t *ad_p, gex_TM_t tm, gex_DT_t dt, gex_OP_t ops, gex_Flags_t flags) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_AD_Destroy(gex_AD_t ad) PGAS_NOEXCEPT;
PGAS_EXPORT gex_Flags_t gex_AD_QueryFlags(gex_AD_t ad) PGAS_NOEXCEPT;
PGAS_EXPORT gex_TM_t gex_AD_QueryTM(gex_AD_t ad) PGAS_NOEXCEPT;
PGAS_EXPORT gex_DT_t gex_AD_QueryDT(gex_AD_t ad) PGAS_NOEXCEPT;
PGAS_EXPORT gex_OP_t gex_AD_QueryOps(gex_AD_t ad) PGAS_NOEXCEPT;
PGAS_EXPORT void gex_AD_SetCData(gex_AD_t ad, const void *val) PGAS_NOEXCEPT;
PGAS_EXPORT void *gex_AD_QueryCData(gex_AD_t ad) PGAS_NOEXCEPT;

PGAS_HOT uint64_t gasneti_ad_window(gex_AD_t ad, gex_Rank_t rank, gex_Flags_t flags)
{
	return flags & GEX_FLAG_RANK_IS_JOBRANK ? gasneti_windows[rank] : ((const uint64_t *)ad)[rank];
}

/* Swaps in the value of expr_arg for `old`, until no other update intervened, and leaves the old value in old_arg. */
#define GASNETI_AD_LOOP(bits_type_arg, type_arg, at_arg, old_arg, expr_arg)                                            \
	do {                                                                                                           \
		bits_type_arg seen_ = __atomic_load_n((bits_type_arg *)(at_arg), __ATOMIC_RELAXED), next_;             \
		do {                                                                                                   \
			type_arg old, made_;                                                                           \
			memcpy(&old, &seen_, sizeof old);                                                              \
			made_ = (expr_arg);                                                                            \
			memcpy(&next_, &made_, sizeof next_);                                                          \
			(old_arg) = old;                                                                               \
		} while (!__atomic_compare_exchange_n((bits_type_arg *)(at_arg), &seen_, next_, 0, __ATOMIC_ACQ_REL,   \
						      __ATOMIC_RELAXED));                                              \
	} while (0)

/* The memory order of an operation; a loose one is relaxed. */
#define GASNETI_AD_ORDER(strong_arg) (loose ? __ATOMIC_RELAXED : (strong_arg))
PGAS_HOT int gasneti_ad_loose(gex_Flags_t flags)
{
#ifdef __aarch64__
	return !(flags & (GEX_FLAG_AD_ACQ | GEX_FLAG_AD_REL));
#else
	(void)flags;
	return 0;
#endif
}

/* Operations that use the type's bits, not its arithmetic. */
#define GASNETI_AD_CAS(bits_type_arg)                                                                                  \
	do {                                                                                                           \
		bits_type_arg bits_, next_;                                                                            \
		memcpy(&bits_, &a, sizeof bits_);                                                                      \
		memcpy(&next_, &b, sizeof next_);                                                                      \
		__atomic_compare_exchange_n((bits_type_arg *)local, &bits_, next_, 0,                                  \
					    GASNETI_AD_ORDER(__ATOMIC_ACQ_REL), GASNETI_AD_ORDER(__ATOMIC_ACQUIRE));   \
		memcpy(&was_, &bits_, sizeof was_);                                                                    \
	} while (0)
#define GASNETI_AD_SWAP(bits_type_arg)                                                                                 \
	do {                                                                                                           \
		bits_type_arg bits_;                                                                                   \
		memcpy(&bits_, &a, sizeof bits_);                                                                      \
		bits_ = __atomic_exchange_n((bits_type_arg *)local, bits_, GASNETI_AD_ORDER(__ATOMIC_ACQ_REL));        \
		memcpy(&was_, &bits_, sizeof was_);                                                                    \
	} while (0)
#define GASNETI_AD_SET(bits_type_arg)                                                                                  \
	do {                                                                                                           \
		bits_type_arg bits_;                                                                                   \
		memcpy(&bits_, &a, sizeof bits_);                                                                      \
		__atomic_store_n((bits_type_arg *)local, bits_, GASNETI_AD_ORDER(__ATOMIC_RELEASE));                   \
	} while (0)
#define GASNETI_AD_GET(bits_type_arg)                                                                                  \
	do {                                                                                                           \
		const bits_type_arg bits_ =                                                                            \
			__atomic_load_n((bits_type_arg *)local, GASNETI_AD_ORDER(__ATOMIC_ACQUIRE));                   \
		memcpy(&was_, &bits_, sizeof was_);                                                                    \
	} while (0)

/*
 * The bit number of an operation. The values are far apart, so the compiler would have to search for one that is
 * known only at run time; with bit numbers it uses a table. The statement leaves the previous value in was_.
 */
#define GASNETI_AD_BIT(op_arg) __builtin_ctz(GEX_OP_##op_arg)
#define GASNETI_AD_PLAIN(op_arg, ...)                                                                                  \
	case GASNETI_AD_BIT(op_arg):                                                                                   \
		__VA_ARGS__;                                                                                           \
		return 1;
#define GASNETI_AD_FETCH(op_arg, ...)                                                                                  \
	case GASNETI_AD_BIT(op_arg):                                                                                   \
		__VA_ARGS__;                                                                                           \
		*result = was_;                                                                                        \
		return 1;
#define GASNETI_AD_BOTH(op_arg, ...)                                                                                   \
	GASNETI_AD_PLAIN(op_arg, __VA_ARGS__)                                                                          \
	GASNETI_AD_FETCH(F##op_arg, __VA_ARGS__)
#define GASNETI_AD_MOVES(bits_type_arg)                                                                                \
	GASNETI_AD_PLAIN(SET, GASNETI_AD_SET(bits_type_arg))                                                           \
	GASNETI_AD_FETCH(GET, GASNETI_AD_GET(bits_type_arg))                                                           \
	GASNETI_AD_FETCH(SWAP, GASNETI_AD_SWAP(bits_type_arg))                                                         \
	GASNETI_AD_BOTH(CAS, GASNETI_AD_CAS(bits_type_arg))
#define GASNETI_AD_LOOPS(bits_type_arg, type_arg, product_arg)                                                         \
	GASNETI_AD_BOTH(MULT, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, product_arg))                      \
	GASNETI_AD_BOTH(MIN, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, old < a ? old : a))                 \
	GASNETI_AD_BOTH(MAX, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, old > a ? old : a))

/* True if exactly one bit is set. */
PGAS_HOT int gasneti_ad_is_one(gex_OP_t opcode)
{
	return opcode != 0 && (opcode & (opcode - 1)) == 0;
}

/*
 * One local operation. Each half returns 0 if it does not have the operation: `at_once` has single instructions,
 * `in_loop` those that are a loop on some machine. A loop would take registers from everything in the same function.
 */
#define GASNETI_AD_HALF(half_arg, name_arg, type_arg)                                                                  \
	PGAS_HOT int gasneti_ad_##half_arg##_##name_arg(type_arg *local, type_arg *result, gex_OP_t opcode,            \
							type_arg a, type_arg b, int loose)
#define GASNETI_AD_INTEGER(name_arg, type_arg, bits_type_arg)                                                          \
	GASNETI_AD_HALF(at_once, name_arg, type_arg)                                                                   \
	{                                                                                                              \
		type_arg was_;                                                                                         \
		const int order_ = GASNETI_AD_ORDER(__ATOMIC_ACQ_REL);                                                 \
		if (!gasneti_ad_is_one(opcode))                                                                        \
			return 0;                                                                                      \
		switch (__builtin_ctz(opcode)) {                                                                       \
			GASNETI_AD_BOTH(ADD, was_ = __atomic_fetch_add(local, a, order_))                              \
			GASNETI_AD_BOTH(SUB, was_ = __atomic_fetch_sub(local, a, order_))                              \
			GASNETI_AD_BOTH(INC, was_ = __atomic_fetch_add(local, 1, order_))                              \
			GASNETI_AD_BOTH(DEC, was_ = __atomic_fetch_sub(local, 1, order_))                              \
			GASNETI_AD_PLAIN(AND, was_ = __atomic_fetch_and(local, a, order_))                             \
			GASNETI_AD_PLAIN(OR, was_ = __atomic_fetch_or(local, a, order_))                               \
			GASNETI_AD_PLAIN(XOR, was_ = __atomic_fetch_xor(local, a, order_))                             \
			GASNETI_AD_MOVES(bits_type_arg)                                                                \
		default:                                                                                               \
			return 0;                                                                                      \
		}                                                                                                      \
	}                                                                                                              \
	GASNETI_AD_HALF(in_loop, name_arg, type_arg)                                                                   \
	{                                                                                                              \
		type_arg was_;                                                                                         \
		(void)b, (void)loose;                                                                                  \
		if (!gasneti_ad_is_one(opcode))                                                                        \
			return 0;                                                                                      \
		switch (__builtin_ctz(opcode)) {                                                                       \
			GASNETI_AD_FETCH(FAND, was_ = __atomic_fetch_and(local, a, __ATOMIC_ACQ_REL))                  \
			GASNETI_AD_FETCH(FOR, was_ = __atomic_fetch_or(local, a, __ATOMIC_ACQ_REL))                    \
			GASNETI_AD_FETCH(FXOR, was_ = __atomic_fetch_xor(local, a, __ATOMIC_ACQ_REL))                  \
			GASNETI_AD_LOOPS(bits_type_arg, type_arg, (type_arg)((bits_type_arg)old * (bits_type_arg)a))   \
		default:                                                                                               \
			return 0;                                                                                      \
		}                                                                                                      \
	}
#define GASNETI_AD_FLOAT(name_arg, type_arg, bits_type_arg)                                                            \
	GASNETI_AD_HALF(at_once, name_arg, type_arg)                                                                   \
	{                                                                                                              \
		type_arg was_;                                                                                         \
		if (!gasneti_ad_is_one(opcode))                                                                        \
			return 0;                                                                                      \
		switch (__builtin_ctz(opcode)) {                                                                       \
			GASNETI_AD_MOVES(bits_type_arg)                                                                \
		default:                                                                                               \
			return 0;                                                                                      \
		}                                                                                                      \
	}                                                                                                              \
	GASNETI_AD_HALF(in_loop, name_arg, type_arg)                                                                   \
	{                                                                                                              \
		type_arg was_;                                                                                         \
		(void)b, (void)loose;                                                                                  \
		if (!gasneti_ad_is_one(opcode))                                                                        \
			return 0;                                                                                      \
		switch (__builtin_ctz(opcode)) {                                                                       \
			GASNETI_AD_BOTH(ADD, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, old + a))           \
			GASNETI_AD_BOTH(SUB, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, old - a))           \
			GASNETI_AD_BOTH(INC, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, old + 1))           \
			GASNETI_AD_BOTH(DEC, GASNETI_AD_LOOP(bits_type_arg, type_arg, local, was_, old - 1))           \
			GASNETI_AD_LOOPS(bits_type_arg, type_arg, old *a)                                              \
		default:                                                                                               \
			return 0;                                                                                      \
		}                                                                                                      \
	}

/*
 * Operations that the compiler does not know, such as those that libraries between a program and this one pass on,
 * are looked up in a called function. It gets its arguments in the places where the caller has them, with two that
 * it does not use; the caller has already chosen the window. On x86_64 the second operand would be passed on the
 * stack: a store, and a load that waits for it, before an atomic that waits for both. So it takes the rank's place.
 */
#ifdef __x86_64__
#define GASNETI_AD_PARAMETERS(type_arg)                                                                                \
	type_arg *local, type_arg *result, type_arg b, void *addr __attribute__((unused)), gex_OP_t opcode, type_arg a
#define GASNETI_AD_ARGUMENTS(at_arg, result_arg, rank_arg, addr_arg, opcode_arg, a_arg, b_arg)                         \
	at_arg, result_arg, b_arg, addr_arg, opcode_arg, a_arg
#else
#define GASNETI_AD_PARAMETERS(type_arg)                                                                                \
	type_arg *local, type_arg *result, gex_Rank_t rank __attribute__((unused)),                                    \
		void *addr __attribute__((unused)), gex_OP_t opcode, type_arg a, type_arg b
#define GASNETI_AD_ARGUMENTS(at_arg, result_arg, rank_arg, addr_arg, opcode_arg, a_arg, b_arg)                         \
	at_arg, result_arg, rank_arg, addr_arg, opcode_arg, a_arg, b_arg
#endif

/*
 * `far` is the cold exit, for members without a window: fetched values are there when it returns. It also takes
 * values rather than pointers, because a function that takes the address of something on its stack gets a stack
 * guard if compilers are told to add these: stores before an atomic.
 * budget: 7 instructions of FADD and its wait, 5 of ADD (paths.def: gex_ad_fadd, gex_ad_add_nbi), 24 of FADD that is
 * not known (gex_ad_any)
 */
#define GASNETI_AD_CALLS(name_arg, type_arg)                                                                           \
	PGAS_EXPORT gex_Event_t gasneti_ad_far_##name_arg(gex_AD_t ad, type_arg *result, gex_Rank_t rank, void *addr,  \
							  gex_OP_t opcode, type_arg a, type_arg b, gex_Flags_t flags,  \
							  int implicit) PGAS_NOEXCEPT;                                 \
	PGAS_EXPORT gex_Event_t gasneti_ad_here_##name_arg(GASNETI_AD_PARAMETERS(type_arg)) PGAS_NOEXCEPT;             \
	PGAS_EXPORT gex_Event_t gasneti_ad_loose_##name_arg(GASNETI_AD_PARAMETERS(type_arg)) PGAS_NOEXCEPT;            \
	PGAS_HOT gex_Event_t gasneti_ad_##name_arg(gex_AD_t ad, type_arg *result_p, gex_Rank_t tgt_rank,               \
						   void *tgt_addr, gex_OP_t opcode, type_arg operand1,                 \
						   type_arg operand2, gex_Flags_t flags, int implicit)                 \
	{                                                                                                              \
		const uint64_t window = gasneti_ad_window(ad, tgt_rank, flags);                                        \
		if (PGAS_LIKELY(window != 0)) {                                                                        \
			type_arg *const local = (type_arg *)((char *)tgt_addr + window);                               \
			const int loose = gasneti_ad_loose(flags);                                                     \
			if (!__builtin_constant_p(opcode) && loose)                                                    \
				return gasneti_ad_loose_##name_arg(GASNETI_AD_ARGUMENTS(                               \
					local, result_p, tgt_rank, tgt_addr, opcode, operand1, operand2));             \
			if (!__builtin_constant_p(opcode))                                                             \
				return gasneti_ad_here_##name_arg(GASNETI_AD_ARGUMENTS(                                \
					local, result_p, tgt_rank, tgt_addr, opcode, operand1, operand2));             \
			if (gasneti_ad_at_once_##name_arg(local, result_p, opcode, operand1, operand2,                 \
							  __builtin_constant_p(loose) && loose) ||                     \
			    gasneti_ad_in_loop_##name_arg(local, result_p, opcode, operand1, operand2, 0))             \
				return GEX_EVENT_INVALID;                                                              \
		}                                                                                                      \
		return gasneti_ad_far_##name_arg(ad, result_p, tgt_rank, tgt_addr, opcode, operand1, operand2, flags,  \
						 implicit);                                                            \
	}                                                                                                              \
	PGAS_HOT gex_Event_t gex_AD_OpNB_##name_arg(gex_AD_t ad, type_arg *result_p, gex_Rank_t tgt_rank,              \
						    void *tgt_addr, gex_OP_t opcode, type_arg operand1,                \
						    type_arg operand2, gex_Flags_t flags)                              \
	{                                                                                                              \
		return gasneti_ad_##name_arg(ad, result_p, tgt_rank, tgt_addr, opcode, operand1, operand2, flags, 0);  \
	}                                                                                                              \
	PGAS_HOT int gex_AD_OpNBI_##name_arg(gex_AD_t ad, type_arg *result_p, gex_Rank_t tgt_rank, void *tgt_addr,     \
					     gex_OP_t opcode, type_arg operand1, type_arg operand2, gex_Flags_t flags) \
	{                                                                                                              \
		gasneti_ad_##name_arg(ad, result_p, tgt_rank, tgt_addr, opcode, operand1, operand2, flags, 1);         \
		return 0;                                                                                              \
	}

GASNETI_AD_INTEGER(I32, int32_t, pgas_u32_alias)
GASNETI_AD_INTEGER(U32, uint32_t, pgas_u32_alias)
GASNETI_AD_INTEGER(I64, int64_t, pgas_u64_alias)
GASNETI_AD_INTEGER(U64, uint64_t, pgas_u64_alias)
GASNETI_AD_FLOAT(FLT, float, pgas_u32_alias)
GASNETI_AD_FLOAT(DBL, double, pgas_u64_alias)
/* The types; the library and its tools have calls for the same ones. */
#define GASNETI_AD_TYPES(x_arg)                                                                                        \
	x_arg(I32, int32_t) x_arg(U32, uint32_t) x_arg(I64, int64_t) x_arg(U64, uint64_t) x_arg(FLT, float)            \
		x_arg(DBL, double)
GASNETI_AD_TYPES(GASNETI_AD_CALLS)
#undef GASNETI_AD_CALLS
#undef GASNETI_AD_FLOAT
#undef GASNETI_AD_INTEGER
#undef GASNETI_AD_HALF
#undef GASNETI_AD_LOOPS
#undef GASNETI_AD_MOVES
#undef GASNETI_AD_BOTH
#undef GASNETI_AD_FETCH
#undef GASNETI_AD_PLAIN
#undef GASNETI_AD_BIT
#undef GASNETI_AD_GET
#undef GASNETI_AD_SET
#undef GASNETI_AD_SWAP
#undef GASNETI_AD_CAS
#undef GASNETI_AD_ORDER
#undef GASNETI_AD_LOOP

#ifdef __cplusplus
}
#endif

#endif /* GASNET_RATOMIC_H */
