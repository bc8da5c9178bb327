#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace nodepool::async {

// A process as /proc shows it.
struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  std::string name;  // of its program; at most 15 bytes, and whatever the process likes
};

// All that this process has started, and they in turn, that have not been waited for; those that
// have ended too. Empty if there is no /proc.
std::vector<ProcessEntry> descendants();

// Sends a signal to a descendant, unless it is gone: its number may be somebody else's by now.
void signal_descendant(const ProcessEntry& process, int number);

}  // namespace nodepool::async
