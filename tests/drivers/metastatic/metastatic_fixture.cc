#include "tests/drivers/metastatic/metastatic_fixture.h"

#include "drivers/metastatic/metastatic_driver.h"
#include "tests/drivers/contract/contract.h"

namespace nodepool::drivers::metastatic {

std::shared_ptr<const driver::ProviderConfig> MetastaticTest::load() const {
  const std::string text = R"(
labels: [{name: small}, {name: tiny}]
providers:
  - name: shares
    driver: metastatic
    pools:
      - name: main
        )" + pool + R"(
        labels:
          - {name: small, backing-label: big, )" +
                           rules + "}\n" + more_labels;
  const MetastaticDriver driver;
  return contract::read_provider(driver, text);
}

std::string MetastaticTest::load_error() const {
  try {
    load();
  } catch (const config::ConfigError& error) {
    return error.what();
  }
  return {};
}

std::unique_ptr<MetastaticTest::Process> MetastaticTest::new_process() {
  return std::make_unique<Process>(
      installation_,
      [this](driver::ProviderContext context) {
        context.is_serving = std::make_shared<bool>(is_serving);
        const MetastaticDriver driver;
        return driver.provider(load(), std::move(context));
      },
      [this] { return launchers_.poll(); });
}

MetastaticTest::Process& MetastaticTest::start() {
  process_.reset();
  process_ = new_process();
  return *process_;
}

std::string MetastaticTest::add_node(std::string_view label) {
  return installation_.add_node(kProvider, "main", label);
}

void MetastaticTest::finish(const JobPointer& job) {
  process_->run_until_ended(*job);
  EXPECT_EQ(job->failure(), "");
}

model::Node MetastaticTest::launch(std::string_view label) {
  if (!process_) start();
  const std::string id = add_node(label);
  finish(begin(id));
  return installation_.node(id);
}

std::string MetastaticTest::failure_of_launch() {
  if (!process_) start();
  const auto job = begin(add_node());
  process_->run_until_ended(*job);
  return job->failure();
}

void MetastaticTest::reclaim(const std::string& id) {
  finish(process_->reclaim(id));
}

void MetastaticTest::search() {
  process_->run(process_->provider().launching()->remove_leaks());
  process_->settle();
}

void MetastaticTest::pass_minutes(int minutes) {
  for (int minute = 0; minute < minutes; ++minute) {
    process_->pass(std::chrono::minutes(1));
    search();
  }
}

model::Node MetastaticTest::backing() {
  const std::vector<model::Node> all = launchers_.nodes();
  EXPECT_EQ(all.size(), 1);
  return all.at(0);
}

BackingRecord MetastaticTest::record_of(const model::Node& node) const {
  const auto record = backing_record_of(node, owner_of(kProvider));
  EXPECT_TRUE(record) << node.user_data.text;
  return record.value_or(BackingRecord());
}

}  // namespace nodepool::drivers::metastatic
