// The servers themselves: which ones the tests of this program are about.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/coordination/zookeeper/fixture/zookeeper_fixture.h"

namespace nodepool::coordination::zookeeper {
namespace {

TEST(ZooKeeperVersion, is_that_of_the_distribution_that_was_asked_for) {
  const char* home = std::getenv("ZOOKEEPER_HOME");
  const std::filesystem::path jars = home ? std::filesystem::path(home) / "lib" : "/usr/share/java";
  const std::string jar = "zookeeper-" + shared_ensemble(1).version(0) + ".jar";
  EXPECT_TRUE(std::filesystem::exists(jars / jar)) << jar << " is not in " << jars;
}

}  // namespace
}  // namespace nodepool::coordination::zookeeper
