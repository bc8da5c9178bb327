// Many processes that are killed at random times.
#include <gmock/gmock.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "async/random.h"
#include "tests/coordination/sqlite/raw_sqlite.h"
#include "tests/coordination/sqlite/sqlite_fixture.h"

namespace nodepool::coordination::sqlite {
namespace {

using conformance::WatchLog;
using testing::IsEmpty;

// A run of sqlite_worker, ended by a kill.
class WorkerProcess {
 public:
  WorkerProcess(std::string store, std::string acknowledgements) {
    std::string program = SQLITE_WORKER;
    char* const arguments[] = {program.data(), store.data(), acknowledgements.data(), nullptr};
    const int error = ::posix_spawn(&pid_, program.c_str(), nullptr, nullptr, arguments, ::environ);
    if (error != 0) throw std::system_error(error, std::generic_category(), program);
  }
  ~WorkerProcess() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a worker has ended by itself";
  }
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

 private:
  pid_t pid_ = 0;
};

// --gtest_random_seed=N repeats a run, except for the timing of the machine.
std::uint64_t choose_seed() {
  const int given = GTEST_FLAG_GET(random_seed);
  return given != 0 ? static_cast<std::uint64_t>(given) : std::random_device{}() % 99999 + 1;
}

class SqliteProcesses : public testing::Test {
 protected:
  template <typename T>
  T run(Task<T> task) {
    return fixture_.loop().run(std::move(task));
  }
  void run(Task<> task) { fixture_.loop().run(std::move(task)); }

  std::unique_ptr<WorkerProcess> start_worker() {
    return std::make_unique<WorkerProcess>(fixture_.path(), acknowledgements());
  }
  std::string acknowledgements() const { return fixture_.path() + ".acknowledged"; }

  // The acknowledged numbers or paths with this name, each acknowledged once.
  std::set<std::string> acknowledged(const std::string& name) {
    std::set<std::string> found;
    std::ifstream file(acknowledgements());
    std::string kind;
    std::string value;
    while (file >> kind >> value) {
      if (kind == name) EXPECT_TRUE(found.insert(value).second) << kind << " twice: " << value;
    }
    return found;
  }

  // Expects that no increment of a counter was lost and that a watch reported each.
  void expect_complete_count(Store& store, const std::string& name, const WatchLog& log) {
    const Entry entry = run(store.get("/" + name));
    const int count = std::stoi(entry.data);
    EXPECT_EQ(count, entry.stat.version) << name;
    const std::set<std::string> reported = acknowledged(name);
    EXPECT_GT(reported.size(), 10) << name;
    for (const std::string& value : reported) EXPECT_LE(std::stoi(value), count) << name;
    EXPECT_EQ(std::ranges::count(log.lines(), "changed /" + name), count) << name;
  }

  SqliteFixture fixture_;
};

TEST_F(SqliteProcesses, killing_them_at_any_moment_loses_nothing) {
  const std::uint64_t seed = choose_seed();
  SCOPED_TRACE("--gtest_random_seed=" + std::to_string(seed));
  async::Random random(seed);
  const auto store = fixture_.open();
  for (const std::string path : {"/live", "/events", "/lock"}) {
    run(store->create(path, "", CreateMode::persistent));
  }
  for (const std::string path : {"/counter", "/guarded"}) {
    run(store->create(path, "0", CreateMode::persistent));
  }
  WatchLog log(fixture_, *store, "/");
  ASSERT_TRUE(log.run_until_last_is("resync"));

  std::vector<std::unique_ptr<WorkerProcess>> workers;
  for (int i = 0; i < 4; ++i) workers.push_back(start_worker());
  for (int i = 0; i < 40; ++i) {
    const auto pause = std::chrono::milliseconds(10 + random.below(100));
    run(fixture_.runtime().clock.sleep_for(pause));
    std::unique_ptr<WorkerProcess>& worker = workers[random.below(workers.size())];
    worker.reset();
    worker = start_worker();
  }
  workers.clear();

  // When their sessions have ended, all their ephemeral nodes are gone.
  ASSERT_TRUE(fixture_.run_until([raw = std::make_shared<RawSqlite>(fixture_.path())] {
    return raw->run("SELECT count(*) FROM sessions") == "1";
  }));
  EXPECT_THAT(run(store->children("/live")), IsEmpty());
  EXPECT_THAT(run(store->children("/lock")), IsEmpty());
  run(store->create("/end", "", CreateMode::persistent));
  ASSERT_TRUE(log.run_until_last_is("created /end"));
  EXPECT_EQ(std::ranges::count(log.lines(), "resync"), 1);
  expect_complete_count(*store, "counter", log);
  expect_complete_count(*store, "guarded", log);

  std::vector<std::string> events = run(store->children("/events"));
  for (std::string& event : events) event = "created /events/" + event;
  std::vector<std::string> reported;
  std::ranges::copy_if(log.lines(), std::back_inserter(reported), [](const std::string& line) {
    return line.starts_with("created /events/");
  });
  EXPECT_EQ(reported, events);
  for (const std::string& path : acknowledged("event")) {
    EXPECT_TRUE(std::ranges::binary_search(events, "created " + path)) << path;
  }

  run(store->close());
  EXPECT_EQ(RawSqlite(fixture_.path()).run("PRAGMA integrity_check"), "ok");
}

}  // namespace
}  // namespace nodepool::coordination::sqlite
