// SPDX-License-Identifier: BSD-3-Clause
// oshrun_scratch.hpp: the directory of the PMIx server. oshrun creates it before it forks the keeper, so both know it
// by descriptors and numbers in their own memory: whatever PEs write does not decide what is removed.
#pragma once

#include <pgas/pgas_base.hpp>

#include <string>
#include <sys/stat.h>

namespace oshrun {

class scratch_dir {
public:
	scratch_dir() = default;
	scratch_dir(const scratch_dir &) = delete;
	scratch_dir &operator=(const scratch_dir &) = delete;
	~scratch_dir() { remove(); } // forked processes end by exec or _exit: only the creator gets here

	bool make(); // creates a new one, for this user alone, in $TMPDIR or /tmp
	// Removes its contents, without following links or entering another file system, and then the directory itself,
	// if its name still refers to the directory that make() created.
	void remove();
	const std::string &path() const { return path_; } // empty: there is none
	int parent_fd() const { return parent_.get(); }
	int fd() const { return self_.get(); }

private:
	std::string path_, name_; // name_: its last component
	pgas::unique_fd parent_, self_;
	dev_t device_ = 0;
	ino_t inode_ = 0;
};

} // namespace oshrun
