// SPDX-License-Identifier: BSD-3-Clause
//
// The base of the kinds of real drivers: opens the driver's library, chooses a device, and opens what the queue of
// copies needs (device_queue.hpp). A kind's own file has what only its driver does.
#pragma once

#include "device_driver.hpp"
#include "device_queue.hpp"

#include <cstring>

namespace pgas::devices {

class driver_kind : public queued_kind {
public:
	bool has_driver() const final { return driver_is_here(library()); }
	int open(int local_rank, char *why, size_t room) final;
	int open_device(const device_choice &which, char *why, size_t room) final;

protected:
	virtual const driver_library &library() const = 0;
	virtual driver_symbols symbols() = 0;

	// The steps of opening, in this order. count_devices() also initialises the driver. One of the next three
	// chooses the device; the defaults choose none.
	virtual int count_devices(int &count) = 0;
	virtual int use_given(const device_choice &, bool &) { return 0; } // found: the choice has the driver's handles
	virtual int use_current(bool &) { return 0; } // found: the program has made a device current
	virtual int select(int index) = 0;
	virtual int open_context() { return 0; } // what enter() makes current
	virtual int open_stream() = 0;           // between enter() and leave()

	// Copies of one submission run in any order: one call of the driver for each, and then end_submission().
	int submit(const piece *pieces, size_t count, bool ours) override;
	virtual int submit_one(const piece &p) = 0;
	virtual int end_submission() { return 0; }

	// Opens the device that find() chooses. Whatever fails, nothing stays open, and `why` says what it was.
	template <class Find>
	int open_by(Find &&find, char *why, size_t room)
	{
		const int rc = load_driver(library(), symbols(), why, room);
		return rc != 0 ? rc : open_found(find(), why, room);
	}

	// Was the device chosen by open_device()?
	bool is_chosen() const { return chosen_; }

	// For ask(): a driver's call that says whether the queue is empty.
	template <class... Args, class... Given>
	int ask_by(const driver_call<Args...> &what, int not_ready, bool &idle, Given... args) const
	{
		const int code = what(args...);
		idle = code == 0;
		return code == 0 || code == not_ready ? 0 : fail(what.name, code);
	}

	// For handles that the driver makes.
	template <class Ipc>
	static void put_blob(const Ipc &ipc, handle &out)
	{
		static_assert(sizeof out.blob == sizeof ipc);
		memcpy(out.blob, &ipc, sizeof ipc);
	}
	template <class Ipc>
	static Ipc get_blob(const handle &source)
	{
		Ipc ipc;
		static_assert(sizeof source.blob == sizeof ipc);
		memcpy(&ipc, source.blob, sizeof ipc);
		return ipc;
	}

private:
	int find_default(int local_rank);
	int find_chosen(const device_choice &which);
	int count_some(int &count);
	int open_found(int found, char *why, size_t room);

	bool chosen_ = false;
};

} // namespace pgas::devices
