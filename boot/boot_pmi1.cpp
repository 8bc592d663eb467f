// SPDX-License-Identifier: BSD-3-Clause
// boot_pmi1.cpp: the PMI-1 wire protocol, spoken directly on the socket that the launcher left in PMI_FD.
//
// It consists of lines "cmd=<name> key=value ...". mpiexec.hydra uses it, Slurm's pmi2 plugin accepts it on the same
// socket as PMI-2, and so do others: one page of code instead of a library per launcher.
#include "boot.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <unistd.h>

namespace pgas::boot {
namespace {

constexpr size_t kLineMax = 1000; // Slurm reads lines into 1024 bytes

struct pmi1_state {
	int fd = -1;
	int rank = 0;
	std::string kvsname;
	std::string pending; // read but not used yet
	text_kvs kvs = {};
};
forever<pmi1_state> g_state;
pmi1_state &g_pmi = g_state.it;

int send_line(const std::string &line)
{
	for (size_t pos = 0; pos < line.size();) {
		ssize_t sent = send(g_pmi.fd, line.data() + pos, line.size() - pos, MSG_NOSIGNAL);
		if (sent < 0 && errno == ENOTSOCK)
			sent = write(g_pmi.fd, line.data() + pos, line.size() - pos);
		if (sent < 0 && errno != EINTR)
			return -errno;
		if (sent > 0)
			pos += static_cast<size_t>(sent);
	}
	return 0;
}

int read_line(std::string &line)
{
	for (;;) {
		if (size_t end = g_pmi.pending.find('\n'); end != std::string::npos) {
			line = g_pmi.pending.substr(0, end);
			g_pmi.pending.erase(0, end + 1);
			return 0;
		}
		char part[2048];
		ssize_t got = read(g_pmi.fd, part, sizeof part);
		if (got == 0)
			return -ECONNRESET;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got > 0)
			g_pmi.pending.append(part, static_cast<size_t>(got));
	}
}

// Returns the value of " name=..." in a line, up to the next blank.
bool field(const std::string &line, const char *name, std::string &value)
{
	std::string mark = std::string(name) + "=";
	for (size_t pos = 0; (pos = line.find(mark, pos)) != std::string::npos; pos += mark.size()) {
		if (pos > 0 && line[pos - 1] != ' ')
			continue;
		pos += mark.size();
		value = line.substr(pos, line.find(' ', pos) - pos);
		return true;
	}
	return false;
}

// Sends one question and reads one answer, whose cmd must be `expect`. Returns 0 or 1 depending on the launcher's rc.
int ask(const std::string &question, const char *expect, std::string &answer)
{
	int rc = send_line(question + "\n");
	if (rc == 0)
		rc = read_line(answer);
	if (rc) {
		print_error("PMI: connection to the launcher is broken: %s", strerror(-rc));
		return rc;
	}
	std::string text;
	if (!field(answer, "cmd", text) || text != expect) {
		print_error("PMI: asked for %s, the launcher replied \"%.80s\"", expect, answer.c_str());
		return -EPROTO;
	}
	return field(answer, "rc", text) && atoi(text.c_str()) != 0 ? 1 : 0;
}

int put_text(const char *key, const char *value)
{
	std::string answer;
	int rc = ask("cmd=put kvsname=" + g_pmi.kvsname + " key=" + key + " value=" + value, "put_result", answer);
	if (rc > 0)
		print_error("PMI: launcher refused key %s: \"%.80s\"", key, answer.c_str());
	return rc > 0 ? -EIO : rc;
}

int get_text(int, const char *key, char *value, size_t room)
{
	std::string answer, text;
	int rc = ask("cmd=get kvsname=" + g_pmi.kvsname + " key=" + key, "get_result", answer);
	if (rc)
		return rc > 0 ? -ENOENT : rc;
	if (!field(answer, "value", text) || text.size() >= room)
		return -EPROTO;
	memcpy(value, text.c_str(), text.size() + 1);
	return 0;
}

int start_conversation()
{
	std::string answer, text;
	int rc = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", answer);
	if (rc == 0)
		rc = ask("cmd=get_maxes", "maxes", answer);
	size_t value_max = rc == 0 && field(answer, "vallen_max", text) ? strtoul(text.c_str(), nullptr, 10) : 0;
	if (rc == 0)
		rc = ask("cmd=get_my_kvsname", "my_kvsname", answer);
	if (rc < 0)
		return rc;
	const bool named = rc == 0 && field(answer, "kvsname", g_pmi.kvsname);
	const size_t frame = strlen("cmd=put kvsname= key= value=") + g_pmi.kvsname.size() + 64;
	if (!named || value_max < 64 || frame + 64 > kLineMax) {
		print_error("PMI: launcher does not speak PMI 1.1: \"%.80s\"", answer.c_str());
		return -EPROTO;
	}
	g_pmi.kvs = {value_max - 1 < kLineMax - frame ? value_max - 1 : kLineMax - frame, put_text, get_text};
	return 0;
}

int pmi1_init(job &job)
{
	const char *fd = pgas_boot_getenv("PMI_FD"), *rank = pgas_boot_getenv("PMI_RANK"),
		   *size = pgas_boot_getenv("PMI_SIZE");
	if (!fd || !rank || !size)
		return kNotMine;
	g_pmi.fd = atoi(fd);
	g_pmi.rank = job.rank = atoi(rank);
	job.size = atoi(size);
	int type;
	socklen_t length = sizeof type;
	if (getsockopt(g_pmi.fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0)
		return kNotMine; // the variable is a leftover; the socket itself was not inherited
	if (job.rank < 0 || job.rank >= job.size) {
		print_error("PMI_RANK=%s and PMI_SIZE=%s make no sense", rank, size);
		return -EINVAL;
	}
	if (int rc = start_conversation())
		return rc;
	char map[1024];
	job.local_known = get_text(0, "PMI_process_mapping", map, sizeof map) == 0 &&
			  parse_process_mapping(map, job.rank, job.size, job.local);
	return kJoined;
}

int pmi1_finalize()
{
	std::string answer;
	return ask("cmd=finalize", "finalize_ack", answer) < 0 ? -EIO : 0;
}

int pmi1_put(const char *key, const void *value, size_t bytes)
{
	return kvs_put(g_pmi.kvs, g_pmi.rank, key, value, bytes);
}
int pmi1_commit()
{
	return 0; // the launcher has each value as soon as it is put
}
int pmi1_barrier()
{
	std::string answer;
	int rc = ask("cmd=barrier_in", "barrier_out", answer);
	return rc > 0 ? -EIO : rc;
}
ssize_t pmi1_get(int rank, const char *key, void *value, size_t room)
{
	return kvs_get(g_pmi.kvs, rank, key, value, room);
}

// As a killed process would: its exit status is that of a shell whose command was killed.
bool pmi1_describe_abort(abort_words &words)
{
	words.fd = g_pmi.fd;
	words.length = static_cast<size_t>(snprintf(words.text, sizeof words.text, "cmd=abort exitcode=137\n"));
	return true;
}

// Does not allocate memory, because a signal handler may call it.
void pmi1_abort(int status, const char *message)
{
	if (message) {
		print_error("%s", message);
		usleep(50'000); // on an abort, hydra drops output that it has not forwarded yet
	}
	char line[64];
	int length = snprintf(line, sizeof line, "cmd=abort exitcode=%d\n", status & 0xff);
	if (write(g_pmi.fd, line, static_cast<size_t>(length)) == length)
		sleep(10); // the launcher ends this process, too; our own exit could be taken for a normal one
	_exit(status & 0xff);
}

} // namespace

constinit const backend g_pmi1 = {"pmi1",       pmi1_init, pmi1_finalize, pmi1_put,           pmi1_commit,
				  pmi1_barrier, pmi1_get,  nullptr,       pmi1_barrier,       pmi1_abort,
				  true,         false,     nullptr,       pmi1_describe_abort};

} // namespace pgas::boot
