// SPDX-License-Identifier: BSD-3-Clause
// boot_kvs.cpp: bytes of any length in a PMI key-value space, which takes short printable strings under short keys.
//
// Value i of a key is stored under "pg<rank>.<key>.<i>" as hexadecimal; value 0 begins with the length and a dot.
// Hexadecimal, because the PMI-1 wire splits at blanks and '=' and the PMI-2 wire at ';'.
#include "boot.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace pgas::boot {
namespace {

constexpr size_t kHeadRoom = 24; // "<length>."

std::string piece_key(int rank, const char *key, size_t piece)
{
	char text[64];
	snprintf(text, sizeof text, "pg%d.%s.%zu", rank, key, piece);
	return text;
}

size_t bytes_per_piece(const text_kvs &kvs)
{
	return (kvs.value_room - kHeadRoom) / 2;
}

int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

int kvs_put(const text_kvs &kvs, int rank, const char *key, const void *value, size_t bytes)
{
	const unsigned char *src = static_cast<const unsigned char *>(value);
	const size_t step = bytes_per_piece(kvs);
	size_t pos = 0;
	for (size_t piece = 0; piece == 0 || pos < bytes; piece++) {
		std::string text = piece == 0 ? std::to_string(bytes) + "." : "";
		for (size_t end = bytes - pos < step ? bytes : pos + step; pos < end; pos++) {
			text += "0123456789abcdef"[src[pos] >> 4];
			text += "0123456789abcdef"[src[pos] & 15];
		}
		if (piece > 0 && text.empty())
			break;
		if (int rc = kvs.put_text(piece_key(rank, key, piece).c_str(), text.c_str()))
			return rc;
	}
	return 0;
}

ssize_t kvs_get(const text_kvs &kvs, int rank, const char *key, void *value, size_t room)
{
	std::string text(kvs.value_room + 1, '\0');
	size_t bytes = 0, pos = 0;
	for (size_t piece = 0; piece == 0 || pos < bytes; piece++) {
		if (int rc = kvs.get_text(rank, piece_key(rank, key, piece).c_str(), text.data(), text.size()))
			return rc;
		const char *hex = text.c_str();
		if (piece == 0) {
			char *dot;
			bytes = strtoull(hex, &dot, 10);
			if (dot == hex || *dot != '.')
				return -EPROTO;
			hex = dot + 1;
			if (room == 0)
				break; // the caller wants only the length
		}
		if (bytes > pos && !*hex)
			return -EPROTO;
		for (; pos < bytes && hex[0] && hex[1]; hex += 2, pos++) {
			int high = nibble(hex[0]), low = nibble(hex[1]);
			if (high < 0 || low < 0)
				return -EPROTO;
			if (pos < room)
				static_cast<unsigned char *>(value)[pos] = static_cast<unsigned char>(high << 4 | low);
		}
		if (pos >= room)
			break;
	}
	return static_cast<ssize_t>(bytes);
}

} // namespace pgas::boot
