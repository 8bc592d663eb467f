// SPDX-License-Identifier: BSD-3-Clause
//
// The operations that a wire keeps for an endpoint: in the order of submission, and found by number in constant time.
// An operation that is over leaves its memory to the next one, so an endpoint that keeps no more operations than before
// allocates nothing.
#pragma once

#include <cstddef>
#include <vector>

#include "pgas_op.hpp"

namespace pgas {

class op_list {
	struct node : op {
		node *next = nullptr, *prev = nullptr; // in the list; next also among the spare ones
		node *chain = nullptr;                 // the next in its bucket
	};

public:
	template <class Op>
	class iterator {
	public:
		explicit iterator(node *n) : node_(n) {}
		Op &operator*() const { return *node_; }
		iterator &operator++()
		{
			node_ = node_->next;
			return *this;
		}
		bool operator==(const iterator &) const = default;

	private:
		node *node_;
	};

	op_list() = default;
	op_list(const op_list &) = delete;
	~op_list();

	// Takes an operation over. `id` is greater than those of all operations that were added before.
	op &add(op &&o, uint64_t id);
	void remove(op &o);
	op *find(uint64_t id) const // null: no such operation
	{
		node *n = buckets_.empty() ? nullptr : bucket(id);
		while (n && n->id != id)
			n = n->chain;
		return n;
	}
	bool empty() const { return !first_; }
	size_t size() const { return size_; }
	const op &front() const { return *first_; }
	iterator<op> begin() { return iterator<op>(first_); }
	iterator<op> end() { return iterator<op>(nullptr); }
	iterator<const op> begin() const { return iterator<const op>(first_); }
	iterator<const op> end() const { return iterator<const op>(nullptr); }

private:
	node *const &bucket(uint64_t id) const { return buckets_[id & (buckets_.size() - 1)]; }
	node *&bucket(uint64_t id) { return buckets_[id & (buckets_.size() - 1)]; }
	node *take_spare();
	void add_buckets();

	node *first_ = nullptr, *last_ = nullptr;
	size_t size_ = 0;
	node *spare_ = nullptr;
	size_t spares_ = 0;
	std::vector<node *> buckets_; // a power of two, at least size_
};

} // namespace pgas
