// SPDX-License-Identifier: BSD-3-Clause
//
// An object file as it is on disk: its sections, with bounds.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>

namespace pgas_tools {

class image {
public:
	explicit image(const char *path);
	~image();
	image(const image &) = delete;
	image &operator=(const image &) = delete;

	template <class T>
	const T *at(size_t offset, size_t count = 1) const
	{
		return offset <= bytes_ && count <= (bytes_ - offset) / sizeof(T) && offset % alignof(T) == 0
			       ? reinterpret_cast<const T *>(base_ + offset)
			       : nullptr;
	}
	const Elf64_Ehdr *head() const; // null: not such a file
	const Elf64_Shdr *sections() const;

	struct bytes {
		const uint8_t *begin = nullptr, *end = nullptr;
	};
	bytes section(const char *name) const; // empty if there is none, or it is compressed

private:
	const char *base_ = nullptr;
	size_t bytes_ = 0;
};

} // namespace pgas_tools
