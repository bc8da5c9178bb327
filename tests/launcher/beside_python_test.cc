// A provider that a launcher of the Python Nodepool serves, too.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/tree.h"
#include "model/component.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Matcher;
using testing::SizeIs;

class BesidePythonTest : public LauncherFixture {
 protected:
  // Registers a pool of a Python launcher. Returns its path.
  std::string add_pool(const std::string& provider, const std::string& name) {
    model::Component pool;
    pool.kind = model::Component::Kind::pool;
    pool.hostname = "pylauncher";
    pool.id = "pylauncher-PoolWorker." + provider + "-" + name;
    pool.provider_name = provider;
    pool.version = "11.0.0";
    as_requestor(coordination::ensure_path(*requestor_, "/nodepool/components/pool"));
    std::string path =
        as_requestor(requestor_->create("/nodepool/components/pool/pylauncher", to_record(pool),
                                        coordination::CreateMode::ephemeral_sequential));
    settle();
    return path;
  }

  const Matcher<std::string> warning_ =
      HasSubstr("provider rack is also served by pylauncher (version 11.0.0): launches are ");
};

TEST_F(BesidePythonTest, a_python_launcher_of_the_same_provider_is_logged_once) {
  add_pool("sky", "main");
  add_pool("rack", "main");
  start(kTwoHosts);
  EXPECT_THAT(log_, ElementsAre(warning_)) << "it was there before";
  add_pool("rack", "other");
  reconfigure(kTwoHosts);
  EXPECT_THAT(log_, SizeIs(1));
}

TEST_F(BesidePythonTest, a_python_launcher_is_logged_again_after_it_has_left) {
  const std::string path = add_pool("rack", "main");
  start(kTwoHosts);
  reconfigure("labels: [{name: small}]");
  reconfigure(kTwoHosts);
  process_store().expire_for_tests();
  settle();
  pass(seconds(5));
  EXPECT_THAT(log_, Contains(warning_).Times(1)) << "only the own pools have left";
  as_requestor(requestor_->remove(path, coordination::kAnyVersion));
  settle();
  add_pool("rack", "main");
  EXPECT_THAT(log_, Contains(warning_).Times(2));
}

}  // namespace
}  // namespace nodepool::launcher
