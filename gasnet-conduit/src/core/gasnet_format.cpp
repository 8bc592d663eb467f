// SPDX-License-Identifier: BSD-3-Clause
//
// Formats lists and strides of transfers, and GASNet-EX masks, as text for messages of programs. The caller passes a
// buffer of the size that *_bufsz returns.
#include "gasnet_objects.hpp"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>

#include <gasnet.h>
#include <gasnet_tools.h>

namespace {

constexpr size_t kSummaryBytes = 160; // totals, bounds, brackets
constexpr size_t kEntry = 48;         // an address and a length, or a number, with separators

// A text that grows up to the size of its buffer.
class writer {
public:
	writer(char *dst, size_t room) : to_(dst), left_(room) {}
	[[gnu::format(printf, 2, 3)]] void add(const char *format, ...)
	{
		va_list args;
		va_start(args, format);
		const int n = vsnprintf(to_, left_, format, args);
		va_end(args);
		const size_t used = n < 0 ? 0 : static_cast<size_t>(n) < left_ ? static_cast<size_t>(n) : left_ - 1;
		to_ += used;
		left_ -= used;
	}

private:
	char *to_;
	size_t left_;
};

struct bounds {
	uintptr_t low = UINTPTR_MAX, high = 0;
	void take(const void *addr, size_t len)
	{
		const auto begin = reinterpret_cast<uintptr_t>(addr);
		if (!len)
			return;
		low = begin < low ? begin : low;
		high = begin + len - 1 > high ? begin + len - 1 : high;
	}
	void *first() const { return reinterpret_cast<void *>(high ? low : 0); }
	void *last() const { return reinterpret_cast<void *>(high); }
};

void add_number(writer &out, const char *before, size_t n)
{
	out.add("%s%zu", before, n);
}

void add_number(writer &out, const char *before, ptrdiff_t n)
{
	out.add("%s%td", before, n);
}

template <class Number>
void add_strides(writer &out, size_t count, const Number *list)
{
	out.add("[");
	for (size_t i = 0; i < count; i++)
		add_number(out, i ? ", " : "", list[i]);
	out.add("]");
}

struct named_bit {
	uint32_t bit;
	const char *name;
};

// Names with | between them; bits without a name follow as a number.
template <size_t Count>
size_t format_mask(char *buf, uint32_t mask, const named_bit (&bits)[Count])
{
	std::string text;
	for (const named_bit &b : bits)
		if (mask & b.bit) {
			text += (text.empty() ? "" : "|") + std::string(b.name);
			mask &= ~b.bit;
		}
	if (mask || text.empty()) {
		char rest[16];
		snprintf(rest, sizeof rest, "0x%" PRIx32, mask);
		text += (text.empty() ? "" : "|") + std::string(rest);
	}
	if (buf)
		memcpy(buf, text.c_str(), text.size() + 1);
	return text.size() + 1;
}

} // namespace

extern "C" size_t gasnett_format_memveclist_bufsz(size_t count)
{
	return kSummaryBytes + count * kEntry;
}

extern "C" gasnett_memveclist_stats_t gasnett_format_memveclist(char *buf, size_t count, gasnet_memvec_t const *list)
{
	gasnett_memveclist_stats_t s{};
	bounds all;
	s.minsz = count ? SIZE_MAX : 0;
	for (size_t i = 0; i < count; i++) {
		s.minsz = list[i].len < s.minsz ? list[i].len : s.minsz;
		s.maxsz = list[i].len > s.maxsz ? list[i].len : s.maxsz;
		s.totalsz += list[i].len;
		all.take(list[i].addr, list[i].len);
	}
	s.minaddr = all.first();
	s.maxaddr = all.last();
	writer out(buf, gasnett_format_memveclist_bufsz(count));
	out.add("%zu entries, %zu bytes, %p to %p: {", count, s.totalsz, s.minaddr, s.maxaddr);
	for (size_t i = 0; i < count; i++)
		out.add("%s{%p, %zu}", i ? ", " : "", list[i].addr, list[i].len);
	out.add("}");
	return s;
}

extern "C" size_t gasnett_format_addrlist_bufsz(size_t count)
{
	return kSummaryBytes + count * kEntry;
}

extern "C" gasnett_addrlist_stats_t gasnett_format_addrlist(char *buf, size_t count, void *const *list, size_t len)
{
	gasnett_addrlist_stats_t s{};
	bounds all;
	for (size_t i = 0; i < count; i++)
		all.take(list[i], len);
	s.minaddr = all.first();
	s.maxaddr = all.last();
	writer out(buf, gasnett_format_addrlist_bufsz(count));
	out.add("%zu entries of %zu bytes, %p to %p: {", count, len, s.minaddr, s.maxaddr);
	for (size_t i = 0; i < count; i++)
		out.add("%s%p", i ? ", " : "", list[i]);
	out.add("}");
	return s;
}

extern "C" size_t gasnett_format_strides_bufsz(size_t count)
{
	return kSummaryBytes + count * kEntry;
}

extern "C" void gasnett_format_strides(char *buf, size_t count, const size_t *list)
{
	writer out(buf, gasnett_format_strides_bufsz(count));
	add_strides(out, count, list);
}

extern "C" size_t gasnett_format_putsgets_bufsz(size_t stridelevels)
{
	return kSummaryBytes + 3 * (stridelevels + 1) * kEntry;
}

// Returns the number of bytes that the transfer moves. There are no statistics to fill in.
extern "C" size_t gasnett_format_putsgets(char *buf, void *, gasnet_node_t node, void *dstaddr,
					  const size_t dststrides[], void *srcaddr, const size_t srcstrides[],
					  const size_t count[], size_t stridelevels)
{
	size_t bytes = count[0];
	for (size_t i = 1; i <= stridelevels; i++)
		bytes *= count[i];
	writer out(buf, gasnett_format_putsgets_bufsz(stridelevels));
	out.add("%zu bytes with node %u, %zu levels, counts ", bytes, node, stridelevels);
	add_strides(out, stridelevels + 1, count);
	out.add(", to %p ", dstaddr);
	add_strides(out, stridelevels, dststrides);
	out.add(", from %p ", srcaddr);
	add_strides(out, stridelevels, srcstrides);
	return bytes;
}

extern "C" size_t gasnett_format_putvgetv_bufsz(size_t dstcount, size_t srccount)
{
	return kSummaryBytes + gasnett_format_memveclist_bufsz(dstcount) + gasnett_format_memveclist_bufsz(srccount);
}

extern "C" size_t gasnett_format_putvgetv(char *buf, gasnet_node_t node, size_t dstcount,
					  gasnet_memvec_t const dstlist[], size_t srccount,
					  gasnet_memvec_t const srclist[])
{
	char *pos = buf + snprintf(buf, kSummaryBytes, "with node %u, to ", node);
	const size_t bytes = gasnett_format_memveclist(pos, dstcount, dstlist).totalsz;
	pos += strlen(pos);
	pos += snprintf(pos, kSummaryBytes / 2, ", from ");
	gasnett_format_memveclist(pos, srccount, srclist);
	return bytes;
}

extern "C" size_t gasnett_format_putigeti_bufsz(size_t dstcount, size_t srccount)
{
	return kSummaryBytes + gasnett_format_addrlist_bufsz(dstcount) + gasnett_format_addrlist_bufsz(srccount);
}

extern "C" size_t gasnett_format_putigeti(char *buf, gasnet_node_t node, size_t dstcount, void *const dstlist[],
					  size_t dstlen, size_t srccount, void *const srclist[], size_t srclen)
{
	char *pos = buf + snprintf(buf, kSummaryBytes, "with node %u, to ", node);
	gasnett_format_addrlist(pos, dstcount, dstlist, dstlen);
	pos += strlen(pos);
	pos += snprintf(pos, kSummaryBytes / 2, ", from ");
	gasnett_format_addrlist(pos, srccount, srclist, srclen);
	return dstcount * dstlen;
}

// --- the same for GASNet-EX ------------------------------------------------------------------------------------------

extern "C" size_t gasneti_format_putvgetv(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
					  gex_Memvec_t const dstlist[], size_t srccount, gex_Memvec_t const srclist[])
{
	static_assert(sizeof(gex_Memvec_t) == sizeof(gasnet_memvec_t) &&
		      offsetof(gex_Memvec_t, gex_len) == offsetof(gasnet_memvec_t, len));
	return gasnett_format_putvgetv(buf, gasnet::team_jobrank("gasnett_format_putvgetv", tm, rank), dstcount,
				       reinterpret_cast<const gasnet_memvec_t *>(dstlist), srccount,
				       reinterpret_cast<const gasnet_memvec_t *>(srclist));
}

extern "C" size_t gasneti_format_putigeti(char *buf, gex_TM_t tm, gex_Rank_t rank, size_t dstcount,
					  void *const dstlist[], size_t dstlen, size_t srccount, void *const srclist[],
					  size_t srclen)
{
	return gasnett_format_putigeti(buf, gasnet::team_jobrank("gasnett_format_putigeti", tm, rank), dstcount,
				       dstlist, dstlen, srccount, srclist, srclen);
}

extern "C" void gasneti_format_strides(char *buf, size_t count, const ptrdiff_t *list)
{
	writer out(buf, gasnett_format_strides_bufsz(count));
	add_strides(out, count, list);
}

extern "C" size_t gasneti_format_putsgets(char *buf, void *, gex_TM_t tm, gex_Rank_t rank, void *dstaddr,
					  const ptrdiff_t dststrides[], void *srcaddr, const ptrdiff_t srcstrides[],
					  size_t elemsz, const size_t count[], size_t stridelevels)
{
	size_t bytes = elemsz;
	for (size_t i = 0; i < stridelevels; i++)
		bytes *= count[i];
	writer out(buf, gasnett_format_putsgets_bufsz(stridelevels));
	out.add("%zu bytes with node %u, %zu levels, elements of %zu bytes, counts ", bytes,
		gasnet::team_jobrank("gasnett_format_putsgets", tm, rank), stridelevels, elemsz);
	add_strides(out, stridelevels, count);
	out.add(", to %p ", dstaddr);
	add_strides(out, stridelevels, dststrides);
	out.add(", from %p ", srcaddr);
	add_strides(out, stridelevels, srcstrides);
	return bytes;
}

extern "C" size_t gasnett_format_dt(char *buf, gex_DT_t dt) noexcept
{
	static constexpr named_bit bits[] = {{GEX_DT_I32, "GEX_DT_I32"},  {GEX_DT_U32, "GEX_DT_U32"},
					     {GEX_DT_I64, "GEX_DT_I64"},  {GEX_DT_U64, "GEX_DT_U64"},
					     {GEX_DT_FLT, "GEX_DT_FLT"},  {GEX_DT_DBL, "GEX_DT_DBL"},
					     {GEX_DT_USER, "GEX_DT_USER"}};
	return format_mask(buf, dt, bits);
}

extern "C" size_t gasnett_format_op(char *buf, gex_OP_t op) noexcept
{
	static constexpr named_bit bits[] = {
		{GEX_OP_ADD, "GEX_OP_ADD"},     {GEX_OP_SUB, "GEX_OP_SUB"},         {GEX_OP_INC, "GEX_OP_INC"},
		{GEX_OP_DEC, "GEX_OP_DEC"},     {GEX_OP_MULT, "GEX_OP_MULT"},       {GEX_OP_MIN, "GEX_OP_MIN"},
		{GEX_OP_MAX, "GEX_OP_MAX"},     {GEX_OP_AND, "GEX_OP_AND"},         {GEX_OP_OR, "GEX_OP_OR"},
		{GEX_OP_XOR, "GEX_OP_XOR"},     {GEX_OP_SET, "GEX_OP_SET"},         {GEX_OP_CAS, "GEX_OP_CAS"},
		{GEX_OP_USER, "GEX_OP_USER"},   {GEX_OP_USER_NC, "GEX_OP_USER_NC"}, {GEX_OP_FADD, "GEX_OP_FADD"},
		{GEX_OP_FSUB, "GEX_OP_FSUB"},   {GEX_OP_FINC, "GEX_OP_FINC"},       {GEX_OP_FDEC, "GEX_OP_FDEC"},
		{GEX_OP_FMULT, "GEX_OP_FMULT"}, {GEX_OP_FMIN, "GEX_OP_FMIN"},       {GEX_OP_FMAX, "GEX_OP_FMAX"},
		{GEX_OP_FAND, "GEX_OP_FAND"},   {GEX_OP_FOR, "GEX_OP_FOR"},         {GEX_OP_FXOR, "GEX_OP_FXOR"},
		{GEX_OP_SWAP, "GEX_OP_SWAP"},   {GEX_OP_FCAS, "GEX_OP_FCAS"},       {GEX_OP_GET, "GEX_OP_GET"}};
	return format_mask(buf, op, bits);
}

extern "C" size_t gasnett_format_ti(char *buf, gex_TI_t ti) noexcept
{
	static constexpr named_bit bits[] = {{GEX_TI_SRCRANK, "GEX_TI_SRCRANK"},
					     {GEX_TI_EP, "GEX_TI_EP"},
					     {GEX_TI_ENTRY, "GEX_TI_ENTRY"},
					     {GEX_TI_IS_REQ, "GEX_TI_IS_REQ"},
					     {GEX_TI_IS_LONG, "GEX_TI_IS_LONG"}};
	return format_mask(buf, static_cast<uint32_t>(ti), bits);
}
