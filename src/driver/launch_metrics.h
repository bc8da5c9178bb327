#pragma once

#include <cstddef>
#include <string_view>

#include "async/clock.h"
#include "driver/cloud_error.h"
#include "model/node.h"
#include "telemetry/metrics.h"

namespace nodepool::driver {

// Reports the metrics of one launch.
class LaunchMetrics {
 public:
  // The launch begins now: all times count from here.
  LaunchMetrics(telemetry::Metrics metrics, const async::Clock& clock)
      : metrics_(std::move(metrics)), clock_(clock), begun_(clock.now()) {}

  // The launch, or an attempt of it, has ended. `result` is a constant below or from result_of().
  void ended(std::string_view result, const model::Node& node) const;

  // Adds to the number of cloud calls for the node's label.
  void called(std::size_t calls, const model::Node& node) const;

 private:
  telemetry::Metrics metrics_;
  const async::Clock& clock_;
  async::Clock::TimePoint begun_;
};

// Results of launches. Source: the Python Nodepool's metrics.
inline constexpr std::string_view kLaunchReady = "ready";
inline constexpr std::string_view kLaunchTimedOut = "error.servercreatetimeout";
inline constexpr std::string_view kLaunchKeyScanFailed = "error.keyscan";
inline constexpr std::string_view kLaunchWithoutAddress = "error.network";
inline constexpr std::string_view kLaunchAddressTimedOut = "error.ipadd";
inline constexpr std::string_view kLaunchSessionLost = "error.zksession";
inline constexpr std::string_view kLaunchInternal = "error.nodepool";
inline constexpr std::string_view kLaunchFailed = "error.unknown";

// Reports that a node released `seconds` ago has reached a stage of its deletion (kDeletions).
void report_deletion(const telemetry::Metrics& metrics, std::string_view provider,
                     std::string_view stage, double seconds);

// The result of a launch that failed with this error.
std::string_view result_of(const CloudError& error);

}  // namespace nodepool::driver
