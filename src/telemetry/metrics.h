#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace nodepool::telemetry {

// Where the figures of a process go: a statsd server, or nowhere. Cheap to copy. Keys and times are
// those of the Python Nodepool. Never blocks and never fails: what cannot be sent is lost.
//
//   metrics.count("nodepool.provider.rack.leaked.instances");
class Metrics {
 public:
  // Takes lines of the statsd protocol, joined by '\n'.
  using Send = std::function<void(std::string_view datagram)>;

  // Figures that go nowhere.
  Metrics() = default;

  // Hands every datagram to `send`: for tests.
  explicit Metrics(Send send) : send_(std::make_shared<const Send>(std::move(send))) {}

  // Sends to a statsd server over UDP. Either of `host` and `port` may be empty, for "localhost"
  // and 8125; if both are, the figures go nowhere: they are what STATSD_HOST and STATSD_PORT say.
  // Looks the name up, which blocks. Throws std::runtime_error if there is no IPv4 address of that
  // name, or `port` is none.
  static Metrics to_statsd(const std::string& host, const std::string& port);

  // Whether anybody listens.
  bool enabled() const { return send_ != nullptr; }

  void count(std::string_view key, std::int64_t increment = 1) const;
  void gauge(std::string_view key, double value) const;
  void time(std::string_view key, std::chrono::nanoseconds duration) const;

  // A timer with a counter of the same key.
  void time_and_count(std::string_view key, std::chrono::nanoseconds duration) const;

 private:
  friend class MetricsBatch;
  void send(std::string_view datagram) const;

  std::shared_ptr<const Send> send_;  // nullptr: nowhere
};

// Figures that belong together, in as few datagrams as they fit into. Its end sends them.
class MetricsBatch {
 public:
  explicit MetricsBatch(const Metrics& metrics) : metrics_(metrics) {}
  ~MetricsBatch();
  MetricsBatch(const MetricsBatch&) = delete;
  MetricsBatch& operator=(const MetricsBatch&) = delete;

  void count(std::string_view key, std::int64_t increment = 1);
  void gauge(std::string_view key, double value);
  void time(std::string_view key, std::chrono::nanoseconds duration);
  void time_and_count(std::string_view key, std::chrono::nanoseconds duration);

 private:
  void add(std::string_view lines);

  const Metrics& metrics_;
  std::string datagram_;
};

// A name as a part of a key, where it would otherwise add levels or end the key: '.' and ':' become
// '_'. The Python Nodepool does this for the names of requestors, tenants and their resources only.
std::string key_part(std::string_view name);

// A free text as a part of a key: all that is no letter, digit, '-' or '_' becomes one '_'.
// "compute: create server" -> "compute_create_server".
std::string key_part_of_text(std::string_view text);

}  // namespace nodepool::telemetry
