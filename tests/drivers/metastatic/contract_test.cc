// The contract of all drivers that make machines. The cloud is the store: a machine is a place on a
// backing node, or the waiting for one, of which there is nothing but that the node's record says
// so.

#include "tests/drivers/contract/contract.h"

#include <algorithm>
#include <stdexcept>

#include "driver/ownership.h"
#include "drivers/metastatic/backing_record.h"
#include "drivers/metastatic/metastatic_driver.h"
#include "tests/drivers/metastatic/lossy_store.h"
#include "tests/drivers/metastatic/other_launchers.h"

namespace nodepool::drivers::contract {
namespace {

using metastatic::BackingRecord;
using metastatic::LossyStore;
using metastatic::OtherLaunchers;

constexpr const char* kConfiguration = R"(
labels: [{name: small}, {name: built}]
providers:
  - name: fake-contract
    launch-timeout: 900
    driver: metastatic
    pools:
      - name: main
        labels:
          - {name: small, backing-label: big, max-parallel-jobs: %SLOTS%}
          - {name: built, backing-label: other}
)";

template <int kSlots>
class MetastaticFixture final : public CloudFixture {
 public:
  explicit MetastaticFixture(harness::Installation& installation)
      : installation_(installation),
        launchers_(installation),
        session_(installation.server.open_session(
            [this](const std::vector<coordination::WatchEvent>& /*events*/) {
              are_known_ = false;
            })) {}
  ~MetastaticFixture() override { installation_.server.end_session(session_); }

  // Backing nodes that nobody is on any more go first, so that others have to be asked for.
  std::unique_ptr<driver::Provider> make_provider(driver::ProviderContext context) override {
    for (const model::Node& node : launchers_.nodes()) {
      const auto record = metastatic::backing_record_of(node, owner());
      if (record && record->tenants.empty()) launchers_.lose(node.id);
    }
    stores_.push_back(std::make_unique<LossyStore>(
        context.store, [this](const auto& transaction) { return next_loss(transaction); }));
    const driver::ProviderContext lossy{.runtime = context.runtime,
                                        .store = *stores_.back(),
                                        .nodes = context.nodes,
                                        .images = context.images,
                                        .threads = context.threads,
                                        .log = context.log,
                                        .metrics = context.metrics,
                                        .installation = context.installation};
    const metastatic::MetastaticDriver driver;
    std::string text = kConfiguration;
    text.replace(text.find("%SLOTS%"), 7, std::to_string(kSlots));
    return driver.provider(read_provider(driver, text), lossy);
  }

  std::vector<Machine> machines() override {
    if (!are_known_) machines_ = machines_in_records();
    are_known_ = true;
    return machines_;
  }

  void provoke(Trouble trouble, std::size_t times) override {
    switch (trouble) {
      case Trouble::no_capacity:
      case Trouble::creation_error:
      case Trouble::broken_machine:
        launchers_.to_be_failed = times;
        return;
      case Trouble::response_lost:
        return lose(LossyStore::Loss::answer, times);
      case Trouble::request_lost:
        return lose(LossyStore::Loss::question, times);
      case Trouble::deletion_error:
      case Trouble::listing_error:
      case Trouble::listing_failed:
        return lose(LossyStore::Loss::connection, times);
      case Trouble::quota:
      case Trouble::limits_error:
        throw std::logic_error("there is no quota");
      case Trouble::image_error:
        throw std::logic_error("there are no images");
      case Trouble::busy:
      case Trouble::token_expired:
        throw std::logic_error("there is no wire");
    }
  }

  void set_boot_time(async::Duration time) override { launchers_.boot_time = time; }
  void set_capacity(std::size_t /*machines*/) override {
    throw std::logic_error("there is no quota");
  }

  void add_machine(driver::Metadata metadata) override {
    BackingRecord record;
    record.owner = owner();
    record.label = kLabel;
    record.slots = 1;
    record.launched = installation_.clock.wall_seconds();
    record.tenants[0] = {"other-" + std::to_string(++others_), std::move(metadata)};
    launchers_.add_backing_node(to_user_data(record), owner());
  }

  bool wait_for_wire() override { return launchers_.poll(); }

 private:
  static std::string owner() { return metastatic::owner_of(kProvider); }

  std::vector<Machine> machines_in_records() {
    std::vector<Machine> all;
    for (const model::Node& node : launchers_.nodes()) {
      const auto record = metastatic::backing_record_of(node, owner());
      if (!record) continue;
      for (const auto& [slot, tenant] : record->tenants) {
        all.push_back({tenant.external_id, tenant.metadata});
      }
    }
    for (const Machine& waiting : waiting_nodes()) {
      if (std::ranges::count(all, waiting.id, &Machine::id) == 0) all.push_back(waiting);
    }
    return all;
  }

  std::vector<Machine> waiting_nodes() {
    const driver::Ownership ownership(
        std::make_shared<const model::Installation>(harness::kInstallationId), kProvider);
    std::vector<Machine> waiting;
    for (const std::string& id : installation_.nodes()) {
      const model::Node node = installation_.node(id);
      if (node.provider != kProvider || node.external_id.is_null()) continue;
      waiting.push_back({node.external_id_text(), ownership.of_node(node)});
    }
    return waiting;
  }

  void lose(LossyStore::Loss what, std::size_t times) {
    loss_ = what;
    losses_ = times;
  }

  std::optional<LossyStore::Loss> next_loss(const coordination::Transaction& transaction) {
    const bool concerns_backing_node = std::ranges::any_of(
        transaction.operations(),
        [](const auto& operation) { return operation.data.contains("NodePool:metastatic:"); });
    if (!concerns_backing_node || losses_ == 0) return std::nullopt;
    --losses_;
    return loss_;
  }

  harness::Installation& installation_;
  OtherLaunchers launchers_;
  std::vector<std::unique_ptr<LossyStore>> stores_;  // of all processes
  LossyStore::Loss loss_ = LossyStore::Loss::answer;
  std::size_t losses_ = 0;
  std::size_t others_ = 0;
  std::vector<Machine> machines_;
  bool are_known_ = false;  // until a record changes
  std::int64_t session_;
};

}  // namespace

INSTANTIATE_TEST_SUITE_P(metastatic_alone, DriverContract,
                         testing::Values(backend<MetastaticFixture<1>>()));
INSTANTIATE_TEST_SUITE_P(metastatic_alone, DeathContract,
                         testing::Values(backend<MetastaticFixture<1>>()));
INSTANTIATE_TEST_SUITE_P(metastatic_shared, DriverContract,
                         testing::Values(backend<MetastaticFixture<3>>()));
INSTANTIATE_TEST_SUITE_P(metastatic_shared, DeathContract,
                         testing::Values(backend<MetastaticFixture<3>>()));

}  // namespace nodepool::drivers::contract
