#include "telemetry/metrics.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace nodepool::telemetry {

namespace {

constexpr std::string_view kDefaultHost = "localhost";
constexpr std::string_view kDefaultPort = "8125";

// A datagram of this size is never fragmented.
constexpr std::size_t kLargestDatagram = 511;

// Lines of the statsd protocol. Reference: github.com/statsd/statsd, docs/metric_types.md.
std::string count_line(std::string_view key, std::int64_t increment) {
  return fmt::format("{}:{}|c", key, increment);
}

std::string time_line(std::string_view key, std::chrono::nanoseconds duration) {
  const std::chrono::duration<double, std::milli> milliseconds = duration;
  return fmt::format("{}:{:.6f}|ms", key, milliseconds.count());
}

// statsd takes a signed value for a change of the gauge, so a negative one is sent after a zero.
std::string gauge_lines(std::string_view key, double value) {
  const std::string line = fmt::format("{}:{}|g", key, value);
  return value < 0 ? fmt::format("{}:0|g\n{}", key, line) : line;
}

// A UDP socket. It is not connected: it needs no route at the start, follows changes of the host's
// own address, and ICMP errors drop no datagrams.
class StatsdSocket {
 public:
  StatsdSocket(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
    if (error != 0) {
      throw std::runtime_error(fmt::format("cannot resolve the statsd server {}, port {}: {}", host,
                                           port, ::gai_strerror(error)));
    }
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
    const addrinfo* server = preferred(found);
    descriptor_ = ::socket(server->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor_ < 0) {
      throw std::system_error(errno, std::generic_category(), "cannot open a socket for statsd");
    }
    std::memcpy(&server_, server->ai_addr, server->ai_addrlen);
    size_ = server->ai_addrlen;
  }
  ~StatsdSocket() { ::close(descriptor_); }
  StatsdSocket(const StatsdSocket&) = delete;
  StatsdSocket& operator=(const StatsdSocket&) = delete;

  void send(std::string_view datagram) const {
    ::sendto(descriptor_, datagram.data(), datagram.size(), MSG_NOSIGNAL,
             reinterpret_cast<const sockaddr*>(&server_), size_);
  }

 private:
  // The first IPv4 address, the only kind that the Python Nodepool uses; else the first one.
  static const addrinfo* preferred(const addrinfo* found) {
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      if (each->ai_family == AF_INET) return each;
    }
    return found;
  }

  int descriptor_ = -1;
  sockaddr_storage server_{};
  socklen_t size_ = 0;  // of the address
};

void require_port(const std::string& port) {
  std::uint16_t number = 0;
  const char* end = port.data() + port.size();
  const auto [stop, error] = std::from_chars(port.data(), end, number);
  if (error != std::errc() || stop != end || number == 0) {
    throw std::runtime_error("STATSD_PORT: \"" + port + "\" is not a port (1 to 65535)");
  }
}

}  // namespace

Metrics Metrics::to_statsd(const std::string& host, const std::string& port) {
  if (host.empty() && port.empty()) return Metrics();
  const std::string known_port(port.empty() ? kDefaultPort : port);
  require_port(known_port);
  auto socket = std::make_shared<const StatsdSocket>(
      std::string(host.empty() ? kDefaultHost : host), known_port);
  return Metrics(
      [socket = std::move(socket)](std::string_view datagram) { socket->send(datagram); });
}

Metrics Metrics::also_to(std::shared_ptr<MetricsRegistry> registry) const {
  Metrics both = *this;
  both.registry_ = std::move(registry);
  return both;
}

Metrics Metrics::to_statsd_alone() const {
  Metrics one = *this;
  one.registry_ = nullptr;
  return one;
}

void Metrics::send(std::string_view datagram) const {
  if (send_) (*send_)(datagram);
}

void Metrics::count(const Series& series, std::int64_t increment) const {
  MetricsBatch(*this).count(series, increment);
}

void Metrics::gauge(const Series& series, double value) const {
  MetricsBatch(*this).gauge(series, value);
}

void Metrics::time(const Series& series, std::chrono::nanoseconds duration) const {
  MetricsBatch(*this).time(series, duration);
}

MetricsBatch::~MetricsBatch() {
  if (!datagram_.empty()) metrics_.send(datagram_);
}

// Never splits `lines`.
void MetricsBatch::add(std::string_view lines) {
  if (!datagram_.empty() && datagram_.size() + 1 + lines.size() > kLargestDatagram) {
    metrics_.send(datagram_);
    datagram_.clear();
  }
  if (!datagram_.empty()) datagram_ += '\n';
  datagram_ += lines;
}

void MetricsBatch::count(const Series& series, std::int64_t increment) {
  assert(series.metric->kind == Metric::Kind::counter);
  if (metrics_.registry_) metrics_.registry_->count(series, increment);
  if (!metrics_.has_statsd()) return;
  for (const std::string& key : statsd_keys(series)) add(count_line(key, increment));
}

void MetricsBatch::gauge(const Series& series, double value) {
  assert(series.metric->kind == Metric::Kind::gauge);
  if (metrics_.registry_) metrics_.registry_->gauge(series, value);
  if (!metrics_.has_statsd()) return;
  for (const std::string& key : statsd_keys(series)) add(gauge_lines(key, value));
}

void MetricsBatch::time(const Series& series, std::chrono::nanoseconds duration) {
  const bool is_counted = series.metric->kind == Metric::Kind::counted_timer;
  assert(is_counted || series.metric->kind == Metric::Kind::timer);
  if (metrics_.registry_) metrics_.registry_->time(series, duration);
  if (!metrics_.has_statsd()) return;
  for (const std::string& key : statsd_keys(series)) {
    add(time_line(key, duration));
    if (is_counted) add(count_line(key, 1));
  }
}

}  // namespace nodepool::telemetry
