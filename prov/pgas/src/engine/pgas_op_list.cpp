// SPDX-License-Identifier: BSD-3-Clause
//
// The kept operations of an endpoint: add, remove, and the memory of those that are over.
#include "pgas_op_list.hpp"

#include <memory>

namespace pgas {
namespace {

constexpr size_t kBucketsLeast = 64;
constexpr size_t kSparesMost = 1024;    // kept for later operations
constexpr size_t kCopyBytesMost = 4096; // of a spare one: what an injected operation needs, not a staged one

} // namespace

op_list::~op_list()
{
	for (node *list : {first_, spare_})
		while (list)
			list = std::unique_ptr<node>(list)->next;
}

op_list::node *op_list::take_spare()
{
	if (!spare_)
		return std::make_unique<node>().release();
	node *n = spare_;
	spare_ = n->next;
	spares_--;
	return n;
}

// Numbers are consecutive, so that buckets get as many of them each.
void op_list::add_buckets()
{
	buckets_.assign(buckets_.empty() ? kBucketsLeast : 2 * buckets_.size(), nullptr);
	for (node *n = first_; n; n = n->next) {
		n->chain = bucket(n->id);
		bucket(n->id) = n;
	}
}

op &op_list::add(op &&o, uint64_t id)
{
	if (size_ == buckets_.size())
		add_buckets();
	node *n = take_spare();
	std::vector<char> room = std::move(n->copy);
	static_cast<op &>(*n) = std::move(o);
	if (n->copy.empty())
		n->copy = std::move(room);
	n->id = id;
	n->next = nullptr;
	n->prev = last_;
	(last_ ? last_->next : first_) = n;
	last_ = n;
	n->chain = bucket(id);
	bucket(id) = n;
	size_++;
	return *n;
}

void op_list::remove(op &o)
{
	node *n = &static_cast<node &>(o);
	(n->prev ? n->prev->next : first_) = n->next;
	(n->next ? n->next->prev : last_) = n->prev;
	node **chain = &bucket(n->id);
	while (*chain != n)
		chain = &(*chain)->chain;
	*chain = n->chain;
	size_--;
	if (spares_ == kSparesMost) {
		std::unique_ptr<node>{n}.reset();
		return;
	}
	n->hmem.reset();
	n->copy.clear();
	if (n->copy.capacity() > kCopyBytesMost)
		n->copy = {};
	n->next = spare_;
	spare_ = n;
	spares_++;
}

} // namespace pgas
