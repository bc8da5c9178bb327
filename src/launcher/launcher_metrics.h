#pragma once

#include "telemetry/metric.h"

// Metrics of launchers.
namespace nodepool::launcher {

inline constexpr telemetry::Metric kNodes{.name = "nodepool_nodes",
                                          .kind = telemetry::Metric::Kind::gauge,
                                          .labels = {{{"state"}}},
                                          .statsd = {"nodepool.nodes.<state>"},
                                          .help = "Nodes by state."};

inline constexpr telemetry::Metric kNodesOfProvider{
    .name = "nodepool_provider_nodes",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}, {"state"}}},
    .statsd = {"nodepool.provider.<provider>.nodes.<state>"},
    .help = "Nodes of the provider by state."};

inline constexpr telemetry::Metric kNodesOfLabel{.name = "nodepool_label_nodes",
                                                 .kind = telemetry::Metric::Kind::gauge,
                                                 .labels = {{{"label"}, {"state"}}},
                                                 .statsd = {"nodepool.label.<label>.nodes.<state>"},
                                                 .help = "Nodes with the label by state."};

inline constexpr telemetry::Metric kAddressableRequests{
    .name = "nodepool_pool_addressable_requests",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}, {"pool"}}},
    .statsd = {"nodepool.provider.<provider>.pool.<pool>.addressable_requests"},
    .help = "Requests, in any state, whose labels the pool offers."};

inline constexpr telemetry::Metric kRequests{.name = "nodepool_requests",
                                             .kind = telemetry::Metric::Kind::gauge,
                                             .labels = {{{"state"}}},
                                             .statsd = {"nodepool.requests.<state>"},
                                             .help = "Requests by state."};

inline constexpr telemetry::Metric kOldestRequest{
    .name = "nodepool_oldest_request_seconds",
    .kind = telemetry::Metric::Kind::gauge,
    .statsd = {"nodepool.requests.oldest"},
    .help = "Age of the oldest request that is neither fulfilled nor failed; 0: none."};

inline constexpr telemetry::Metric kOldestRequestOfLabel{
    .name = "nodepool_label_oldest_request_seconds",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"label"}}},
    .statsd = {"nodepool.label.<label>.oldest_request"},
    .help = "Likewise, of the requests for the label."};

inline constexpr telemetry::Metric kRequestWait{
    .name = "nodepool_request_seconds",
    .kind = telemetry::Metric::Kind::timer,
    .labels = {{{"label"}, {"result"}}},
    .statsd = {"nodepool.label.<label>.request.<result>"},
    .help =
        "Time from the creation of a request until this launcher has `fulfilled` or `failed` it. "
        "Counts for each of its labels that a pool offers; requests for `min-ready` do not count."};

inline constexpr telemetry::Metric kMaxServers{
    .name = "nodepool_provider_max_servers",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"provider"}}},
    .statsd = {"nodepool.provider.<provider>.max_servers"},
    .help = "Sum of `max-servers` of the provider's pools; `inf` if one is unlimited."};

inline constexpr telemetry::Metric kTenantLimits{
    .name = "nodepool_tenant_limit",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"tenant", telemetry::KeyPart::one_level},
                {"resource", telemetry::KeyPart::one_level}}},
    .statsd = {"nodepool.tenant_limits.<tenant>.<resource>"},
    .help =
        "Configured limit of the tenant; `cores`, `instances` and `ram` are `inf` without a "
        "limit."};

inline constexpr telemetry::Metric kTableQueue{
    .name = "nodepool_table_queue",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"host"}, {"table"}}},
    .statsd = {"nodepool.launcher.<host>.zk.<table>_cache.event_queue"},
    .help =
        "Changes of the store that this launcher has not processed yet: `node`, `request`, "
        "`image`."};

inline constexpr telemetry::Metric kStoreQueue{
    .name = "nodepool_store_queue",
    .kind = telemetry::Metric::Kind::gauge,
    .labels = {{{"host"}}},
    .statsd = {"nodepool.launcher.<host>.zk.client.connection_queue"},
    .help = "Operations of the store that wait for a response."};

inline constexpr telemetry::Metric kHistoryEntriesDropped{
    .name = "nodepool_history_entries_dropped_total",
    .kind = telemetry::Metric::Kind::counter,
    .help = "Entries that could not be written to the history, usually because the disk is full."};

inline constexpr const telemetry::Metric* kLauncherMetrics[] = {&kNodes,
                                                                &kNodesOfProvider,
                                                                &kNodesOfLabel,
                                                                &kAddressableRequests,
                                                                &kRequests,
                                                                &kOldestRequest,
                                                                &kOldestRequestOfLabel,
                                                                &kRequestWait,
                                                                &kMaxServers,
                                                                &kTenantLimits,
                                                                &kTableQueue,
                                                                &kStoreQueue,
                                                                &kHistoryEntriesDropped};

}  // namespace nodepool::launcher
