#include "tests/coordination/conformance.h"

#include "tests/coordination/group_commit_fixture.h"
#include "tests/coordination/zookeeper/fixture/zookeeper_fixture.h"

namespace nodepool::coordination::conformance {
namespace {

using zookeeper::Security;

template <Security kSecurity>
class OneServerFixture : public zookeeper::ZooKeeperFixture {
 public:
  OneServerFixture()
      : ZooKeeperFixture(zookeeper::options_for(zookeeper::shared_ensemble(1), {0}, kSecurity)) {}
};

INSTANTIATE_TEST_SUITE_P(zookeeper, StoreConformance,
                         testing::Values(backend<OneServerFixture<Security::plain>>()));
INSTANTIATE_TEST_SUITE_P(zookeeper_tls, StoreConformance,
                         testing::Values(backend<OneServerFixture<Security::tls>>()));
INSTANTIATE_TEST_SUITE_P(
    zookeeper_group_commit, StoreConformance,
    testing::Values(backend<GroupCommitFixture<OneServerFixture<Security::tls>>>()));

}  // namespace
}  // namespace nodepool::coordination::conformance
