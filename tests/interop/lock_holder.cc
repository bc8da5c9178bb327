// Contends for one lock with this project's recipe, for a test that drives other programs against
// it:
//
//   lock_holder try|wait ROOT PORT CA CERT KEY
//
// Prints "waiting" when it begins, then "held" or "refused" (`try` only). Holds the lock until its
// standard input ends, releases it and prints "released".

#include <iostream>
#include <string>

#include "async/event_loop.h"
#include "async/thread_pool.h"
#include "coordination/lock.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "tests/support/patience.h"

namespace {

using namespace nodepool;
using coordination::Lock;
using coordination::zookeeper::ZooKeeperOptions;

// Not on the loop's thread, which keeps the session alive.
async::Task<> await_end_of_input(async::ThreadPool& threads) {
  co_await threads.run("standard input", [] {
    std::string rest;
    while (std::getline(std::cin, rest)) {
    }
  });
}

async::Task<> contend(async::Runtime runtime, async::ThreadPool& threads, ZooKeeperOptions options,
                      std::string root, bool wait) {
  const auto store = co_await coordination::zookeeper::open_store(runtime, options);
  Lock lock(*store, runtime.random, root);
  std::cout << "waiting" << std::endl;
  if (wait) {
    co_await lock.acquire(runtime.clock, runtime.clock.now() + test_support::kPatience);
  } else {
    co_await lock.try_acquire();
  }
  std::cout << (lock.held() ? "held" : "refused") << std::endl;
  if (lock.held()) {
    co_await await_end_of_input(threads);
    co_await lock.release();
    std::cout << "released" << std::endl;
  }
  co_await store->close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::cerr << "usage: lock_holder try|wait ROOT PORT CA CERT KEY\n";
    return 2;
  }
  ZooKeeperOptions options;
  options.servers = {{"127.0.0.1", static_cast<std::uint16_t>(std::stoul(argv[3]))}};
  options.tls = {.ca = argv[4], .cert = argv[5], .key = argv[6]};
  options.session_timeout = std::chrono::seconds(2);  // tests wait for its end
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  async::ThreadPool threads(1, "input");
  try {
    loop.run(contend({loop.executor(), clock, random}, threads, std::move(options), argv[2],
                     std::string(argv[1]) == "wait"));
  } catch (const std::exception& error) {
    std::cerr << "lock_holder: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
