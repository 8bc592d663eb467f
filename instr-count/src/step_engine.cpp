// SPDX-License-Identifier: BSD-3-Clause
// step_engine.cpp: the engine's two entry points, and the reasons why they fail.
#include "step_engine.hpp"

#include <csignal>
#include <cstring>
#include <sys/wait.h>

#include "error.hpp"
#include "step_session.hpp"
#include "text.hpp"

namespace ic {

void step_session::throw_unless_counted() const
{
	const char *program = request_.argv[0].c_str();
	std::string entry = request_.entry.text();
	if (WIFSIGNALED(status_)) {
		std::string where = fault_.empty() ? "" : " at " + fault_;
		fail(exit_code::program_failed, "%s was ended by %s%s%s; %zu calls of %s were complete", program,
		     strsignal(WTERMSIG(status_)), where.c_str(), inside_ ? ", inside the counted call" : "",
		     records_.size(), entry.c_str());
	}
	if (WIFEXITED(status_) && WEXITSTATUS(status_) == static_cast<int>(exit_code::not_here))
		fail(exit_code::not_here, "%s says that what it needs is not here (status 77)",
		     base_name(program).c_str());
	if (WIFEXITED(status_) && WEXITSTATUS(status_) != 0)
		fail(exit_code::program_failed, "%s exited with status %d; %zu calls of %s were complete", program,
		     WEXITSTATUS(status_), records_.size(), entry.c_str());
	if (armed() && !records_.empty())
		return;
	if (armed() && inside_)
		fail(exit_code::program_failed, "%s exited inside its first call of %s", program, entry.c_str());
	if (armed())
		fail(exit_code::never_called, "%s has %s but never called it", program, entry.c_str());
	if (entry_is_ifunc_)
		fail(exit_code::no_symbol,
		     "%s is an indirect function (libc chooses at start): name the chosen one, "
		     "'instr-count explain' on a caller shows it",
		     entry.c_str());
	std::string hint;
	for (const auto &where : images_.images())
		if (where->elf != nullptr && where->elf->stripped() && where->name == base_name(program))
			hint = "; " + where->name + " is stripped, so only its exported names are known";
	std::vector<std::string> like = images_.similar(request_.entry.name);
	if (!like.empty())
		hint += "; the compiler made " + join(like, ", ");
	fail(exit_code::no_symbol, "no image of %s has %s %s%s", program,
	     request_.entry.is_mark ? "the mark" : "a function", request_.entry.name.c_str(), hint.c_str());
}

measurement step_count(const count_request &request)
{
	step_session session(request);
	session.run(false);
	session.throw_unless_counted();
	measurement out = summarize(request, "step", session.take_records());
	out.note_processes(request, session.forked());
	return out;
}

entry_facts step_probe(const count_request &request)
{
	// It is killed before main(), so it cannot have joined a job by then.
	count_request alone = request;
	alone.extra_env.push_back("PGAS_BOOT_LAUNCHER=single");
	step_session session(alone);
	session.run(true);
	entry_facts facts;
	if (!session.armed())
		return facts;
	uint64_t begin = *session.begins().begin();
	const image *where = session.images().find(begin);
	if (where == nullptr || where->elf == nullptr)
		return facts;
	facts.found = true;
	facts.path = where->path;
	uint64_t addr = begin - where->bias;
	for (uint64_t pos : session.begins())
		if (session.images().find(pos) == where)
			facts.begins.push_back(pos - where->bias);
	for (uint64_t pos : session.ends())
		if (session.images().find(pos) == where)
			facts.ends.push_back(pos - where->bias);
	if (!request.entry.is_mark) {
		facts.names = where->elf->names_at(addr);
		return facts;
	}
	if (const elf_symbol *holder = where->elf->at(addr))
		facts.names = where->elf->names_at(holder->addr);
	for (uint64_t start : session.begins()) {
		auto dest = session.ends().lower_bound(start);
		if (dest != session.ends().end())
			facts.mark_ranges.push_back({start - where->bias, *dest - where->bias});
	}
	return facts;
}

} // namespace ic
