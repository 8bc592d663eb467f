// SPDX-License-Identifier: BSD-3-Clause
// boot_unique_guest.hpp: the server's end of one connection of a job with a unique id: what arrived and what waits to
// leave, the greeting and the proof. It knows nothing of the job.
#pragma once

#include "boot_unique.hpp"

#include <deque>
#include <memory>

namespace pgas::boot {

enum class guest_state { greeting, proving, joining, member, left };

using shared_text = std::shared_ptr<const std::string>; // a body that several connections send

struct record {
	uint32_t kind = 0;
	std::string body;
};

class guest {
public:
	explicit guest(own_socket &&socket) : socket_(std::move(socket)) {}

	// The server's.
	guest_state state = guest_state::greeting;
	int rank = -1;
	join_body who{};
	bool contributed = false; // to the exchange that is in progress
	bool over = false;        // to be closed

	int fd() const { return socket_.get(); }
	uint64_t since() const { return since_; }
	bool is_stranger() const { return state < guest_state::member; }
	bool has_output() const { return !output_.empty(); }
	std::string name() const;

	// Read and write as much as is possible now. Return false if the peer is gone.
	bool read();
	bool write();
	void forget_input() { input_.clear(); }
	// Takes the next part of what has arrived. Greeting and proof are answered here; a record is given out.
	enum class taken { nothing, step, record, fault };
	taken take(const unique_id &id, record &out, const char *&why);
	secret hash(const std::string &body) const { return seal_.hash(body.data(), body.size()); }
	void send(uint32_t kind, const shared_text &body, const secret &body_hash);

private:
	struct outgoing {
		std::string head;
		shared_text body;
		size_t sent = 0;
		size_t bytes() const { return head.size() + (body ? body->size() : 0); }
	};
	own_socket socket_;
	uint64_t since_ = now_ns();
	greeting theirs_{}, ours_{};
	record_seal seal_;
	record_head head_{}; // of the record whose body is not here yet
	bool has_head_ = false;
	std::string input_;
	std::deque<outgoing> output_;

	taken take_greeting(const unique_id &id, const char *&why);
	taken take_proof(const unique_id &id, const char *&why);
	taken take_record(record &out, const char *&why);
};

} // namespace pgas::boot
