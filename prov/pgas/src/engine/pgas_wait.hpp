// SPDX-License-Identifier: BSD-3-Clause
//
// The wait object of a completion queue, a counter or an event queue: a descriptor, or a mutex with a condition, on
// which an application blocks by itself (FI_GETWAIT).
#pragma once

#include <pthread.h>

#include <rdma/fi_eq.h>

#include "support/pgas_util.hpp"
#include <pgas/pgas_atomic.h>

namespace pgas {

struct wait_object {
	fi_wait_obj kind = FI_WAIT_NONE;
	unique_fd event; // FI_WAIT_FD
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;

	explicit wait_object(clockid_t clock = CLOCK_REALTIME); // the clock of timed waits for cond
	wait_object(const wait_object &) = delete;
	~wait_object();
	int open(fi_wait_obj wanted); // returns 0 or -errno
	bool outside() const
	{
		return event || kind == FI_WAIT_MUTEX_COND;
	}                                    // the application blocks without calling us
	int control(int command, void *arg); // FI_GETWAITOBJ, FI_GETWAIT
	void raise()                         // something happened
	{
		if (PGAS_UNLIKELY(outside()))
			raise_outside();
	}
	void raise_held(); // the same, for a caller that holds the mutex
	void lower();      // clears a raised descriptor

private:
	void raise_outside();
};

} // namespace pgas
