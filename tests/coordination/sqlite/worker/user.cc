// A process of users_test.cc. Started as root, it becomes another user:
//
//   sqlite_user UID GROUP UMASK STORE hold PATH
//     creates an ephemeral node and keeps it until it is killed
//   sqlite_user UID GROUP UMASK STORE make PATH
//     creates a node
//   sqlite_user UID GROUP UMASK STORE list
//     prints the names of the nodes below the root
//   sqlite_user UID GROUP UMASK STORE look
//     the same, with the store opened for reading only
//
// UID is also the number of the primary group, GROUP that of another one. Prints "done" at the end.

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "async/event_loop.h"
#include "coordination/sqlite/sqlite_store.h"

namespace nodepool::coordination::sqlite {
namespace {

void become(uid_t user, gid_t group) {
  if (::setgroups(1, &group) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) {
    std::cerr << "sqlite_user: cannot become " << user << std::endl;
    std::exit(1);
  }
}

Task<> act(async::Runtime runtime, SqliteOptions options, std::string action, std::string path) {
  if (action == "look") options.use = StoreUse::read;
  Task<std::unique_ptr<Store>> opening = open_store(runtime, std::move(options));
  const std::unique_ptr<Store> store = co_await std::move(opening);
  if (action == "hold") co_await store->create(path, "", CreateMode::ephemeral);
  if (action == "make") co_await store->create(path, "", CreateMode::persistent);
  if (action == "list" || action == "look") {
    for (const std::string& name : co_await store->children("/")) std::cout << name << '\n';
  }
  std::cout << "done" << std::endl;
  if (action == "hold") co_await runtime.clock.sleep_for(std::chrono::hours(1));
  co_await store->close();
}

}  // namespace
}  // namespace nodepool::coordination::sqlite

int main(int argc, char** argv) {
  using namespace nodepool;
  if (argc != 6 && argc != 7) return 2;
  ::umask(static_cast<mode_t>(std::stoul(argv[3], nullptr, 8)));
  if (const int user = std::atoi(argv[1]); user != 0) {
    coordination::sqlite::become(static_cast<uid_t>(user), static_cast<gid_t>(std::atoi(argv[2])));
  }
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random = async::Random::from_system();
  coordination::sqlite::SqliteOptions options;
  options.path = argv[4];
  try {
    loop.run(coordination::sqlite::act({loop.executor(), clock, random}, options, argv[5],
                                       argc == 7 ? argv[6] : ""));
  } catch (const std::exception& error) {
    std::cerr << "sqlite_user: " << error.what() << std::endl;
    return 1;
  }
}
