// SPDX-License-Identifier: BSD-3-Clause
//
// Signatures of packets: SipHash-2-4 with a 128-bit result, as in pgas_proof.hpp. Each step of a SipHash depends on the
// one before, so that it reads eight bytes in eleven cycles. A long packet is split over eight of them at once:
//
//   lane i (0 to 7)   SipHash(key, kLane + i, number, words i, i + 8, i + 16 ... of the packet)
//   signature         SipHash(key, kLane + 8, number, bytes of the packet, the results of the lanes, what is left over)
//   a short packet    SipHash(key, number, the packet)
//
// The first word tells these apart, and no packet has such a number. Each is the plain function, so tests can compare
// the whole with mac_of().
#include "net_sign.hpp"

#include <cstring>

namespace pgas {
namespace {

constexpr uint64_t kLane = ~uint64_t{0xff};
constexpr size_t kLanes = 8, kGroup = 8 * kLanes;
constexpr size_t kLongFrom = 512; // bytes of a packet

// Text for the lanes: whole groups, in which the eight bytes at `hole` are read as `filling`.
struct lane_text {
	uint64_t number;
	const char *bytes;
	size_t len, hole;
	uint64_t filling;
};

// Eight lanes in vectors of kWide words.
template <size_t kWide>
struct sip_lanes {
	static constexpr size_t kVectors = kLanes / kWide;
	typedef uint64_t vec __attribute__((vector_size(8 * kWide)));
	struct words {
		vec part[kVectors];
	};
	words v0, v1, v2, v3;

	[[gnu::always_inline]] static words all_of(uint64_t word)
	{
		words all;
#pragma GCC unroll 8
		for (size_t k = 0; k < kVectors; k++)
			all.part[k] = vec{} + word;
		return all;
	}
	[[gnu::always_inline]] static words read(const void *src)
	{
		words w;
		memcpy(&w, src, sizeof w);
		return w;
	}
	[[gnu::always_inline]] static void mix(words &into, const words &with)
	{
#pragma GCC unroll 8
		for (size_t k = 0; k < kVectors; k++)
			into.part[k] ^= with.part[k];
	}
	[[gnu::always_inline]] static void rotate(vec &v, int step)
	{
		v = v << step | v >> (64 - step);
	}
	[[gnu::always_inline]] static void round_of(vec &a, vec &b, vec &c, vec &d)
	{
		a += b;
		rotate(b, 13);
		b ^= a;
		rotate(a, 32);
		c += d;
		rotate(d, 16);
		d ^= c;
		a += d;
		rotate(d, 21);
		d ^= a;
		c += b;
		rotate(b, 17);
		b ^= c;
		rotate(c, 32);
	}
	[[gnu::always_inline]] explicit sip_lanes(const secret &key)
		: v0(all_of(key[0] ^ 0x736f6d6570736575)), v1(all_of(key[1] ^ 0x646f72616e646f6d ^ 0xee)),
		  v2(all_of(key[0] ^ 0x6c7967656e657261)), v3(all_of(key[1] ^ 0x7465646279746573))
	{
	}
	template <int kRounds>
	[[gnu::always_inline]] void rounds()
	{
#pragma GCC unroll 4
		for (int i = 0; i < kRounds; i++)
#pragma GCC unroll 8
			for (size_t k = 0; k < kVectors; k++)
				round_of(v0.part[k], v1.part[k], v2.part[k], v3.part[k]);
	}
	[[gnu::always_inline]] void add(const words &w)
	{
		mix(v3, w);
		rounds<2>();
		mix(v0, w);
	}
	[[gnu::always_inline]] void sum_to(uint64_t *out) const
	{
		words sum = v0;
		mix(sum, v1);
		mix(sum, v2);
		mix(sum, v3);
		memcpy(out, &sum, sizeof sum);
	}
};

// Writes the first words of all results, then the second ones.
template <size_t kWide>
[[gnu::always_inline]] inline void run_lanes(const secret &key, const lane_text &text, uint64_t *out)
{
	using sip = sip_lanes<kWide>;
	uint64_t group[kLanes];
	for (size_t i = 0; i < kLanes; i++)
		group[i] = kLane + i;
	sip s(key);
	s.add(sip::read(group));
	s.add(sip::all_of(text.number));
	for (size_t pos = 0; pos < text.len; pos += kGroup) {
		const char *src = text.bytes + pos;
		if (pos == text.hole / kGroup * kGroup) [[unlikely]] {
			memcpy(group, src, sizeof group);
			group[text.hole % kGroup / 8] = text.filling;
			src = reinterpret_cast<const char *>(group);
		}
		s.add(sip::read(src));
	}
	s.add(sip::all_of(static_cast<uint64_t>(16 + text.len / kLanes) << 56)); // the length, as SipHash ends a text
	sip::mix(s.v2, sip::all_of(0xee));
	s.template rounds<4>();
	s.sum_to(out);
	sip::mix(s.v1, sip::all_of(0xdd));
	s.template rounds<4>();
	s.sum_to(out + kLanes);
}

using lanes_function = void (*)(const secret &key, const lane_text &text, uint64_t *out);

void run_plain(const secret &key, const lane_text &text, uint64_t *out)
{
	run_lanes<2>(key, text, out);
}

#if defined(__x86_64__)
// Wider vectors; the last ones rotate with one instruction.
[[gnu::target("avx2")]] void run_avx2(const secret &key, const lane_text &text, uint64_t *out)
{
	run_lanes<4>(key, text, out);
}
[[gnu::target("avx512f")]] void run_avx512(const secret &key, const lane_text &text, uint64_t *out)
{
	run_lanes<8>(key, text, out);
}

lanes_function best_lanes()
{
	static const lanes_function best = __builtin_cpu_supports("avx512f") ? run_avx512
					   : __builtin_cpu_supports("avx2")  ? run_avx2
									     : run_plain;
	return best;
}
#else
lanes_function best_lanes()
{
	return run_plain;
}
#endif

uint64_t sign_short(const secret &key, const lane_text &packet)
{
	char text[8 + kLongFrom];
	memcpy(text, &packet.number, 8);
	memcpy(text + 8, packet.bytes, packet.len);
	memcpy(text + 8 + packet.hole, &packet.filling, 8);
	return mac_of(key, text, 8 + packet.len)[0];
}

} // namespace

uint64_t sign_packet(const secret &key, uint64_t number, const char *bytes, size_t len, size_t hole, uint64_t filling)
{
	if (len < kLongFrom)
		return sign_short(key, {number, bytes, len, hole, filling});
	const size_t whole = len / kGroup * kGroup, rest = len - whole;
	struct {
		uint64_t kind, number, bytes, results[2 * kLanes];
		char rest[kGroup];
	} last = {kLane + kLanes, number, len, {}, {}};
	best_lanes()(key, {number, bytes, whole, hole, filling}, last.results);
	memcpy(last.rest, bytes + whole, rest);
	return mac_of(key, &last, sizeof last - kGroup + rest)[0];
}

} // namespace pgas
