#pragma once

#include "telemetry/metric.h"

// The metrics of every daemon. The names that begin with `process_` are the standard ones of
// Prometheus clients.
namespace nodepool::telemetry {

inline constexpr Metric kBuildInfo{.name = "nodepool_build_info",
                                   .kind = Metric::Kind::gauge,
                                   .labels = {{{"version"}}},
                                   .help = "Always 1; the label is the running version."};

inline constexpr Metric kProcessCpu{.name = "process_cpu_seconds_total",
                                    .kind = Metric::Kind::counter,
                                    .help = "User and system CPU time, in seconds."};

inline constexpr Metric kProcessMemory{.name = "process_resident_memory_bytes",
                                       .kind = Metric::Kind::gauge,
                                       .help = "Resident memory."};

inline constexpr Metric kProcessStart{.name = "process_start_time_seconds",
                                      .kind = Metric::Kind::gauge,
                                      .help = "Start time of the process, in seconds since 1970."};

inline constexpr Metric kProcessFiles{
    .name = "process_open_fds", .kind = Metric::Kind::gauge, .help = "Open file descriptors."};

inline constexpr Metric kProcessMostFiles{.name = "process_max_fds",
                                          .kind = Metric::Kind::gauge,
                                          .help = "Maximum number of open file descriptors."};

inline constexpr Metric kReady{.name = "nodepool_ready",
                               .kind = Metric::Kind::gauge,
                               .help = "1: the daemon is ready, as reported by `/ready`; else 0."};

inline constexpr Metric kProblems{.name = "nodepool_problems",
                                  .kind = Metric::Kind::gauge,
                                  .help = "Number of obstacles and warnings in `/ready?detail`."};

inline constexpr Metric kConfigurationLoaded{
    .name = "nodepool_configuration_loaded_seconds",
    .kind = Metric::Kind::gauge,
    .help = "Load time of the active configuration, in seconds since 1970."};

inline constexpr Metric kConfigurationRejected{
    .name = "nodepool_configuration_rejected",
    .kind = Metric::Kind::gauge,
    .help = "1: the newest configuration on disk was rejected; else 0."};

inline constexpr Metric kLoopLag{
    .name = "nodepool_loop_lag_seconds",
    .kind = Metric::Kind::timer,
    .help = "Wait time of tasks for the event loop; sampled every 5 s.",
    .is_brief = true};

inline constexpr Metric kLoopStalls{
    .name = "nodepool_loop_stalls_total",
    .kind = Metric::Kind::counter,
    .help = "Stalls of the event loop of 5 s or more; the log names the place."};

inline constexpr Metric kLogMessagesDropped{
    .name = "nodepool_log_messages_dropped_total",
    .kind = Metric::Kind::counter,
    .help = "Messages that could not be written to the log, usually because the disk is full."};

inline constexpr Metric kStoreCalls{
    .name = "nodepool_store_call_seconds",
    .kind = Metric::Kind::timer,
    .labels = {{{"operation"}}},
    .help =
        "Calls of the store, until the response: `commit` (a transaction), `get`, `exists`, "
        "`children`, `create`, `set`, `remove`.",
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
