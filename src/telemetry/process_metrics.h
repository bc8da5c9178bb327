#pragma once

#include "telemetry/metric.h"

// The metrics of every daemon. The names that begin with `process_` are the standard ones of
// Prometheus clients.
namespace nodepool::telemetry {

inline constexpr Metric kBuildInfo{.name = "nodepool_build_info",
                                   .kind = Metric::Kind::gauge,
                                   .labels = {{{"version"}}},
                                   .help = "1; the label says which version runs"};

inline constexpr Metric kProcessCpu{.name = "process_cpu_seconds_total",
                                    .kind = Metric::Kind::counter,
                                    .help = "processor time taken, of user and system, in seconds"};

inline constexpr Metric kProcessMemory{.name = "process_resident_memory_bytes",
                                       .kind = Metric::Kind::gauge,
                                       .help = "memory that is resident"};

inline constexpr Metric kProcessStart{.name = "process_start_time_seconds",
                                      .kind = Metric::Kind::gauge,
                                      .help = "when it was started, in seconds since 1970"};

inline constexpr Metric kProcessFiles{
    .name = "process_open_fds", .kind = Metric::Kind::gauge, .help = "open file descriptors"};

inline constexpr Metric kProcessMostFiles{
    .name = "process_max_fds", .kind = Metric::Kind::gauge, .help = "how many it may have open"};

inline constexpr Metric kReady{.name = "nodepool_ready",
                               .kind = Metric::Kind::gauge,
                               .help = "1: requests are served, as `/ready` says; else 0"};

inline constexpr Metric kProblems{.name = "nodepool_problems",
                                  .kind = Metric::Kind::gauge,
                                  .help = "how many problems `/ready?detail` lists"};

inline constexpr Metric kConfigurationLoaded{
    .name = "nodepool_configuration_loaded_seconds",
    .kind = Metric::Kind::gauge,
    .help = "when the configuration in force was read, in seconds since 1970"};

inline constexpr Metric kConfigurationRejected{
    .name = "nodepool_configuration_rejected",
    .kind = Metric::Kind::gauge,
    .help = "1: a newer configuration is on the disk and could not be taken over; else 0"};

inline constexpr Metric kLoopLag{
    .name = "nodepool_loop_lag_seconds",
    .kind = Metric::Kind::timer,
    .help = "how long work has waited for its turn on the event loop; looked at every 5 s",
    .is_brief = true};

inline constexpr Metric kLoopStalls{
    .name = "nodepool_loop_stalls_total",
    .kind = Metric::Kind::counter,
    .help = "how often the event loop has stood still for 5 s or more; the log says where"};

inline constexpr Metric kLogMessagesDropped{
    .name = "nodepool_log_messages_dropped_total",
    .kind = Metric::Kind::counter,
    .help =
        "messages that could not be written to the log: for want of room on the disk, above all"};

inline constexpr Metric kStoreCalls{
    .name = "nodepool_store_call_seconds",
    .kind = Metric::Kind::timer,
    .labels = {{{"operation"}}},
    .help =
        "calls of the store, from the call to the answer: `commit` (a transaction), `get`, "
        "`exists`, `children`, `create`, `set`, `remove`",
    .is_brief = true};

inline constexpr const Metric* kProcessMetrics[] = {&kBuildInfo,
                                                    &kProcessCpu,
                                                    &kProcessMemory,
                                                    &kProcessStart,
                                                    &kProcessFiles,
                                                    &kProcessMostFiles,
                                                    &kReady,
                                                    &kProblems,
                                                    &kConfigurationLoaded,
                                                    &kConfigurationRejected,
                                                    &kLoopLag,
                                                    &kLoopStalls,
                                                    &kLogMessagesDropped,
                                                    &kStoreCalls};

}  // namespace nodepool::telemetry
