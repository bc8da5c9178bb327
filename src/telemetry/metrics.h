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

// Where the figures of a process go: a statsd server, those who ask for them, or nowhere. Cheap to
// copy. Keys and times are those of the Python Nodepool. Never blocks and never fails: what cannot
// be sent is lost.
//
//   metrics.count(telemetry::series<driver::kLeakedResources>("rack", "instance"));
class Metrics {
 public:
  // Takes lines of the statsd protocol, joined by '\n'.
  using Send = std::function<void(std::string_view datagram)>;

  // MetricsRegistry that go nowhere.
  Metrics() = default;

  // Hands every datagram to `send`: for tests.
  explicit Metrics(Send send) : send_(std::make_shared<const Send>(std::move(send))) {}

  // Sends to a statsd server over UDP. Either of `host` and `port` may be empty, for "localhost"
  // and 8125; if both are, the figures go nowhere: they are what STATSD_HOST and STATSD_PORT say.
  // Looks the name up, which blocks. Throws std::runtime_error if there is no IPv4 address of that
  // name, or `port` is none.
  static Metrics to_statsd(const std::string& host, const std::string& port);

  // These, and to whoever asks for them, from now on.
  Metrics also_to(std::shared_ptr<MetricsRegistry> registry) const;

  // Only to the statsd server, if there is one.
  Metrics to_statsd_alone() const;

  // What is told of them to whoever asks; null: nobody asks.
  const MetricsRegistry* registry() const { return registry_.get(); }

  // Whether anybody wants them.
  bool enabled() const { return has_statsd() || registry_ != nullptr; }

  // Whether there is a statsd server.
  bool has_statsd() const { return send_ != nullptr; }

  // The kind of the series' metric says which of these it is.
  void count(const Series& series, std::int64_t increment = 1) const;
  void gauge(const Series& series, double value) const;
  void time(const Series& series, std::chrono::nanoseconds duration) const;

 private:
  friend class MetricsBatch;
  void send(std::string_view datagram) const;

  std::shared_ptr<const Send> send_;           // nullptr: nowhere
  std::shared_ptr<MetricsRegistry> registry_;  // nullptr: nobody asks
};

// MetricsRegistry that belong together, in as few datagrams as they fit into. Its end sends them.
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
