#include "http/attempt_metrics.h"

#include <gtest/gtest.h>

#include <string>

namespace nodepool::http {
namespace {

TEST(AttemptMetrics, every_attempt_is_timed_and_counted_by_its_status) {
  std::string sent;
  const telemetry::Metrics metrics([&sent](std::string_view datagram) { sent = datagram; });
  const Client::Observer observe = attempt_metrics(metrics, "rack");
  const std::string name = "compute: create server";
  const std::string method = "POST";
  observe({.name = name, .method = method, .status = 202, .seconds = 0.25});
  EXPECT_EQ(sent,
            "nodepool.task.rack.compute_create_server:250.000000|ms\n"
            "nodepool.task.rack.compute_create_server:1|c\n"
            "nodepool.task.rack.compute_create_server.202:1|c");
}

TEST(AttemptMetrics, without_a_metrics_receiver_there_is_no_observer) {
  EXPECT_FALSE(attempt_metrics(telemetry::Metrics(), "rack"));
}

}  // namespace
}  // namespace nodepool::http
