// Many requestors on one ZooKeeper (bench/zuul_clients.h), for any launcher.
//
//   bench_zookeeper_load PORT CA CERT KEY REQUESTS CLIENTS LABEL[,LABEL…] PAUSE
//   bench_zookeeper_load PORT CA CERT KEY REQUESTS CLIENTS - 0
//
// Each request has all labels. A client pauses before it for a random time up to PAUSE
// milliseconds. Without labels, clients only do their own writes, without a launcher: the upper
// limit for any launcher.
//
// Prints a line of JSON: the number of requests, seconds, percentiles of the time from the creation
// of a request until its client saw it fulfilled (milliseconds), own writes and CPU seconds. The
// exit status is not 0 if a request failed or two clients had a node at a time.

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <sstream>
#include <string>

#include "async/event_loop.h"
#include "bench/process.h"
#include "bench/zuul_clients.h"
#include "coordination/tree.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "model/paths.h"

namespace {

using namespace nodepool;
using async::Task;
using bench::percentile;

// Returns whether all requests succeeded.
Task<bool> measure(async::Runtime runtime, coordination::zookeeper::ZooKeeperOptions options,
                   bench::Load load) {
  const auto store = co_await coordination::zookeeper::open_store(runtime, options);
  co_await coordination::ensure_path(*store, std::string(model::kRequestsRoot));
  co_await coordination::ensure_path(*store, std::string(model::kNodesRoot));
  const auto run = load.labels.front() == "-" ? bench::write_only : bench::serve;
  const async::Clock::TimePoint start = runtime.clock.now();
  Task<bench::Served> running = run(runtime, *store, std::move(load));
  const bench::Served served = co_await std::move(running);
  const double seconds = std::chrono::duration<double>(runtime.clock.now() - start).count();
  co_await store->close();
  const std::vector<double>& times = served.milliseconds;
  fmt::print(R"({{"requests": {}, "seconds": {:.3f}, "p50_ms": {:.2f}, "p95_ms": {:.2f}, )"
             R"("p99_ms": {:.2f}, "max_ms": {:.2f}, "writes": {}, "cpu_seconds": {:.2f}, )"
             R"("not_fulfilled": {}, "served_twice": {}}})"
             "\n",
             times.size(), seconds, percentile(times, 0.5), percentile(times, 0.95),
             percentile(times, 0.99), percentile(times, 1), served.writes,
             bench::cpu_seconds(::getpid()), served.not_fulfilled, served.served_twice);
  co_return served.not_fulfilled == 0 && served.served_twice == 0;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9) {
    std::cerr << "usage: bench_zookeeper_load PORT CA CERT KEY REQUESTS CLIENTS LABEL[,…] PAUSE\n";
    return 2;
  }
  coordination::zookeeper::ZooKeeperOptions options;
  options.servers = {{"127.0.0.1", static_cast<std::uint16_t>(std::stoul(argv[1]))}};
  options.tls = {.ca = argv[2], .cert = argv[3], .key = argv[4]};
  bench::Load load{std::stoi(argv[5]), std::stoi(argv[6]), split(argv[7]),
                   std::chrono::milliseconds(std::stoul(argv[8]))};
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  try {
    const bool well =
        loop.run(measure({loop.executor(), clock, random}, std::move(options), std::move(load)));
    return well ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "bench_zookeeper_load: " << error.what() << '\n';
    return 1;
  }
}
