// SPDX-License-Identifier: BSD-3-Clause
//
// SipHash-2-4 (Aumasson and Bernstein) with a 128-bit result, and random words.
#include "pgas_proof.hpp"
#include "pgas_random.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas {
namespace {

struct sip {
	uint64_t v0, v1, v2, v3;

	explicit sip(const secret &key)
		: v0(key[0] ^ 0x736f6d6570736575), v1(key[1] ^ 0x646f72616e646f6d ^ 0xee),
		  v2(key[0] ^ 0x6c7967656e657261), v3(key[1] ^ 0x7465646279746573)
	{
	}
	void rounds(int n)
	{
		while (n--) {
			v0 += v1;
			v1 = std::rotl(v1, 13) ^ v0;
			v0 = std::rotl(v0, 32);
			v2 += v3;
			v3 = std::rotl(v3, 16) ^ v2;
			v0 += v3;
			v3 = std::rotl(v3, 21) ^ v0;
			v2 += v1;
			v1 = std::rotl(v1, 17) ^ v2;
			v2 = std::rotl(v2, 32);
		}
	}
	void add(uint64_t word)
	{
		v3 ^= word;
		rounds(2);
		v0 ^= word;
	}
	uint64_t sum() const { return v0 ^ v1 ^ v2 ^ v3; }
};

} // namespace

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

namespace {

// Adds the last word of a text of `len` bytes, of which the last `len` % 8 are at `tail`, and finalizes.
secret finish(sip &s, const unsigned char *tail, size_t len)
{
	uint64_t last = static_cast<uint64_t>(len) << 56;
	memcpy(&last, tail, len % 8);
	s.add(last);
	s.v2 ^= 0xee;
	s.rounds(4);
	const uint64_t first = s.sum();
	s.v1 ^= 0xdd;
	s.rounds(4);
	return {first, s.sum()};
}

void add_words(sip &s, const unsigned char *src, size_t bytes)
{
	for (; bytes >= 8; bytes -= 8, src += 8) {
		uint64_t word;
		memcpy(&word, src, 8);
		s.add(word);
	}
}

} // namespace

secret mac_of(const secret &key, const void *bytes, size_t len)
{
	sip s(key);
	const auto *text = static_cast<const unsigned char *>(bytes);
	add_words(s, text, len);
	return finish(s, text + len / 8 * 8, len);
}

secret secret_from(const void *bytes, size_t len)
{
	secret exact{};
	if (len == sizeof exact) {
		memcpy(&exact, bytes, len);
		return exact;
	}
	return mac_of({}, bytes, len);
}

bool same_mac(const uint64_t *a, const uint64_t *b)
{
	return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

bool random_available()
{
	uint64_t word;
	return random_fill(&word, sizeof word);
}

uint64_t random_word()
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
