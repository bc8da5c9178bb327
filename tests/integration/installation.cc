#include "tests/integration/installation.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "tests/support/patience.h"

namespace nodepool::integration {

namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

}  // namespace

Installation::Installation()
    : store_("store: sqlite://" + (directory_.path() / "nodepool.db").string() + "\n") {}

Installation::~Installation() {
  if (testing::Test::HasFailure()) std::cerr << "The launcher's log:\n" << log();
}

void Installation::show_pages_at(int port) {
  webapp_ = "webapp: {listen_address: 127.0.0.1, port: " + std::to_string(port) + "}\n";
}

void Installation::configure(const std::string& providers) {
  // Replaced in one step, so that no reader sees half a file.
  const auto next =
      directory_.write("nodepool.yaml.new",
                       store_ + webapp_ + "labels: [{name: a}, {name: b}, {name: c}, {name: d}]\n" +
                           "providers:\n" + providers);
  std::filesystem::rename(next, directory_.path() / "nodepool.yaml");
}

void Installation::start_launcher() {
  std::vector<std::string> command{NODEPOOL_BINARIES "/nodepool-launcher", "-d", "-c",
                                   directory_.path() / "nodepool.yaml"};
  if (webapp_.empty()) command.emplace_back("--no-webapp");
  const test_support::ChildOptions options{
      .environment = {{"OS_CLIENT_CONFIG_FILE", directory_.path() / "clouds.yaml"}}};
  launcher_ = std::make_unique<Child>(command, options);
}

int Installation::stop_launcher(int signal) {
  launcher_->signal(signal);
  return wait_for_launcher();
}

int Installation::wait_for_launcher() {
  const std::optional<int> status = launcher_->wait_for(test_support::kPatience);
  EXPECT_TRUE(status) << "the launcher does not stop";
  earlier_logs_ += launcher_->standard_output() + launcher_->standard_error();
  launcher_.reset();
  return status.value_or(-1);
}

void Installation::kill_launcher() {
  launcher_->signal(SIGKILL);
  launcher_->wait();
  earlier_logs_ += launcher_->standard_output() + launcher_->standard_error() + "--- killed\n";
  launcher_.reset();
}

std::vector<std::string> Installation::command(std::vector<std::string> arguments) const {
  std::vector<std::string> command{NODEPOOL_BINARIES "/nodepool", "-c",
                                   directory_.path() / "nodepool.yaml"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Completed Installation::nodepool(std::vector<std::string> arguments) const {
  return test_support::run(command(std::move(arguments)));
}

std::unique_ptr<Child> Installation::start_nodepool(std::vector<std::string> arguments) const {
  return std::make_unique<Child>(command(std::move(arguments)));
}

nlohmann::json Installation::json(std::vector<std::string> arguments) const {
  arguments.emplace_back("--json");
  const Completed done = nodepool(std::move(arguments));
  if (done.status != 0)
    throw std::runtime_error("exit status " + std::to_string(done.status) + ": " + done.error);
  return nlohmann::json::parse(done.output);
}

std::vector<Installation::Row> Installation::nodes() const {
  const Completed listed = nodepool({"list", "--detail", "--json"});
  // Before the launcher has made the store there are none.
  const bool no_store_yet = listed.error.contains("there is no store") ||
                            listed.error.contains("no launcher has used it yet");
  if (no_store_yet) return {};
  if (listed.status != 0) {
    throw std::runtime_error("exit status " + std::to_string(listed.status) + ": " + listed.error);
  }
  return nlohmann::json::parse(listed.output).get<std::vector<Row>>();
}

std::vector<Installation::Row> Installation::nodes(const std::string& state) const {
  std::vector<Row> rows = nodes();
  std::erase_if(rows, [&state](const Row& row) { return row.at("state") != state; });
  return rows;
}

void Installation::wait_until(const std::string& what,
                              const std::function<bool()>& condition) const {
  const auto deadline = std::chrono::steady_clock::now() + test_support::kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("not in time: " + what + "\n" +
                               nodepool({"list", "--detail"}).output);
    }
    std::this_thread::sleep_for(kBetweenLooks);  // between looks at the condition
  }
}

void Installation::wait_until_all_ready(std::size_t count) const {
  wait_until(std::to_string(count) + " ready nodes", [this, count] {
    const std::vector<Row> rows = nodes();
    return rows.size() == count && std::ranges::all_of(rows, [](const Row& row) {
             return row.at("state") == "ready" && row.at("locked") == "unlocked" &&
                    row.at("allocated_to").is_null();
           });
  });
}

std::string Installation::log() const {
  return earlier_logs_ +
         (launcher_ ? launcher_->standard_output() + launcher_->standard_error() : std::string());
}

}  // namespace nodepool::integration
