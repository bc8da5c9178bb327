#pragma once

#include <sys/types.h>

// Figures of a running process, from proc(5).
namespace nodepool::bench {

// The processor time that it has used so far, in seconds.
double cpu_seconds(pid_t pid);

// The most memory that it has had resident, in 1024 * 1024 bytes.
double peak_megabytes(pid_t pid);

}  // namespace nodepool::bench
