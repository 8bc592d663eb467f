// SPDX-License-Identifier: BSD-3-Clause
//
// Random words, and the proof that a peer knows a secret: SipHash-2-4 (Aumasson and Bernstein) with a 128-bit result,
// keyed with the secret. For our own libraries: C++, inline, not installed.
#pragma once

#include "pgas_random.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas {

using secret = std::array<uint64_t, 2>;

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

class siphash {
public:
	explicit siphash(const secret &key)
		: v0_(key[0] ^ 0x736f6d6570736575), v1_(key[1] ^ 0x646f72616e646f6d ^ 0xee),
		  v2_(key[0] ^ 0x6c7967656e657261), v3_(key[1] ^ 0x7465646279746573)
	{
	}
	void add(uint64_t word)
	{
		v3_ ^= word;
		run_rounds(2);
		v0_ ^= word;
	}
	// The text that was added has `len` bytes, of which the last `len` % 8 are at `tail`.
	secret finish(const unsigned char *tail, size_t len)
	{
		uint64_t last = static_cast<uint64_t>(len) << 56;
		if (len % 8)
			memcpy(&last, tail, len % 8);
		add(last);
		v2_ ^= 0xee;
		run_rounds(4);
		const uint64_t first = sum();
		v1_ ^= 0xdd;
		run_rounds(4);
		return {first, sum()};
	}

private:
	uint64_t v0_, v1_, v2_, v3_;

	void run_rounds(int count)
	{
		while (count--) {
			v0_ += v1_;
			v1_ = std::rotl(v1_, 13) ^ v0_;
			v0_ = std::rotl(v0_, 32);
			v2_ += v3_;
			v3_ = std::rotl(v3_, 16) ^ v2_;
			v0_ += v3_;
			v3_ = std::rotl(v3_, 21) ^ v0_;
			v2_ += v1_;
			v1_ = std::rotl(v1_, 17) ^ v2_;
			v2_ = std::rotl(v2_, 32);
		}
	}
	uint64_t sum() const { return v0_ ^ v1_ ^ v2_ ^ v3_; }
};

inline secret mac_of(const secret &key, const void *bytes, size_t len)
{
	siphash hash(key);
	const auto *text = static_cast<const unsigned char *>(bytes);
	for (size_t left = len; left >= 8; left -= 8, text += 8) {
		uint64_t word;
		memcpy(&word, text, 8);
		hash.add(word);
	}
	return hash.finish(text, len);
}

// From a client's key of any length.
inline secret secret_from(const void *bytes, size_t len)
{
	secret exact{};
	if (len != sizeof exact)
		return mac_of({}, bytes, len);
	memcpy(&exact, bytes, len);
	return exact;
}

// Takes the same time wherever they differ.
inline bool same_mac(const uint64_t *a, const uint64_t *b)
{
	return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

// False: the kernel provides no random numbers, and random_word() would end the process.
inline bool random_available()
{
	uint64_t word;
	return random_fill(&word, sizeof word);
}

// Never 0.
inline uint64_t random_word()
{
	uint64_t word = 0;
	while (!word)
		if (!random_fill(&word, sizeof word)) {
			fputs("pgas: the kernel refuses random numbers (getrandom, /dev/urandom): nothing can be "
			      "proven to other hosts without them\n",
			      stderr);
			abort();
		}
	return word;
}

} // namespace pgas
