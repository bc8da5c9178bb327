#pragma once

#include "telemetry/metric.h"

// What launchers tell of nodes, requests and limits.
namespace nodepool::launcher {

inline constexpr telemetry::Metric kNodes{
    .name = "nodepool_nodes",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"state"}}},
    .statsd = {"nodepool.nodes.<state>"},
    .help =
        "nodes in that state; this and the three following are told by one launcher of all, "
        "which they elect, when something changes and every ten seconds"};

inline constexpr telemetry::Metric kNodesOfProvider{
    .name = "nodepool_provider_nodes",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}, {"state"}}},
    .statsd = {"nodepool.provider.<provider>.nodes.<state>"},
    .help = "the same by provider,"};

inline constexpr telemetry::Metric kNodesOfLabel{.name = "nodepool_label_nodes",
                                                 .kind = telemetry::Metric::Kind::gauge,
                                                 .labels = {{{"label"}, {"state"}}},
                                                 .statsd = {"nodepool.label.<label>.nodes.<state>"},
                                                 .help = "… and label"};

inline constexpr telemetry::Metric kAddressableRequests{
    .name = "nodepool_pool_addressable_requests",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}, {"pool"}}},
    .statsd = {"nodepool.provider.<provider>.pool.<pool>.addressable_requests"},
    .help = "requests, in any state, all of whose labels the pool has"};

inline constexpr telemetry::Metric kMaxServers{
    .name = "nodepool_provider_max_servers",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}}},
    .statsd = {"nodepool.provider.<provider>.max_servers"},
    .help = "of all its pools, every second; `inf` if one is unlimited"};

inline constexpr telemetry::Metric kTenantLimits{
    .name = "nodepool_tenant_limit",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"tenant", telemetry::KeyPart::one_level},
                {"resource", telemetry::KeyPart::one_level}}},
    .statsd = {"nodepool.tenant_limits.<tenant>.<resource>"},
    .help =
        "as configured, every second; `cores`, `instances` and `ram` are `inf` without a "
        "limit"};

inline constexpr const telemetry::Metric* kLauncherMetrics[] = {
    &kNodes,      &kNodesOfProvider, &kNodesOfLabel, &kAddressableRequests,
    &kMaxServers, &kTenantLimits};

}  // namespace nodepool::launcher
