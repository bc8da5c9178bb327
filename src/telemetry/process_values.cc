#include "telemetry/process_values.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
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

double seconds_on(clockid_t clock) {
  constexpr double kNanoseconds = 1e9;
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / kNanoseconds;
}

}  // namespace

double process_start() {
  const double after = start_after_boot();
  // Not `btime` of /proc/stat: systemd's ProcSubset=pid hides that file.
  const double boot = seconds_on(CLOCK_REALTIME) - seconds_on(CLOCK_BOOTTIME);
  return after > 0 ? boot + after : 0;
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
  // Determined once: the difference of two clocks is never quite the same.
  static const double start = process_start();
  if (start > 0) {
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
