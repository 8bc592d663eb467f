// SPDX-License-Identifier: BSD-3-Clause
#include "device_driver_kind.hpp"

#include <cerrno>

namespace pgas::devices {

int driver_kind::open(int local_rank, char *why, size_t room)
{
	chosen_ = false;
	return open_by([&] { return find_default(local_rank); }, why, room);
}

int driver_kind::open_device(const device_choice &which, char *why, size_t room)
{
	chosen_ = true;
	return open_by([&] { return find_chosen(which); }, why, room);
}

int driver_kind::count_some(int &count)
{
	const int rc = count_devices(count);
	if (rc != 0 || count > 0)
		return rc;
	char text[80];
	snprintf(text, sizeof text, "this host has no %s", library().device);
	return failed(-ENODEV, name(), text);
}

int driver_kind::find_default(int local_rank)
{
	int count = 0;
	bool found = false;
	int rc = count_some(count);
	if (rc == 0)
		rc = use_current(found);
	return rc != 0 || found ? rc : select(local_rank > 0 ? local_rank % count : 0);
}

int driver_kind::find_chosen(const device_choice &which)
{
	int count = 0;
	bool found = false;
	int rc = count_some(count);
	if (rc == 0)
		rc = use_given(which, found);
	if (rc != 0 || found)
		return rc;
	if (which.number >= count) {
		char text[80];
		snprintf(text, sizeof text, "there is no %s %d; this host has %d", library().device, which.number,
			 count);
		return failed(-ENODEV, name(), text);
	}
	for (int i = 0; which.number < 0 && which.place && i < count; i++)
		if (select(i) == 0 && number_of_device() == which.place)
			return 0;
	return select(which.number < 0 ? 0 : which.number);
}

// found: the result of looking for a device.
int driver_kind::open_found(int found, char *why, size_t room)
{
	int rc = found == 0 ? open_context() : found;
	if (rc == 0) {
		const visit entered(*this);
		rc = entered.rc != 0 ? entered.rc : open_stream();
		if (rc == 0)
			rc = open_queue();
		if (rc != 0)
			end_device(); // while its context is current
	} else
		end_device();
	if (rc != 0)
		snprintf(why, room, "%s", t_error);
	return rc;
}

int driver_kind::submit(const piece *pieces, size_t count, bool)
{
	int rc = 0;
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = submit_one(pieces[i]);
	return rc != 0 ? rc : end_submission();
}

} // namespace pgas::devices
