// SPDX-License-Identifier: BSD-3-Clause
//
// Lists and strides of transfers as text, for messages of programs. The caller brings a buffer of the size that
// *_bufsz answers.
#include <gasnet.h>
#include <gasnet_tools.h>

#include <cstdarg>
#include <cstdio>

namespace {

constexpr size_t kHead = 160; // totals, bounds, brackets
constexpr size_t kEntry = 48; // an address and a length, or a number, with what separates them

// A text that grows up to the size of its buffer.
class writer {
public:
	writer(char *to, size_t room) : to_(to), left_(room) {}
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
	void take(const void *at, size_t len)
	{
		const auto from = reinterpret_cast<uintptr_t>(at);
		if (!len)
			return;
		low = from < low ? from : low;
		high = from + len - 1 > high ? from + len - 1 : high;
	}
	void *first() const { return reinterpret_cast<void *>(high ? low : 0); }
	void *last() const { return reinterpret_cast<void *>(high); }
};

void add_strides(writer &out, size_t count, const size_t *list)
{
	out.add("[");
	for (size_t i = 0; i < count; i++)
		out.add("%s%zu", i ? ", " : "", list[i]);
	out.add("]");
}

} // namespace

extern "C" size_t gasnett_format_memveclist_bufsz(size_t count)
{
	return kHead + count * kEntry;
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
	return kHead + count * kEntry;
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
	return kHead + count * kEntry;
}

extern "C" void gasnett_format_strides(char *buf, size_t count, const size_t *list)
{
	writer out(buf, gasnett_format_strides_bufsz(count));
	add_strides(out, count, list);
}

extern "C" size_t gasnett_format_putsgets_bufsz(size_t stridelevels)
{
	return kHead + 3 * (stridelevels + 1) * kEntry;
}

// Returns the bytes of the transfer. There are no statistics to be filled.
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
	return kHead + gasnett_format_memveclist_bufsz(dstcount) + gasnett_format_memveclist_bufsz(srccount);
}

extern "C" size_t gasnett_format_putvgetv(char *buf, gasnet_node_t node, size_t dstcount,
					  gasnet_memvec_t const dstlist[], size_t srccount,
					  gasnet_memvec_t const srclist[])
{
	char *at = buf + snprintf(buf, kHead, "with node %u, to ", node);
	const size_t bytes = gasnett_format_memveclist(at, dstcount, dstlist).totalsz;
	at += strlen(at);
	at += snprintf(at, kHead / 2, ", from ");
	gasnett_format_memveclist(at, srccount, srclist);
	return bytes;
}

extern "C" size_t gasnett_format_putigeti_bufsz(size_t dstcount, size_t srccount)
{
	return kHead + gasnett_format_addrlist_bufsz(dstcount) + gasnett_format_addrlist_bufsz(srccount);
}

extern "C" size_t gasnett_format_putigeti(char *buf, gasnet_node_t node, size_t dstcount, void *const dstlist[],
					  size_t dstlen, size_t srccount, void *const srclist[], size_t srclen)
{
	char *at = buf + snprintf(buf, kHead, "with node %u, to ", node);
	gasnett_format_addrlist(at, dstcount, dstlist, dstlen);
	at += strlen(at);
	at += snprintf(at, kHead / 2, ", from ");
	gasnett_format_addrlist(at, srccount, srclist, srclen);
	return dstcount * dstlen;
}
