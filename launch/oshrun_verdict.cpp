// SPDX-License-Identifier: BSD-3-Clause
// oshrun_verdict.cpp: see oshrun_verdict.hpp.
#include "oshrun_verdict.hpp"

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace oshrun {

void verdict::fail(int code, const char *format, ...)
{
	if (is_decided_ || is_closed_)
		return;
	is_decided_ = true;
	code_ = code;
	char text[4096];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	announce_(code, text, SIGTERM);
}

bool verdict::interrupt(int sig, const std::string &at_host)
{
	if (is_decided_)
		return false;
	is_decided_ = true;
	code_ = 128 + sig;
	char text[320];
	snprintf(text, sizeof text, "%sended by signal %d (%s)", at_host.c_str(), sig, strsignal(sig));
	announce_(code_, text, sig);
	return true;
}

} // namespace oshrun
