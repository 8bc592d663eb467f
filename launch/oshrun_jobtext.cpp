// SPDX-License-Identifier: BSD-3-Clause
// oshrun_jobtext.cpp: the body of the message that tells an agent its job. To add an option that agents need, add it to
// both functions and increment kProtocol.
#include "oshrun_agent.hpp"

namespace oshrun {
namespace {

constexpr uint32_t kMost = 1 << 20; // PEs, hosts

void pack_flags(packer &dest, const job_text &job)
{
	const options &opts = job.opts;
	for (bool flag :
	     {opts.aslr, opts.verbose, opts.progress, opts.report_bindings, opts.oversubscribe, job.terminal.wanted})
		dest.u32(flag);
	dest.u32(static_cast<uint32_t>(opts.bind));
	dest.u32(static_cast<uint32_t>(opts.pmix));
	dest.u32(static_cast<uint32_t>(opts.map));
	dest.u32(static_cast<uint32_t>(opts.tree));
	dest.u32(static_cast<uint32_t>(opts.stdin_pe + 1));
	dest.u32(job.terminal.rows);
	dest.u32(job.terminal.columns);
	dest.real(opts.grace_s);
	dest.real(opts.host_timeout_s);
}

bool unpack_flags(unpacker &source, job_text &job)
{
	options &opts = job.opts;
	for (bool *flag : {&opts.aslr, &opts.verbose, &opts.progress, &opts.report_bindings, &opts.oversubscribe,
			   &job.terminal.wanted})
		*flag = source.u32() != 0;
	const uint32_t bind = source.u32(), pmix = source.u32(), map = source.u32(), tree = source.u32();
	const uint32_t stdin_pe = source.u32(); // + 1
	opts.stdin_pe = stdin_pe <= kMost ? static_cast<int>(stdin_pe) - 1 : -1;
	opts.bind = static_cast<bind_to>(bind);
	opts.pmix = static_cast<pmix_mode>(pmix);
	opts.map = static_cast<map_by>(map);
	opts.tree = static_cast<int>(tree);
	job.terminal.rows = static_cast<unsigned short>(source.u32());
	job.terminal.columns = static_cast<unsigned short>(source.u32());
	opts.grace_s = source.real();
	opts.host_timeout_s = source.real();
	return source.good && bind <= static_cast<uint32_t>(bind_to::hwthread) &&
	       pmix <= static_cast<uint32_t>(pmix_mode::disabled) && map <= static_cast<uint32_t>(map_by::node) &&
	       stdin_pe <= kMost && tree >= 1 && tree <= kMost && opts.grace_s >= 0 && opts.grace_s <= 1e6 &&
	       opts.host_timeout_s >= 1 && opts.host_timeout_s <= 1e6;
}

bool unpack_hosts(unpacker &source, options &opts)
{
	for (uint32_t left = source.u32(); source.good && left > 0; left--) {
		host one;
		one.name = source.str();
		one.slots = static_cast<int>(source.u32());
		if (one.slots < 1 || one.slots > static_cast<int>(kMost) || one.name.empty())
			return false;
		opts.hosts.push_back(one);
	}
	return source.good && !opts.hosts.empty();
}

bool unpack_apps(unpacker &source, options &opts)
{
	for (uint32_t left = source.u32(); source.good && left > 0; left--) {
		app &program = opts.apps.emplace_back();
		const uint32_t count = source.u32();
		program.argv = source.list();
		program.set_env = source.list();
		program.wdir = source.str();
		if (!source.good || count < 1 || count > kMost || program.argv.empty())
			return false;
		program.count = static_cast<int>(count);
		opts.count += program.count;
		if (opts.count > static_cast<int>(kMost))
			return false;
	}
	return source.good && !opts.apps.empty();
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
	packer dest;
	pack_flags(dest, job);
	dest.str(job.opts.launch_agent);
	dest.str(job.wdir);
	dest.str(job.oshrun_path);
	dest.u32(static_cast<uint32_t>(job.cookie));
	dest.u32(static_cast<uint32_t>(job.cookie >> 32));
	dest.list(job.env);
	dest.u32(static_cast<uint32_t>(job.opts.rank_hosts.size()));
	for (uint32_t host : job.opts.rank_hosts)
		dest.u32(host);
	dest.list(job.opts.rank_cpus);
	dest.u32(static_cast<uint32_t>(job.opts.hosts.size()));
	for (const host &one : job.opts.hosts) {
		dest.str(one.name);
		dest.u32(static_cast<uint32_t>(one.slots));
	}
	dest.u32(static_cast<uint32_t>(job.opts.apps.size()));
	for (const app &program : job.opts.apps) {
		dest.u32(static_cast<uint32_t>(program.count));
		dest.list(program.argv);
		dest.list(program.set_env);
		dest.str(program.wdir);
	}
	return dest.text;
}

bool unpack_job(const std::string &body, job_text &job)
{
	unpacker source(body);
	if (!unpack_flags(source, job))
		return false;
	job.opts.launch_agent = source.str();
	job.wdir = source.str();
	job.oshrun_path = source.str();
	job.cookie = source.u32();
	job.cookie |= uint64_t{source.u32()} << 32;
	job.env = source.list();
	for (uint32_t left = source.u32(); source.good && left > 0; left--)
		job.opts.rank_hosts.push_back(source.u32());
	job.opts.rank_cpus = source.list();
	return unpack_hosts(source, job.opts) && unpack_apps(source, job.opts) && ranks_fit(job.opts) &&
	       source.at_end();
}

} // namespace oshrun
