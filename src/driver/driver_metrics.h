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
        "Launch attempts: `ready`, or `error.` with `quota`, `capacity`, `status`, `network`, "
        "`ipadd` (no floating IP in time), `keyscan`, `nodepool` (no token of a new Kubernetes "
        "namespace), `servercreatetimeout`, `zksession`, `unknown`. Durations count from the first "
        "attempt."};

inline constexpr telemetry::Metric kBoots{
    .name = "nodepool_boot_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"label", telemetry::KeyPart::one_level}}},
    .statsd = {"nodepool.provider.<provider>.boot.<label>"},
    .help =
        "Time from the creation of a machine until the cloud reports it as running. Machines "
        "created by another launcher are not counted."};

inline constexpr telemetry::Metric kLaunchStages{
    .name = "nodepool_launch_stage_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"stage"}}},
    .statsd = {"nodepool.provider.<provider>.stage.<stage>"},
    .help =
        "Duration of each launch stage, from the end of the previous one. Stages: `decided` (from "
        "the creation of the request), `reserved` (record written), `turn` (of "
        "`max-concurrency`), `created` (accepted by the cloud), `active` (running), `port` "
        "(accepts connections), `keys` (host keys read), `ready` (recorded). Only stages that an "
        "attempt has reached are counted."};

inline constexpr telemetry::Metric kLaunchCalls{
    .name = "nodepool_launch_calls_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"provider"}, {"label", telemetry::KeyPart::one_level}}},
    .statsd = {"nodepool.provider.<provider>.launch_calls.<label>"},
    .help =
        "Cloud calls for single launches, including failed attempts and their rollback. List calls "
        "that launches share are not counted."};

inline constexpr telemetry::Metric kDeletions{
    .name = "nodepool_deletion_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"stage"}}},
    .statsd = {"nodepool.provider.<provider>.deletion.<stage>"},
    .help =
        "Time from the release of a node, or the request to delete it, until the cloud has "
        "`accepted` the deletion, and until the machine is `gone`."};

inline constexpr telemetry::Metric kLeakedResources{
    .name = "nodepool_leaked_resources_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"provider"}, {"type"}}},
    .statsd = {"nodepool.provider.<provider>.leaked.<type>s"},
    .help = "Leaked resources that were deleted."};

inline constexpr telemetry::Metric kHostsUnhealthy{
    .name = "nodepool_hosts_unhealthy",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}}},
    .statsd = {"nodepool.provider.<provider>.hosts_unhealthy"},
    .help = "Static hosts that are unhealthy for this launcher."};

inline constexpr telemetry::Metric kTaskQueue{.name = "nodepool_task_queue",
                                              .kind = telemetry::Metric::Kind::gauge,
                                              .labels = {{{"provider"}}},
                                              .statsd = {"nodepool.provider.<provider>.task_queue"},
                                              .help = "Blocking calls in the queue."};

inline constexpr telemetry::Metric kTaskWaits{
    .name = "nodepool_task_wait_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"provider"}, {"call"}}},
    .statsd = {"nodepool.provider.<provider>.task_wait.<call>"},
    .help = "Wait time of blocking calls in the queue."};

inline constexpr telemetry::Metric kTasksAbandoned{
    .name = "nodepool_tasks_abandoned_total",
    .kind = telemetry::Metric::Kind::counter,
    .labels = {{{"provider"}}},
    .statsd = {"nodepool.provider.<provider>.tasks_abandoned"},
    .help = "Blocking calls that were abandoned because they did not return in time."};

inline constexpr const telemetry::Metric* kDriverMetrics[] = {
    &kLaunches,        &kBoots,          &kLaunchStages, &kLaunchCalls, &kDeletions,
    &kLeakedResources, &kHostsUnhealthy, &kTaskQueue,    &kTaskWaits,   &kTasksAbandoned};

}  // namespace nodepool::driver
