// SPDX-License-Identifier: BSD-3-Clause
//
// What the opaque words of fi_ext_pgas.h hold: of a message that is read where it arrived, and of a place that is
// filled where the message will be read. Programs allocate these structs, so their size is part of the ABI.
#pragma once

#include <cstddef>

#include <rdma/fi_ext_pgas.h>

namespace pgas {

struct message_words {
	void *place;    // its wire's; an `unexpected` when state is 0
	uint64_t state; // what the wire writes to release the place; 0: the provider moved the message
	uint64_t of_wire[2];
};

struct place_words {
	fi_addr_t peer;
	void *wire_state; // of the peer when it was claimed; null: claimed without the lock
	uint64_t of_wire[3];
};

static_assert(sizeof(message_words) == sizeof(fi_pgas_message::opaque_) &&
	      sizeof(place_words) == sizeof(fi_pgas_place::opaque_));
static_assert(sizeof(fi_pgas_message) == 56 && offsetof(fi_pgas_message, opaque_) == 24);
static_assert(sizeof(fi_pgas_place) == 56 && offsetof(fi_pgas_place, opaque_) == 16);

inline message_words &words_of(fi_pgas_message &m)
{
	return reinterpret_cast<message_words &>(m.opaque_);
}
inline const message_words &words_of(const fi_pgas_message &m)
{
	return reinterpret_cast<const message_words &>(m.opaque_);
}
inline place_words &words_of(fi_pgas_place &place)
{
	return reinterpret_cast<place_words &>(place.opaque_);
}
inline const place_words &words_of(const fi_pgas_place &place)
{
	return reinterpret_cast<const place_words &>(place.opaque_);
}

} // namespace pgas
