// A store that is emptied while a launcher runs: node ids start again, and the earlier machines
// still exist.

#include "model/installation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/tree.h"
#include "driver/ownership.h"
#include "model/paths.h"
#include "tests/launcher/launcher_fixture.h"

namespace nodepool::launcher {
namespace {

using model::RequestState;
using std::chrono::minutes;
using testing::Contains;
using testing::SizeIs;

constexpr auto kSkyOfInstallation = R"(
labels: [{name: small}]
providers:
  - name: fake-sky
    cloud: fake
    cloud-images: [{name: Fake Precise}]
    fake-cloud: {boot-time: 20, latency: 2, delete-time: 5}
    pools:
      - name: main
        labels: [{name: small, cloud-image: Fake Precise, flavor-name: Fake Flavor}]
)";

class LauncherInstallationTest : public LauncherFixture {
 protected:
  // Machine id -> owner tag in its metadata.
  std::map<std::string, std::string> machines() {
    std::map<std::string, std::string> makers;
    for (const auto& server : fake_clouds_->cloud("fake-sky")->servers(clock_.now())) {
      makers[server.id] = driver::value_of(server.spec.metadata, driver::kInstallationIdKey);
    }
    return makers;
  }

  std::string installation() { return as_requestor(model::find_installation(*requestor_)).id; }

  // Requests a node, and returns its id when it is ready.
  std::string launch() {
    const std::string id = request({"small"});
    pass(minutes(2));
    EXPECT_EQ(read_request(id).state, RequestState::fulfilled);
    accept(id);
    return children(std::string(model::kNodesRoot)).front();
  }
};

TEST_F(LauncherInstallationTest, machines_from_before_a_store_was_emptied_are_foreign) {
  start(kSkyOfInstallation);
  const std::string first = installation();
  const std::string node = launch();
  const auto before = machines();
  ASSERT_THAT(before, SizeIs(1));
  as_requestor(coordination::remove_tree(*requestor_, "/nodepool"));
  settle();
  EXPECT_NE(installation(), first);
  as_requestor(coordination::ensure_path(*requestor_, std::string(model::kRequestsRoot)));
  ASSERT_EQ(launch(), node) << "for another one, though";
  auto after = machines();
  EXPECT_THAT(after, Contains(*before.begin()));
  after.erase(before.begin()->first);
  ASSERT_THAT(after, SizeIs(1));
  EXPECT_EQ(after.begin()->second, installation());
  pass(minutes(10));
  EXPECT_THAT(machines(), SizeIs(2)) << "the first one may be in use";
}

}  // namespace
}  // namespace nodepool::launcher
