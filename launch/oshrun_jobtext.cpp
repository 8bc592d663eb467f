// SPDX-License-Identifier: BSD-3-Clause
// oshrun_jobtext.cpp: the body of the frame by which an agent learns its job. Whoever adds an option that agents need
// adds it to both functions and raises kProtocol.
#include "oshrun_agent.hpp"

namespace oshrun {
namespace {

constexpr uint32_t kMost = 1 << 20; // PEs, hosts

void pack_flags(packer &to, const job_text &job)
{
	const options &opts = job.opts;
	for (bool flag :
	     {opts.aslr, opts.verbose, opts.progress, opts.report_bindings, opts.oversubscribe, job.terminal.wanted})
		to.u32(flag);
	to.u32(static_cast<uint32_t>(opts.bind));
	to.u32(static_cast<uint32_t>(opts.pmix));
	to.u32(static_cast<uint32_t>(opts.map));
	to.u32(static_cast<uint32_t>(opts.tree));
	to.u32(static_cast<uint32_t>(opts.stdin_pe + 1));
	to.u32(job.terminal.rows);
	to.u32(job.terminal.columns);
	to.real(opts.grace_s);
	to.real(opts.host_timeout_s);
}

bool unpack_flags(unpacker &from, job_text &job)
{
	options &opts = job.opts;
	for (bool *flag : {&opts.aslr, &opts.verbose, &opts.progress, &opts.report_bindings, &opts.oversubscribe,
			   &job.terminal.wanted})
		*flag = from.u32() != 0;
	const uint32_t bind = from.u32(), pmix = from.u32(), map = from.u32(), tree = from.u32();
	const uint32_t stdin_pe = from.u32(); // + 1
	opts.stdin_pe = stdin_pe <= kMost ? static_cast<int>(stdin_pe) - 1 : -1;
	opts.bind = static_cast<bind_to>(bind);
	opts.pmix = static_cast<pmix_mode>(pmix);
	opts.map = static_cast<map_by>(map);
	opts.tree = static_cast<int>(tree);
	job.terminal.rows = static_cast<unsigned short>(from.u32());
	job.terminal.columns = static_cast<unsigned short>(from.u32());
	opts.grace_s = from.real();
	opts.host_timeout_s = from.real();
	return from.good && bind <= static_cast<uint32_t>(bind_to::hwthread) &&
	       pmix <= static_cast<uint32_t>(pmix_mode::off) && map <= static_cast<uint32_t>(map_by::node) &&
	       stdin_pe <= kMost && tree >= 1 && tree <= kMost && opts.grace_s >= 0 && opts.grace_s <= 1e6 &&
	       opts.host_timeout_s >= 1 && opts.host_timeout_s <= 1e6;
}

bool unpack_hosts(unpacker &from, options &opts)
{
	for (uint32_t left = from.u32(); from.good && left > 0; left--) {
		host one;
		one.name = from.str();
		one.slots = static_cast<int>(from.u32());
		if (one.slots < 1 || one.slots > static_cast<int>(kMost) || one.name.empty())
			return false;
		opts.hosts.push_back(one);
	}
	return from.good && !opts.hosts.empty();
}

bool unpack_apps(unpacker &from, options &opts)
{
	for (uint32_t left = from.u32(); from.good && left > 0; left--) {
		app &program = opts.apps.emplace_back();
		const uint32_t count = from.u32();
		program.argv = from.list();
		program.set_env = from.list();
		program.wdir = from.str();
		if (!from.good || count < 1 || count > kMost || program.argv.empty())
			return false;
		program.count = static_cast<int>(count);
		opts.count += program.count;
		if (opts.count > static_cast<int>(kMost))
			return false;
	}
	return from.good && !opts.apps.empty();
}

bool ranks_fit(const options &opts)
{
	for (uint32_t host : opts.rank_hosts)
		if (host >= opts.hosts.size())
			return false;
	return opts.rank_hosts.size() == opts.rank_cpus.size() &&
	       (opts.rank_hosts.empty() || opts.rank_hosts.size() == static_cast<size_t>(opts.count));
}

} // namespace

std::string pack_job(const job_text &job)
{
	packer to;
	pack_flags(to, job);
	to.str(job.opts.launch_agent);
	to.str(job.wdir);
	to.str(job.oshrun_path);
	to.u32(static_cast<uint32_t>(job.cookie));
	to.u32(static_cast<uint32_t>(job.cookie >> 32));
	to.list(job.env);
	to.u32(static_cast<uint32_t>(job.opts.rank_hosts.size()));
	for (uint32_t host : job.opts.rank_hosts)
		to.u32(host);
	to.list(job.opts.rank_cpus);
	to.u32(static_cast<uint32_t>(job.opts.hosts.size()));
	for (const host &one : job.opts.hosts) {
		to.str(one.name);
		to.u32(static_cast<uint32_t>(one.slots));
	}
	to.u32(static_cast<uint32_t>(job.opts.apps.size()));
	for (const app &program : job.opts.apps) {
		to.u32(static_cast<uint32_t>(program.count));
		to.list(program.argv);
		to.list(program.set_env);
		to.str(program.wdir);
	}
	return to.text;
}

bool unpack_job(const std::string &body, job_text &job)
{
	unpacker from(body);
	if (!unpack_flags(from, job))
		return false;
	job.opts.launch_agent = from.str();
	job.wdir = from.str();
	job.oshrun_path = from.str();
	job.cookie = from.u32();
	job.cookie |= uint64_t{from.u32()} << 32;
	job.env = from.list();
	for (uint32_t left = from.u32(); from.good && left > 0; left--)
		job.opts.rank_hosts.push_back(from.u32());
	job.opts.rank_cpus = from.list();
	return unpack_hosts(from, job.opts) && unpack_apps(from, job.opts) && ranks_fit(job.opts) && from.at_end();
}

} // namespace oshrun
