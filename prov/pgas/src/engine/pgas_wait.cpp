// SPDX-License-Identifier: BSD-3-Clause
#include "pgas_wait.hpp"

#include <sys/eventfd.h>

namespace pgas {

wait_object::wait_object(clockid_t clock)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, clock);
	pthread_cond_init(&cond, &attr);
	pthread_condattr_destroy(&attr);
}

wait_object::~wait_object()
{
	pthread_mutex_destroy(&mutex);
	pthread_cond_destroy(&cond);
}

int wait_object::open(fi_wait_obj wanted)
{
	kind = wanted;
	if (wanted != FI_WAIT_FD)
		return 0;
	event = unique_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return event ? 0 : -errno;
}

int wait_object::control(int command, void *arg)
{
	switch (command) {
	case FI_GETWAITOBJ:
		*static_cast<fi_wait_obj *>(arg) = kind;
		return 0;
	case FI_GETWAIT:
		if (event) {
			*static_cast<int *>(arg) = event.get();
			return 0;
		}
		if (kind == FI_WAIT_MUTEX_COND) {
			*static_cast<fi_mutex_cond *>(arg) = {&mutex, &cond};
			return 0;
		}
		return -FI_ENODATA;
	default:
		return -FI_ENOSYS;
	}
}

void wait_object::raise_held()
{
	if (event) {
		const uint64_t one = 1;
		[[maybe_unused]] const ssize_t n = write(event.get(), &one, sizeof one);
	}
	pthread_cond_broadcast(&cond);
}

void wait_object::raise_outside()
{
	pthread_mutex_lock(&mutex);
	raise_held();
	pthread_mutex_unlock(&mutex);
}

void wait_object::lower()
{
	if (event) {
		uint64_t count;
		[[maybe_unused]] const ssize_t n = read(event.get(), &count, sizeof count);
	}
}

} // namespace pgas
