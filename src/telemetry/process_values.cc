#include "telemetry/process_values.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>

#include "telemetry/process_metrics.h"
#include "telemetry/version.h"

namespace nodepool::telemetry {

namespace {

double seconds_of(const timeval& time) {
  constexpr double kMicroseconds = 1e6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / kMicroseconds;
}

// Reference: proc(5), /proc/[pid]/stat: field 22, in clock ticks since boot.
double start_after_boot() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the name may contain spaces
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  constexpr int kFieldsBefore = 19;  // the state is field 3
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  double ticks = 0;
  fields >> ticks;
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Field "btime" of /proc/stat: the boot time, in seconds since the epoch.
double boot_time() {
  std::ifstream file("/proc/stat");
  for (std::string word; file >> word;) {
    double time = 0;
    if (word == "btime" && file >> time) return time;
  }
  return 0;
}

}  // namespace

double process_start() {
  const double boot = boot_time();
  const double after = start_after_boot();
  return boot > 0 && after > 0 ? boot + after : 0;
}

void add_process_values(MetricsRegistry& registry) {
  registry.gauge(series<kBuildInfo>(version()), 1);
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    registry.total(series<kProcessCpu>(), seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  }
  std::ifstream statm("/proc/self/statm");
  double all_pages = 0;
  double resident_pages = 0;
  if (statm >> all_pages >> resident_pages) {
    registry.gauge(series<kProcessMemory>(),
                   resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  }
  if (const double start = process_start(); start > 0) {
    registry.gauge(series<kProcessStart>(), start);
  }
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  if (!error) {
    // One of them is for this listing.
    const auto count = std::distance(begin(files), end(files)) - 1;
    registry.gauge(series<kProcessFiles>(), static_cast<double>(count));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    registry.gauge(series<kProcessMostFiles>(), static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace nodepool::telemetry
