// SPDX-License-Identifier: BSD-3-Clause
//
// C names of remote memory access; the bodies are in shmem_rma.hpp. On mapped memory a non-blocking call completes
// before it returns, which the standard allows.
#include "core/shmem_export.hpp"
#include "device/shmem_device.hpp"
#include "path/shmem_rma.hpp"

using namespace shmem;

// The body of each call, selected by its name; `c` is the context, `name` the routine for messages.
#define BODY_put(T) put(c, dest, source, nelems * sizeof(T), pe, name)
#define BODY_get(T) get(c, dest, source, nelems * sizeof(T), pe, name)
#define BODY_put_nbi(T) put_nbi(c, dest, source, nelems * sizeof(T), pe, name)
#define BODY_get_nbi(T) get_nbi(c, dest, source, nelems * sizeof(T), pe, name)
#define BODY_p(T) p(c, dest, value, pe, name)
#define BODY_g(T) return g_value(c, source, pe, name)
#define BODY_iput(T) iput(c, name, dest, source, dst, sst, nelems, pe)
#define BODY_iget(T) iget(c, name, dest, source, dst, sst, nelems, pe)
#define BODY_ibput(T) ibput(c, name, dest, source, dst, sst, bsize, nblocks, pe)
#define BODY_ibget(T) ibget(c, name, dest, source, dst, sst, bsize, nblocks, pe)
#define BODY_put_signal(T) put_signal(c, name, dest, source, nelems * sizeof(T), sig_addr, signal, sig_op, pe)
#define BODY_put_signal_nbi(T)                                                                                         \
	put_signal(c, name, dest, source, nelems * sizeof(T), sig_addr, signal, sig_op, pe, until::taken)

#define DEFINE(R, N, T, CALL, P, A)                                                                                    \
	SHMEM_NAME(R, shmem_##N##_##CALL, P)                                                                           \
	{                                                                                                              \
		context *const c = &g_default;                                                                         \
		[[maybe_unused]] const char *const name = "shmem_" #N "_" #CALL;                                       \
		BODY_##CALL(T);                                                                                        \
	}                                                                                                              \
	SHMEM_NAME(R, shmem_ctx_##N##_##CALL, SHMEM_CTX_PARAMS P)                                                      \
	{                                                                                                              \
		context *const c = from_handle(ctx);                                                                   \
		[[maybe_unused]] const char *const name = "shmem_ctx_" #N "_" #CALL;                                   \
		BODY_##CALL(T);                                                                                        \
	}
SHMEM_EACH_RMA(DEFINE)
#undef DEFINE
#undef BODY_put
#undef BODY_get
#undef BODY_put_nbi
#undef BODY_get_nbi
#undef BODY_p
#undef BODY_g
#undef BODY_iput
#undef BODY_iget
#undef BODY_ibput
#undef BODY_ibget
#undef BODY_put_signal
#undef BODY_put_signal_nbi

namespace {

template <size_t Bits>
struct unit {
	alignas(1) char bytes[Bits / 8];
};
template <size_t Bits>
unit<Bits> *as(void *p)
{
	return static_cast<unit<Bits> *>(p);
}
template <size_t Bits>
const unit<Bits> *as(const void *p)
{
	return static_cast<const unit<Bits> *>(p);
}
// Bits per element, by the suffix of the call; putmem counts bytes.
constexpr size_t k8 = 8, k16 = 16, k32 = 32, k64 = 64, k128 = 128, kmem = 8;

} // namespace

#define SIZED_put(B) put(c, dest, source, nelems *(B / 8), pe, name)
#define SIZED_get(B) get(c, dest, source, nelems *(B / 8), pe, name)
#define SIZED_put_nbi(B) put_nbi(c, dest, source, nelems *(B / 8), pe, name)
#define SIZED_get_nbi(B) get_nbi(c, dest, source, nelems *(B / 8), pe, name)
#define SIZED_iput(B) iput(c, name, as<B>(dest), as<B>(source), dst, sst, nelems, pe)
#define SIZED_iget(B) iget(c, name, as<B>(dest), as<B>(source), dst, sst, nelems, pe)
#define SIZED_ibput(B) ibput(c, name, as<B>(dest), as<B>(source), dst, sst, bsize, nblocks, pe)
#define SIZED_ibget(B) ibget(c, name, as<B>(dest), as<B>(source), dst, sst, bsize, nblocks, pe)
#define SIZED_put_signal(B) put_signal(c, name, dest, source, nelems *(B / 8), sig_addr, signal, sig_op, pe)
#define SIZED_put_signal_nbi(B)                                                                                        \
	put_signal(c, name, dest, source, nelems *(B / 8), sig_addr, signal, sig_op, pe, until::taken)
#define DEFINE(S, STEM, TAIL, P, A)                                                                                    \
	SHMEM_NAME(void, shmem_##STEM##S##TAIL, P)                                                                     \
	{                                                                                                              \
		context *const c = &g_default;                                                                         \
		[[maybe_unused]] const char *const name = "shmem_" #STEM #S #TAIL;                                     \
		SIZED_##STEM##TAIL(k##S);                                                                              \
	}                                                                                                              \
	SHMEM_NAME(void, shmem_ctx_##STEM##S##TAIL, SHMEM_CTX_PARAMS P)                                                \
	{                                                                                                              \
		context *const c = from_handle(ctx);                                                                   \
		[[maybe_unused]] const char *const name = "shmem_ctx_" #STEM #S #TAIL;                                 \
		SIZED_##STEM##TAIL(k##S);                                                                              \
	}
SHMEM_EACH_SIZE(DEFINE)
#undef DEFINE
#undef SIZED_put
#undef SIZED_get
#undef SIZED_put_nbi
#undef SIZED_get_nbi
#undef SIZED_iput
#undef SIZED_iget
#undef SIZED_ibput
#undef SIZED_ibget
#undef SIZED_put_signal
#undef SIZED_put_signal_nbi

// --- signals ---------------------------------------------------------------------------------------------------------

SHMEM_NAME(void, shmem_signal_add, (uint64_t * sig_addr, uint64_t signal, int pe))
{
	signal_op(&g_default, sig_addr, signal, SHMEM_SIGNAL_ADD, pe, "shmem_signal_add");
}
SHMEM_NAME(void, shmem_ctx_signal_add, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))
{
	signal_op(from_handle(ctx), sig_addr, signal, SHMEM_SIGNAL_ADD, pe, "shmem_ctx_signal_add");
}
SHMEM_NAME(void, shmem_signal_set, (uint64_t * sig_addr, uint64_t signal, int pe))
{
	signal_op(&g_default, sig_addr, signal, SHMEM_SIGNAL_SET, pe, "shmem_signal_set");
}
SHMEM_NAME(void, shmem_ctx_signal_set, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))
{
	signal_op(from_handle(ctx), sig_addr, signal, SHMEM_SIGNAL_SET, pe, "shmem_ctx_signal_set");
}
SHMEM_NAME(uint64_t, shmem_signal_fetch, (const uint64_t *sig_addr))
{
	if (PGAS_UNLIKELY(g_shmem.devices)) {
		uint64_t now;
		device_read(&now, sig_addr, sizeof now);
		return now;
	}
	return pgas_load_acquire(sig_addr);
}
