// SPDX-License-Identifier: BSD-3-Clause
// oshrun_verdict.hpp: the first failure of a job. It decides the exit status, and is the only one that is reported.
#pragma once

#include <functional>
#include <string>

namespace oshrun {

class verdict {
public:
	// Reports the line, unless it is empty, since some ends are no failures; and ends the job by this signal.
	using announcer = std::function<void(int code, const char *line, int sig)>;
	explicit verdict(announcer announce) : announce_(std::move(announce)) {}

	__attribute__((format(printf, 3, 4))) void fail(int code, const char *format, ...);
	// A signal that asks for the end. False: the user asked twice, or the job is ending.
	bool interrupt(int sig, const std::string &at_host);
	void close() { is_closed_ = true; } // the job ends for another reason: later failures follow from that
	bool is_decided() const { return is_decided_; }
	int exit_code() const { return code_; }

private:
	announcer announce_;
	bool is_decided_ = false, is_closed_ = false;
	int code_ = 0;
};

} // namespace oshrun
