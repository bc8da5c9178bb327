#pragma once

#include "telemetry/metric.h"

// Metrics of providers.
namespace nodepool::driver {

inline constexpr telemetry::Metric kLaunches{
    .name = "nodepool_launch_seconds",
    .kind = telemetry::Metric::Kind::counted_timer,
    .labels = {{{"provider"}, {"zone"}, {"requestor", telemetry::KeyPart::one_level}, {"result"}}},
    .statsd = {"nodepool.launch.<result>", "nodepool.launch.provider.<provider>.<result>",
               "nodepool.launch.provider.<provider>.<zone>.<result>",
               "nodepool.launch.requestor.<requestor>.<result>"},
    .help =
        "attempts at launching a node. `ready`, or `error.` with `quota`, `capacity`, `status`, "
        "`network`, `ipadd` (no floating IP in time), `keyscan`, `servercreatetimeout`, "
        "`zksession`, `unknown`. Times count from the first attempt"};

inline constexpr telemetry::Metric kBoots{
    .name = "nodepool_boot_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"label", telemetry::KeyPart::one_level}}},
    .statsd = {"nodepool.provider.<provider>.boot.<label>"},
    .help =
        "how long machines took from their creation until the cloud showed them running; those "
        "that another launcher has begun do not count"};

inline constexpr telemetry::Metric kLaunchStages{
    .name = "nodepool_launch_stage_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"stage"}}},
    .statsd = {"nodepool.provider.<provider>.stage.<stage>"},
    .help =
        "how long each stage of making a node took, from the end of the one before: `decided` "
        "(from "
        "when the request was made), `booked` (its record written and the room found), `turn` "
        "(max-concurrency), `created` (the cloud has accepted it), `active` (it runs), `port` (it "
        "lets itself be connected to), `keys` (its host keys are read), `ready` (its record says "
        "so); of the attempt that came so far"};

inline constexpr telemetry::Metric kLaunchCalls{
    .name = "nodepool_launch_calls_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"provider"}, {"label", telemetry::KeyPart::one_level}}},
    .statsd = {"nodepool.provider.<provider>.launch_calls.<label>"},
    .help =
        "calls of the cloud for single launches, failed attempts and their undoing included; lists "
        "that launches share are not anybody's"};

inline constexpr telemetry::Metric kRemovals{
    .name = "nodepool_deletion_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"stage"}}},
    .statsd = {"nodepool.provider.<provider>.removal.<stage>"},
    .help =
        "how long after a node was given back, or its deletion ordered, its cloud had `accepted` "
        "the deletion, and it was `gone`"};

inline constexpr telemetry::Metric kLeakedResources{
    .name = "nodepool_leaked_resources_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"provider"}, {"type"}}},
    .statsd = {"nodepool.provider.<provider>.leaked.<type>s"},
    .help = "left-over resources that were deleted"};

inline constexpr telemetry::Metric kHostsUnhealthy{
    .name = "nodepool_hosts_unhealthy",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}}},
    .statsd = {"nodepool.provider.<provider>.hosts_unhealthy"},
    .help = "static hosts that this launcher cannot hand out"};

inline constexpr telemetry::Metric kTaskQueue{.name = "nodepool_task_queue",
                                              .kind = telemetry::Metric::Kind::gauge,
                                              .labels = {{{"provider"}}},
                                              .statsd = {"nodepool.provider.<provider>.task_queue"},
                                              .help = "blocking calls that wait for their turn"};

inline constexpr telemetry::Metric kTaskWaits{
    .name = "nodepool_task_wait_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"call"}}},
    .statsd = {"nodepool.provider.<provider>.task_wait.<call>"},
    .help = "how long blocking calls have waited for their turn"};

inline constexpr telemetry::Metric kTasksAbandoned{
    .name = "nodepool_tasks_abandoned_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"provider"}}},
    .statsd = {"nodepool.provider.<provider>.tasks_left_behind"},
    .help = "blocking calls that did not return in time"};

inline constexpr const telemetry::Metric* kDriverMetrics[] = {
    &kLaunches,        &kBoots,          &kLaunchStages, &kLaunchCalls, &kRemovals,
    &kLeakedResources, &kHostsUnhealthy, &kTaskQueue,    &kTaskWaits,   &kTasksAbandoned};

}  // namespace nodepool::driver
