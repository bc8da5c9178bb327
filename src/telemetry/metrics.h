#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "telemetry/metric.h"
#include "telemetry/metrics_registry.h"

namespace nodepool::telemetry {

// Emits the metrics of a process to a statsd server, to a registry, to both or nowhere. Cheap to
// copy. statsd keys and units are the Python Nodepool's. Never blocks and never fails: values that
// cannot be sent are dropped.
//
//   metrics.count(telemetry::series<driver::kLeakedResources>("rack", "instance"));
class Metrics {
 public:
  // Gets lines of the statsd protocol, joined by '\n'.
  using Send = std::function<void(std::string_view datagram)>;

  // Emits nothing.
  Metrics() = default;

  // Passes every datagram to `send`, for tests.
  explicit Metrics(Send send) : send_(std::make_shared<const Send>(std::move(send))) {}

  // Sends to a statsd server over UDP. `host` and `port` are the values of STATSD_HOST and
  // STATSD_PORT: either may be empty, for "localhost" and 8125; if both are, emits nothing.
  // Resolves the name, which blocks, and prefers its IPv4 addresses. Throws std::runtime_error if
  // the name has no address, or `port` is not a port.
  static Metrics to_statsd(const std::string& host, const std::string& port);

  // A copy that also updates `registry`.
  Metrics also_to(std::shared_ptr<MetricsRegistry> registry) const;

  // A copy without the registry.
  Metrics to_statsd_alone() const;

  // The registry; null if there is none.
  const MetricsRegistry* registry() const { return registry_.get(); }

  // Whether there is a statsd server or a registry.
  bool enabled() const { return has_statsd() || registry_ != nullptr; }

  // Whether there is a statsd server.
  bool has_statsd() const { return send_ != nullptr; }

  // Call the function for the kind of the series' metric.
  void count(const Series& series, std::int64_t increment = 1) const;
  void gauge(const Series& series, double value) const;
  void time(const Series& series, std::chrono::nanoseconds duration) const;

 private:
  friend class MetricsBatch;
  void send(std::string_view datagram) const;

  std::shared_ptr<const Send> send_;           // nullptr: no statsd server
  std::shared_ptr<MetricsRegistry> registry_;  // nullptr: none
};

// Packs several values into as few datagrams as possible. Its destruction sends the last one.
class MetricsBatch {
 public:
  explicit MetricsBatch(const Metrics& metrics) : metrics_(metrics) {}
  ~MetricsBatch();
  MetricsBatch(const MetricsBatch&) = delete;
  MetricsBatch& operator=(const MetricsBatch&) = delete;

  void count(const Series& series, std::int64_t increment = 1);
  void gauge(const Series& series, double value);
  void time(const Series& series, std::chrono::nanoseconds duration);

 private:
  void add(std::string_view lines);

  const Metrics& metrics_;
  std::string datagram_;
};

}  // namespace nodepool::telemetry
