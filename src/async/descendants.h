#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace nodepool::async {

// A process in /proc.
struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  std::string name;  // of its program; at most 15 bytes, set by the process itself
};

// All descendants of this process that have not been reaped, including ended ones. Empty without
// /proc.
std::vector<ProcessEntry> descendants();

// Sends a signal to a descendant. Does nothing if its PID belongs to another process now.
void signal_descendant(const ProcessEntry& process, int number);

}  // namespace nodepool::async
