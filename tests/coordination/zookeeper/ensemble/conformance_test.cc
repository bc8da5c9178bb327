#include "tests/coordination/conformance.h"

#include "tests/coordination/zookeeper/fixture/zookeeper_fixture.h"

namespace nodepool::coordination::conformance {
namespace {

// All sessions of a test are on one member, because others may lag behind; the members take turns.
class EnsembleFixture : public zookeeper::ZooKeeperFixture {
 public:
  EnsembleFixture()
      : ZooKeeperFixture(zookeeper::options_for(zookeeper::shared_ensemble(3), {next_member()},
                                                zookeeper::Security::plain)) {}

 private:
  static std::size_t next_member() {
    static std::size_t tests = 0;
    return tests++ % 3;
  }
};

INSTANTIATE_TEST_SUITE_P(zookeeper_ensemble, StoreConformance,
                         testing::Values(backend<EnsembleFixture>()));

}  // namespace
}  // namespace nodepool::coordination::conformance
