// SPDX-License-Identifier: BSD-3-Clause
// oshrun_scratch.cpp: see oshrun_scratch.hpp. Nothing here uses a path once the directory exists.
#include "oshrun_scratch.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#ifndef SYS_openat2
// the same number on all architectures; headers before Linux 5.6 lack it
#define SYS_openat2 437
#endif

namespace oshrun {
namespace {

using pgas::unique_fd;

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
constexpr int kDepthMost = 64; // one descriptor each; anything nested deeper stays

// Opens a directory below another one. Mount points are not entered, not even those of the same file system if the
// kernel can detect them (Linux 5.6).
unique_fd open_below(int parent, const char *name, dev_t device)
{
	struct open_how how = {};
	how.flags = kDirectory;
	how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
	unique_fd found(static_cast<int>(syscall(SYS_openat2, parent, name, &how, sizeof how)));
	if (!found && (errno == ENOSYS || errno == EPERM)) // EPERM: returned by some seccomp filters
		found = unique_fd(openat(parent, name, kDirectory));
	struct stat info;
	if (found && (fstat(found.get(), &info) != 0 || info.st_dev != device))
		found.reset();
	return found;
}

// A process that still writes there may add files as fast as we remove them: so there is one pass, and the rest stays.
void empty(int fd, dev_t device, int depth)
{
	const int own = fcntl(fd, F_DUPFD_CLOEXEC, 3); // closedir() closes it
	DIR *list = own >= 0 ? fdopendir(own) : nullptr;
	if (!list) {
		if (own >= 0)
			close(own);
		return;
	}
	rewinddir(list);
	while (dirent *entry = readdir(list)) {
		const char *name = entry->d_name;
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0)
			continue;
		unique_fd below = open_below(fd, name, device);
		if (!below)
			continue;
		if (depth < kDepthMost)
			empty(below.get(), device, depth + 1);
		unlinkat(fd, name, AT_REMOVEDIR);
	}
	closedir(list);
}

} // namespace

bool scratch_dir::make()
{
	const char *base = getenv("TMPDIR");
	const std::string parent = base && *base ? base : "/tmp";
	std::string path = parent + "/oshrun.XXXXXX";
	unique_fd above(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (!above || !mkdtemp(path.data()))
		return false;
	const std::string name = path.substr(parent.size() + 1);
	unique_fd self(openat(above.get(), name.c_str(), kDirectory));
	struct stat info;
	if (!self || fstat(self.get(), &info) != 0) {
		unlinkat(above.get(), name.c_str(), AT_REMOVEDIR); // it is empty
		return false;
	}
	path_ = path;
	name_ = name;
	parent_ = std::move(above);
	self_ = std::move(self);
	device_ = info.st_dev;
	inode_ = info.st_ino;
	return true;
}

void scratch_dir::remove()
{
	if (!self_)
		return;
	empty(self_.get(), device_, 0);
	struct stat info;
	if (fstatat(parent_.get(), name_.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_dev == device_ &&
	    info.st_ino == inode_)
		unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR);
	self_.reset();
	parent_.reset();
	path_.clear();
}

} // namespace oshrun
