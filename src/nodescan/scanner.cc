#include "nodescan/scanner.h"

#include <string_view>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/deadline.h"
#include "async/slots.h"
#include "nodescan/address.h"
#include "nodescan/connection.h"

namespace nodepool::nodescan {

namespace {

constexpr char kQueued[] = "Still queued behind other scans";
constexpr char kNoExchange[] = "Connected, but the SSH key exchange timed out";

// More than one, because a busy SSH server refuses connections at random.
constexpr int kTriesPerKeyType = 2;

struct KeyType {
  std::string_view name;
  std::string_view algorithms;  // signature algorithms for the key, by preference
};

constexpr KeyType kKeyTypes[] = {
    {"ssh-ed25519", "ssh-ed25519"},
    {"ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256"},
    {"ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384"},
    {"ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521"},
    // Some old network devices sign only with SHA-1.
    {"ssh-rsa", "rsa-sha2-512,rsa-sha2-256,ssh-rsa"},
};

std::string all_algorithms() {
  std::string all;
  for (const KeyType& type : kKeyTypes) {
    if (!all.empty()) all += ',';
    all += type.algorithms;
  }
  return all;
}

struct Target {
  std::string host;  // name or address, as passed by the caller
  Address address;
  std::uint16_t port;
  async::Clock::TimePoint deadline;
};

std::string to_string(const Target& target) {
  return target.host + " on port " + std::to_string(target.port);
}

// Reports the outcome of one connection to the task's tracer.
async::Task<> trace_connection(const Target& target, std::string outcome) {
  const auto tracer = async::tracer_of(co_await boost::asio::this_coro::executor);
  if (tracer) tracer->connected(to_string(target), outcome);
}

// Prefers the last failure to the timeout as the reason.
ScanError timeout_error(const Target& target, const std::string& last_failure) {
  return {ScanError::Kind::timeout,
          last_failure.empty() ? "Timeout connecting to " + to_string(target)
                               : "Could not contact " + to_string(target) + ": " + last_failure};
}

}  // namespace

struct NetworkScanner::Impl {
  Impl(const async::Runtime& on, async::ThreadPool& threads, const ScanLimits& with)
      : runtime(on), pool(threads), limits(with), slots(with.concurrent_scans) {}

  async::Task<Target> find(std::string host, std::uint16_t port, async::Clock::TimePoint deadline);

  // Queues and runs `scan`, and cancels it at the deadline.
  template <typename T>
  async::Task<T> limit(const Target& target, Progress& progress, async::Task<T> scan);
  template <typename T>
  async::Task<T> in_turn(Progress& progress, async::Task<T> scan);

  async::Task<> open_connection(const Target& target, Attempts attempts, Progress& progress);
  async::Task<Attempt<std::string>> read_key(const Target& target, std::string algorithms,
                                             Progress& progress);
  async::Task<std::string> first_key(const Target& target, Progress& progress);
  async::Task<std::string> key_of_type(const Target& target, const KeyType& type,
                                       Progress& progress);
  async::Task<std::vector<std::string>> further_keys(const Target& target, std::string first,
                                                     Progress& progress);
  async::Task<std::vector<std::string>> gather_keys(const Target& target, Progress& progress);

  async::Runtime runtime;
  async::ThreadPool& pool;
  ScanLimits limits;
  async::Slots slots;
};

async::Task<Target> NetworkScanner::Impl::find(std::string host, std::uint16_t port,
                                               async::Clock::TimePoint deadline) {
  Address address = co_await resolve(runtime, pool, host, deadline);
  co_return Target{std::move(host), std::move(address), port, deadline};
}

template <typename T>
async::Task<T> NetworkScanner::Impl::limit(const Target& target, Progress& progress,
                                           async::Task<T> scan) {
  auto limited = async::with_deadline(runtime.clock, target.deadline,
                                      in_turn(progress, std::move(scan)), to_string(target));
  try {
    co_return co_await std::move(limited);
  } catch (const async::DeadlineExceeded&) {
    throw timeout_error(target, progress.last_failure);
  }
}

template <typename T>
async::Task<T> NetworkScanner::Impl::in_turn(Progress& progress, async::Task<T> scan) {
  progress.last_failure = kQueued;
  const async::Slots::Hold turn = co_await slots.take();
  progress.last_failure.clear();
  co_return co_await std::move(scan);
}

async::Task<> NetworkScanner::Impl::open_connection(const Target& target, Attempts attempts,
                                                    Progress& progress) {
  async::Clock& clock = runtime.clock;
  while (true) {
    ++progress.attempts;
    const auto until =
        attempts == Attempts::one ? async::Clock::TimePoint::max() : clock.now() + limits.connect;
    const auto socket = co_await connect(clock, target.address, target.port, until);
    if (socket) co_return;
    progress.last_failure = socket.error().text;
    co_await trace_connection(target, progress.last_failure);
    if (attempts == Attempts::one) {
      throw ScanError(ScanError::Kind::unreachable,
                      "Could not connect to " + to_string(target) + ": " + progress.last_failure);
    }
    co_await clock.sleep_for(limits.pause);
  }
}

async::Task<Attempt<std::string>> NetworkScanner::Impl::read_key(const Target& target,
                                                                 std::string algorithms,
                                                                 Progress& progress) {
  async::Clock& clock = runtime.clock;
  auto socket = co_await connect(clock, target.address, target.port, clock.now() + limits.connect);
  if (!socket) co_return std::unexpected(std::move(socket.error()));
  if (!progress.connected) progress.connected = clock.now();
  // The reason, if the scan's deadline comes before the exchange's.
  progress.last_failure = kNoExchange;
  auto reading =
      read_host_key(clock, *socket, std::move(algorithms), clock.now() + limits.exchange);
  auto key = co_await std::move(reading);
  progress.last_failure.clear();
  co_return key;
}

// Offers all algorithms: waits until the SSH server works, whatever keys it has.
async::Task<std::string> NetworkScanner::Impl::first_key(const Target& target, Progress& progress) {
  while (true) {
    ++progress.attempts;
    auto reading = read_key(target, all_algorithms(), progress);
    auto key = co_await std::move(reading);
    progress.last_failure = key ? "" : std::move(key.error().text);
    if (key) co_return std::move(*key);
    co_await trace_connection(target, progress.last_failure);
    co_await runtime.clock.sleep_for(limits.pause);
  }
}

// Empty if the host has no such key, or reading it failed.
async::Task<std::string> NetworkScanner::Impl::key_of_type(const Target& target,
                                                           const KeyType& type,
                                                           Progress& progress) {
  for (int i = 0; i < kTriesPerKeyType; ++i) {
    // A machine that is being launched has to be ready in time.
    const bool may_wait = limits.deadline == ScanLimits::Deadline::first_key;
    if (i > 0 && may_wait) co_await runtime.clock.sleep_for(limits.pause);
    auto reading = read_key(target, std::string(type.algorithms), progress);
    auto key = co_await std::move(reading);
    if (key) co_return std::move(*key);
    if (key.error().stage == Failure::Stage::no_common_algorithm) co_return std::string();
    const bool connected = key.error().stage == Failure::Stage::negotiating;
    ++(connected ? progress.failed_negotiations : progress.failed_connections);
    progress.last_failure = std::move(key.error().text);
    co_await trace_connection(target, progress.last_failure);
  }
  progress.unread.emplace(type.name, progress.last_failure);
  co_return std::string();
}

// Returns all keys, including the first one.
async::Task<std::vector<std::string>> NetworkScanner::Impl::further_keys(const Target& target,
                                                                         std::string first,
                                                                         Progress& progress) {
  std::vector<std::string> keys;
  for (const KeyType& type : kKeyTypes) {
    if (first.starts_with(std::string(type.name) + " ")) {
      keys.push_back(first);
      continue;
    }
    std::string key = co_await key_of_type(target, type, progress);
    if (!key.empty()) keys.push_back(std::move(key));
  }
  co_return keys;
}

async::Task<std::vector<std::string>> NetworkScanner::Impl::gather_keys(const Target& target,
                                                                        Progress& progress) {
  std::string first = co_await first_key(target, progress);
  auto reading = further_keys(target, std::move(first), progress);
  co_return co_await std::move(reading);
}

NetworkScanner::NetworkScanner(const async::Runtime& runtime, async::ThreadPool& pool,
                               const ScanLimits& limits)
    : impl_(std::make_unique<Impl>(runtime, pool, limits)) {}

NetworkScanner::~NetworkScanner() = default;

async::Task<Address> NetworkScanner::address(std::string host, async::Clock::TimePoint deadline) {
  return resolve(impl_->runtime, impl_->pool, std::move(host), deadline);
}

async::Task<> NetworkScanner::connectable(std::string host, std::uint16_t port,
                                          async::Clock::TimePoint deadline, Attempts attempts) {
  auto finding = impl_->find(std::move(host), port, deadline);
  const Target target = co_await std::move(finding);
  Progress progress;
  auto scan = impl_->limit(target, progress, impl_->open_connection(target, attempts, progress));
  co_await std::move(scan);
}

async::Task<std::vector<std::string>> NetworkScanner::host_keys(std::string host,
                                                                std::uint16_t port,
                                                                async::Clock::TimePoint deadline,
                                                                Progress* progress) {
  auto finding = impl_->find(std::move(host), port, deadline);
  const Target target = co_await std::move(finding);
  Progress own_progress;
  Progress& kept = progress != nullptr ? *progress : own_progress;
  if (impl_->limits.deadline == ScanLimits::Deadline::first_key) {
    auto connecting = impl_->limit(target, kept, impl_->first_key(target, kept));
    std::string first = co_await std::move(connecting);
    auto reading = impl_->in_turn(kept, impl_->further_keys(target, std::move(first), kept));
    co_return co_await std::move(reading);
  }
  auto scan = impl_->limit(target, kept, impl_->gather_keys(target, kept));
  co_return co_await std::move(scan);
}

}  // namespace nodepool::nodescan
