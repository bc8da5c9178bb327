#include "telemetry/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/support/network.h"

namespace nodepool::telemetry {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr Metric kBirds{.name = "birds",
                        .kind = Metric::Kind::gauge,
                        .labels = {{{"wood"}}},
                        .statsd = {"birds.<wood>"},
                        .help = "birds in the wood"};
constexpr Metric kSongs{.name = "songs_total",
                        .kind = Metric::Kind::counter,
                        .statsd = {"nodepool.songs"},
                        .help = "songs that were heard"};
constexpr Metric kFlights{.name = "flight_seconds",
                          .kind = Metric::Kind::timer,
                          .statsd = {"nodepool.flights"},
                          .help = "how long birds were in the air"};
constexpr Metric kVisits{.name = "visit_seconds",
                         .kind = Metric::Kind::counted_timer,
                         .labels = {{{"wood", KeyPart::one_level}, {"why", KeyPart::words}}},
                         .statsd = {"visits.<wood>", "visits.<wood>.for.<why>"},
                         .help = "how long somebody was there"};

// A statsd server that records datagrams.
class UdpReceiver {
 public:
  explicit UdpReceiver(const std::string& port = "0", const char* host = test_support::kLoopback) {
    addrinfo* found = nullptr;
    if (::getaddrinfo(host, port.c_str(), nullptr, &found) != 0) throw std::runtime_error(host);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> address(found, &::freeaddrinfo);
    descriptor_ = ::socket(address->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in6 bound{};  // the port of an IPv4 address is at the same place
    socklen_t size = sizeof(bound);
    if (::bind(descriptor_, address->ai_addr, address->ai_addrlen) != 0 ||
        ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
      throw std::runtime_error("no UDP socket on the loopback interface");
    }
    port_ = ntohs(bound.sin6_port);
  }
  ~UdpReceiver() { ::close(descriptor_); }
  UdpReceiver(const UdpReceiver&) = delete;
  UdpReceiver& operator=(const UdpReceiver&) = delete;

  std::string port() const { return std::to_string(port_); }

  // The next datagram; "nothing" if none comes.
  std::string next() const {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, 10'000) != 1) return "nothing";
    std::array<char, 2048> buffer{};
    const ssize_t size = ::recv(descriptor_, buffer.data(), buffer.size(), 0);
    return {buffer.data(), static_cast<std::size_t>(size)};
  }

 private:
  int descriptor_ = -1;
  int port_ = 0;
};

class MetricsTest : public testing::Test {
 protected:
  std::vector<std::string> datagrams_;
  Metrics metrics_{[this](std::string_view datagram) { datagrams_.emplace_back(datagram); }};
};

TEST(Statsd, a_server_receives_every_kind_of_metric) {
  const UdpReceiver server;
  const Metrics metrics = Metrics::to_statsd("127.0.0.1", server.port());
  ASSERT_TRUE(metrics.enabled());
  metrics.count(series<kSongs>());
  EXPECT_EQ(server.next(), "nodepool.songs:1|c");
  metrics.time(series<kFlights>(), milliseconds(5));
  EXPECT_EQ(server.next(), "nodepool.flights:5.000000|ms");
  metrics.gauge(series<kBirds>("oak"), -1);
  EXPECT_EQ(server.next(), "birds.oak:0|g\nbirds.oak:-1|g");
}

TEST(Statsd, a_host_name_is_resolved) {
  const UdpReceiver server;
  const Metrics metrics = Metrics::to_statsd("", server.port());
  metrics.count(series<kSongs>());
  EXPECT_EQ(server.next(), "nodepool.songs:1|c");
}

TEST(Statsd, an_ipv6_address_will_do) {
  if (!test_support::has_ipv6_loopback()) GTEST_SKIP() << "this machine has no IPv6";
  const UdpReceiver server("0", test_support::kLoopback6);
  const Metrics metrics = Metrics::to_statsd(test_support::kLoopback6, server.port());
  metrics.count(series<kSongs>());
  EXPECT_EQ(server.next(), "nodepool.songs:1|c");
}

TEST(Statsd, without_host_and_port_nothing_is_sent) {
  const Metrics metrics = Metrics::to_statsd("", "");
  EXPECT_FALSE(metrics.enabled());
  metrics.time(series<kFlights>(), seconds(1));
}

TEST(Statsd, metrics_without_a_receiver_are_lost_without_an_error_and_later_ones_arrive) {
  std::string port;
  {
    const UdpReceiver gone;
    port = gone.port();
  }
  const Metrics metrics = Metrics::to_statsd("127.0.0.1", port);
  for (int i = 0; i < 9; ++i) metrics.count(series<kSongs>());
  const UdpReceiver back(port);
  metrics.count(series<kSongs>(), 2);
  std::string received = back.next();
  while (received == "nodepool.songs:1|c") received = back.next();  // a late one
  EXPECT_EQ(received, "nodepool.songs:2|c");
}

// The kernel refuses to connect to a broadcast address, as to one without a route.
TEST(Statsd, a_server_that_cannot_be_reached_prevents_no_start) {
  const Metrics metrics = Metrics::to_statsd("255.255.255.255", "");
  EXPECT_TRUE(metrics.enabled());
  metrics.count(series<kSongs>());
}

TEST(Statsd, an_invalid_server_is_rejected) {
  EXPECT_THROW(Metrics::to_statsd("no.such.host.invalid", ""), std::runtime_error);
  EXPECT_THROW(Metrics::to_statsd("127.0.0.1", "many"), std::runtime_error);
  EXPECT_THROW(Metrics::to_statsd("127.0.0.1", "70000"), std::runtime_error);
}

TEST_F(MetricsTest, figures_have_the_form_that_statsd_reads) {
  metrics_.count(series<kSongs>(), 3);
  metrics_.gauge(series<kBirds>("b"), 10);
  metrics_.gauge(series<kBirds>("c.org"), 0.5);
  metrics_.gauge(series<kBirds>("d"), std::numeric_limits<double>::infinity());
  metrics_.time(series<kFlights>(), microseconds(1500));
  EXPECT_THAT(datagrams_, ElementsAre("nodepool.songs:3|c", "birds.b:10|g", "birds.c.org:0.5|g",
                                      "birds.d:inf|g", "nodepool.flights:1.500000|ms"));
}

TEST_F(MetricsTest, a_timer_and_its_counter_travel_together) {
  metrics_.time(series<kVisits>("oak", ""), seconds(2));
  EXPECT_THAT(datagrams_, ElementsAre("visits.oak:2000.000000|ms\nvisits.oak:1|c"));
}

TEST_F(MetricsTest, a_batch_fills_datagrams_of_less_than_512_bytes) {
  {
    MetricsBatch batch(metrics_);
    for (int i = 100; i < 160; ++i) batch.gauge(series<kBirds>("wood" + std::to_string(i)), -i);
  }
  ASSERT_GT(datagrams_.size(), 1U);
  std::size_t lines = 0;
  for (const std::string& datagram : datagrams_) {
    EXPECT_LT(datagram.size(), 512U);
    // A negative gauge and the zero before it are in the same datagram.
    EXPECT_THAT(datagram.substr(0, datagram.find('\n')), HasSubstr(":0|g"));
    lines += 1 + static_cast<std::size_t>(std::ranges::count(datagram, '\n'));
  }
  EXPECT_EQ(lines, 120U);
}

TEST_F(MetricsTest, an_empty_batch_sends_nothing) {
  {
    const MetricsBatch batch(metrics_);
  }
  EXPECT_THAT(datagrams_, SizeIs(0));
}

TEST(MetricKeys, names_become_parts_of_keys) {
  const auto keys = [](std::string_view wood, std::string_view why) {
    return statsd_keys(series<kVisits>(wood, why));
  };
  EXPECT_THAT(keys("NodePool:min-ready", "compute: create server"),
              ElementsAre("visits.NodePool_min-ready",
                          "visits.NodePool_min-ready.for.compute_create_server"));
  EXPECT_THAT(keys("zuul.example.org", "a|b@c\nd"),
              ElementsAre("visits.zuul_example_org", "visits.zuul_example_org.for.a_b_c_d"));
}

TEST(MetricKeys, a_name_from_outside_adds_no_line) {
  EXPECT_THAT(statsd_keys(series<kBirds>("an oak:1|c\nother:5|g\x7f")),
              ElementsAre("birds.an oak_1_c_other_5_g_"));
  EXPECT_THAT(statsd_keys(series<kVisits>("oak\n|", "")), ElementsAre("visits.oak__"));
}

TEST(MetricKeys, a_key_with_a_label_that_has_no_value_is_left_out) {
  EXPECT_THAT(statsd_keys(series<kVisits>("oak", "")), ElementsAre("visits.oak"));
  EXPECT_THAT(statsd_keys(series<kVisits>("", "rest")), SizeIs(0));
}

TEST(MetricKeys, a_declaration_names_its_labels) {
  EXPECT_TRUE(is_sound(kVisits));
  Metric metric = kBirds;
  metric.statsd = {"birds.<tree>"};
  EXPECT_FALSE(is_sound(metric));
  metric.statsd = {"birds.<wood"};
  EXPECT_FALSE(is_sound(metric));
}

}  // namespace
}  // namespace nodepool::telemetry
