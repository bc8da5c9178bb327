#pragma once

#include <sys/types.h>

// Measurements of a running process, from proc(5).
namespace nodepool::bench {

// The CPU time so far, in seconds.
double cpu_seconds(pid_t pid);

// The peak resident memory, in MiB.
double peak_megabytes(pid_t pid);

}  // namespace nodepool::bench
