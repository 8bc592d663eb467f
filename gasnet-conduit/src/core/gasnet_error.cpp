// SPDX-License-Identifier: BSD-3-Clause
//
// Error numbers as text.
#include <gasnet.h>

namespace {

struct error_text {
	int value;
	const char *name, *text;
};

constexpr error_text kErrors[] = {
	{GASNET_OK, "GASNET_OK", "No error"},
	{GASNET_ERR_NOT_INIT, "GASNET_ERR_NOT_INIT",
	 "The call needs gasnet_init or gasnet_attach before it, or came twice"},
	{GASNET_ERR_BAD_ARG, "GASNET_ERR_BAD_ARG", "An argument is wrong"},
	{GASNET_ERR_RESOURCE, "GASNET_ERR_RESOURCE", "The system or the other nodes do not give what the call needs"},
	{GASNET_ERR_BARRIER_MISMATCH, "GASNET_ERR_BARRIER_MISMATCH", "The nodes named the barrier differently"},
	{GASNET_ERR_NOT_READY, "GASNET_ERR_NOT_READY", "The operation is not complete"},
};

const error_text *find(int value)
{
	for (const error_text &e : kErrors)
		if (e.value == value)
			return &e;
	return nullptr;
}

} // namespace

extern "C" char *gasnet_ErrorName(int errval) noexcept
{
	const error_text *e = find(errval);
	return const_cast<char *>(e ? e->name : "*unknown*");
}

extern "C" char *gasnet_ErrorDesc(int errval) noexcept
{
	const error_text *e = find(errval);
	return const_cast<char *>(e ? e->text : "no description available");
}
