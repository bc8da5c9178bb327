#pragma once

#include <cstddef>
#include <string_view>

#include "async/clock.h"
#include "driver/cloud_error.h"
#include "model/node.h"
#include "telemetry/metrics.h"

namespace nodepool::driver {

// Tells how the launch of one node, or an attempt at it, has ended.
class LaunchMetrics {
 public:
  // The launch begins now: all times count from here.
  LaunchMetrics(telemetry::Metrics metrics, const async::Clock& clock)
      : metrics_(std::move(metrics)), clock_(clock), begun_(clock.now()) {}

  // `result` is one of the words below, or of result_of().
  void ended(std::string_view result, const model::Node& node) const;

  // So many calls of the cloud were made for the node.
  void called(std::size_t calls, const model::Node& node) const;

 private:
  telemetry::Metrics metrics_;
  const async::Clock& clock_;
  async::Clock::TimePoint begun_;
};

// Results, in the words of the Python Nodepool.
inline constexpr std::string_view kLaunchReady = "ready";
inline constexpr std::string_view kLaunchTimedOut = "error.servercreatetimeout";
inline constexpr std::string_view kLaunchKeyScanFailed = "error.keyscan";
inline constexpr std::string_view kLaunchWithoutAddress = "error.network";
inline constexpr std::string_view kLaunchAddressTimedOut = "error.ipadd";
inline constexpr std::string_view kLaunchSessionLost = "error.zksession";
inline constexpr std::string_view kLaunchFailed = "error.unknown";

// Tells that a node which was given back `seconds` ago has come to that stage of its removal
// (kDeletions).
void report_deletion(const telemetry::Metrics& metrics, std::string_view provider,
                     std::string_view stage, double seconds);

// The result of a launch that ended with this failure.
std::string_view result_of(const CloudError& error);

}  // namespace nodepool::driver
