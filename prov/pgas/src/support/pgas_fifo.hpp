// SPDX-License-Identifier: BSD-3-Clause
//
// First in, first out, in one block of memory that doubles when it is full and never shrinks: a queue that has seen its
// largest load allocates no more. For trivially copyable entries.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

namespace pgas {

template <class T>
class fifo {
	static_assert(std::is_trivially_copyable_v<T>);

public:
	bool empty() const { return head_ == tail_; }
	size_t size() const { return tail_ - head_; }
	T &front() { return cells_[head_ & mask_]; }
	void pop_front() { head_++; }
	void push_back(const T &v)
	{
		if (size() == capacity_) [[unlikely]]
			grow();
		cells_[tail_++ & mask_] = v;
	}

private:
	void grow()
	{
		const size_t more = capacity_ ? 2 * capacity_ : 64;
		auto cells = std::make_unique<T[]>(more);
		for (size_t i = head_; i != tail_; i++)
			cells[i & (more - 1)] = cells_[i & mask_];
		cells_ = std::move(cells);
		capacity_ = more;
		mask_ = more - 1;
	}

	std::unique_ptr<T[]> cells_;
	size_t head_ = 0, tail_ = 0; // running; tail_ - head_ <= capacity_
	size_t capacity_ = 0, mask_ = 0;
};

} // namespace pgas
