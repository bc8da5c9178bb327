#pragma once

#include "telemetry/metric.h"

// Calls of the clouds' APIs, by all clients.
namespace nodepool::telemetry {

inline constexpr Metric kCloudCalls{.name = "nodepool_cloud_call_seconds",
                                    .kind = Metric::Kind::counted_timer,
                                    .labels = {{{"provider"}, {"call", KeyPart::words}}},
                                    .statsd = {"nodepool.task.<provider>.<call>"},
                                    .help = "Calls of the cloud; for HTTP, each attempt."};

inline constexpr Metric kCloudResponses{
    .name = "nodepool_cloud_responses_total",
    .kind = Metric::Kind::counter,
    .labels = {{{"provider"}, {"call", KeyPart::words}, {"status"}}},
    .statsd = {"nodepool.task.<provider>.<call>.<status>"},
    .help = "HTTP responses by status; 0: no response."};

inline constexpr const Metric* kCloudCallMetrics[] = {&kCloudCalls, &kCloudResponses};

}  // namespace nodepool::telemetry
