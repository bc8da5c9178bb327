// Several users of one host on one store, and users that may only read.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/coordination/sqlite/sqlite_fixture.h"
#include "tests/support/child.h"
#include "tests/support/small_disk.h"

namespace nodepool::coordination::sqlite {
namespace {

namespace fs = std::filesystem;
using test_support::Child;
using test_support::Completed;
using testing::HasSubstr;
using testing::Not;
using Kind = StoreError::Kind;

constexpr uid_t kRootUser = 0;
constexpr uid_t kAda = 64001;
constexpr uid_t kBob = 64002;
constexpr uid_t kEve = 64003;     // not of the group
constexpr gid_t kTeam = 64100;    // of Ada and Bob
constexpr gid_t kOthers = 64101;  // of Eve

// The directory belongs to Ada and the team.
class SqliteUsers : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "requires root to become other users";
    fs::permissions(outer_.path(), fs::perms{0755});
    fs::create_directory(directory());
    share(0770);
  }

  std::string directory() const { return outer_ / "store"; }
  std::string path() const { return directory() + "/nodepool.db"; }
  void share(unsigned mode) {
    ASSERT_EQ(::chown(directory().c_str(), kAda, kTeam), 0);
    fs::permissions(directory(), fs::perms{mode});
  }

  std::vector<std::string> command(uid_t user, const std::string& action, const std::string& node,
                                   const std::string& umask) const {
    const gid_t group = user == kEve ? kOthers : kTeam;
    std::vector<std::string> words = {
        SQLITE_USER, std::to_string(user), std::to_string(group), umask, path(), action};
    if (!node.empty()) words.push_back(node);
    return words;
  }
  Completed act(uid_t user, const std::string& action, const std::string& node = "",
                const std::string& umask = "077") const {
    return test_support::run(command(user, action, node, umask));
  }

  // A process of the user that has created the ephemeral node and still runs.
  std::unique_ptr<Child> hold(uid_t user, const std::string& node) {
    auto child = std::make_unique<Child>(command(user, "hold", node, "077"));
    while (child->running() && !child->standard_output().contains("done")) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(child->running()) << user << ": " << child->standard_error();
    return child;
  }

  // Expects that the user's command succeeds; returns what it printed.
  std::string output(uid_t user, const std::string& action, const std::string& node = "") {
    const Completed done = act(user, action, node);
    EXPECT_EQ(done.status, 0) << "user " << user << ": " << done.error;
    return done.output;
  }

 private:
  TemporaryDirectory outer_;
};

TEST_F(SqliteUsers, a_group_shares_a_store_in_any_order_of_its_members) {
  std::array<uid_t, 3> users = {kRootUser, kAda, kBob};
  do {
    SCOPED_TRACE(testing::Message() << users[0] << ' ' << users[1] << ' ' << users[2]);
    std::vector<std::unique_ptr<Child>> holders;
    for (const uid_t user : users) holders.push_back(hold(user, "/" + std::to_string(user)));
    for (const uid_t user : users) {
      const std::string list = output(user, "list");
      for (const uid_t other : users) EXPECT_THAT(list, HasSubstr(std::to_string(other) + "\n"));
      EXPECT_EQ(output(user, "look"), list);
    }
    // After each kill, the next process of any user ends the dead session.
    holders.front()->signal(SIGKILL);
    holders.front()->wait();
    EXPECT_THAT("\n" + output(users[1], "list"),
                Not(HasSubstr("\n" + std::to_string(users[0]) + "\n")));
    EXPECT_EQ(act(users[2], "make", "/" + std::to_string(users[0])).status, 0);
    holders.clear();
    for (const fs::directory_entry& entry : fs::directory_iterator(directory())) {
      fs::remove_all(entry.path());
    }
  } while (std::ranges::next_permutation(users).found);
}

TEST_F(SqliteUsers, files_created_by_root_belong_to_the_owner_of_the_directory) {
  share(0755);
  output(kRootUser, "make", "/a");
  EXPECT_THAT(output(kAda, "list"), HasSubstr("a\n"));
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kAda);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(SqliteUsers, users_outside_the_group_have_no_access) {
  output(kAda, "make", "/a");
  EXPECT_THAT(act(kEve, "list").error, HasSubstr("Permission denied"));
  EXPECT_THAT(act(kEve, "look").error, HasSubstr("Permission denied"));
}

TEST_F(SqliteUsers, a_session_with_an_unreadable_file_is_alive) {
  const auto adas = hold(kAda, "/adas");
  // As created by an earlier release: only its owner may open it.
  for (const fs::directory_entry& entry : fs::directory_iterator(path() + "-live")) {
    if (entry.path().filename() != "bell") fs::permissions(entry.path(), fs::perms{0600});
  }
  EXPECT_THAT(output(kBob, "list"), HasSubstr("adas\n"));
}

TEST_F(SqliteUsers, a_reader_needs_no_write_permission) {
  output(kAda, "make", "/a");
  fs::permissions(directory(), fs::perms{0755});
  fs::permissions(path(), fs::perms{0644});
  EXPECT_THAT(output(kEve, "look"), HasSubstr("a\n"));
  const auto adas = hold(kAda, "/b");
  for (const char* suffix : {"-wal", "-shm"}) {
    fs::permissions(path() + suffix, fs::perms{0644});
  }
  EXPECT_THAT(output(kEve, "look"), HasSubstr("b\n"));
  EXPECT_THAT(act(kEve, "list").error, HasSubstr("this user must be able to write the file"));
}

class SqliteReader : public testing::Test {
 protected:
  std::unique_ptr<Store> open_for(StoreUse use) {
    SqliteOptions options;
    options.path = fixture_.path();
    options.use = use;
    return fixture_.open(options);
  }
  // The reason why the store cannot be opened.
  std::string refusal(StoreUse use) {
    try {
      open_for(use);
    } catch (const StoreError& error) {
      EXPECT_EQ(error.kind(), Kind::no_node);
      return error.what();
    }
    return "opened";
  }
  template <typename T>
  T run(Task<T> task) {
    return fixture_.loop().run(std::move(task));
  }
  void run(Task<> task) { fixture_.loop().run(std::move(task)); }

  SqliteFixture fixture_;
};

TEST_F(SqliteReader, a_store_that_does_not_exist_is_not_made_by_reading_nor_by_writing) {
  for (const StoreUse use : {StoreUse::read, StoreUse::write}) {
    EXPECT_THAT(refusal(use), HasSubstr("there is no store"));
    EXPECT_FALSE(fs::exists(fixture_.path()));
  }
}

TEST_F(SqliteReader, writes_nothing) {
  const auto writer = fixture_.open();
  run(writer->create("/a", "1", CreateMode::persistent));
  const auto reader = open_for(StoreUse::read);
  EXPECT_EQ(run(reader->get("/a")).data, "1");
  run(writer->set("/a", "2", kAnyVersion));
  EXPECT_EQ(run(reader->get("/a")).data, "2");
  try {
    run(reader->create("/b", "", CreateMode::persistent));
    ADD_FAILURE() << "written";
  } catch (const StoreError& error) {
    EXPECT_EQ(error.kind(), Kind::invalid);
  }
  EXPECT_EQ(reader->session_id(), 0);
  run(reader->close());
}

TEST_F(SqliteReader, ephemeral_records_of_a_dead_process_are_not_shown) {
  auto dying = fixture_.open();
  run(dying->create("/a", "", CreateMode::ephemeral));
  dying.reset();
  const auto reader = open_for(StoreUse::read);
  EXPECT_EQ(run(reader->children("/")), std::vector<std::string>{});
  EXPECT_EQ(run(reader->exists("/a")), std::nullopt);
}

TEST_F(SqliteReader, reads_on_a_disk_that_is_read_only) {
  test_support::SmallDisk disk("size=2m");
  if (!disk.mounted()) GTEST_SKIP() << "requires permission to mount";
  SqliteOptions options;
  options.path = disk / "store 100%.db";
  {
    const auto store = fixture_.open(options);
    run(store->create("/a", "1", CreateMode::persistent));
    run(store->close());
  }
  disk.make_read_only();
  options.use = StoreUse::read;
  const auto reader = fixture_.open(options);
  EXPECT_EQ(run(reader->get("/a")).data, "1");
}

}  // namespace
}  // namespace nodepool::coordination::sqlite
