#include "tests/cli/cli_test.h"

#include <csignal>
#include <ostream>
#include <stdexcept>
#include <streambuf>

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "coordination/error.h"
#include "coordination/forwarding_store.h"
#include "drivers/fake/fake_driver.h"
#include "drivers/static_nodes/static_driver.h"

namespace nodepool::cli {

namespace {

std::vector<std::unique_ptr<driver::Driver>> drivers_for(
    std::shared_ptr<DriverLog> log, const std::string& clouds_file,
    std::shared_ptr<drivers::fake::FakeClouds> clouds) {
  const config::Environment environment = {{"OS_CLIENT_CONFIG_FILE", clouds_file}};
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  drivers.push_back(std::make_unique<DriverDouble>(std::move(log)));
  drivers.push_back(std::make_unique<drivers::fake::FakeDriver>(environment, std::move(clouds)));
  drivers.push_back(std::make_unique<drivers::static_nodes::StaticDriver>());
  return drivers;
}

// A store with a path whose access control list forbids to read it, and one that another process
// removes just before a command does.
class RestrictedStore final : public coordination::ForwardingStore {
 public:
  // `reads` gets the paths that are read.
  RestrictedStore(std::unique_ptr<coordination::Store> inner, std::string forbidden,
                  std::string vanishing, std::vector<std::string>& reads)
      : ForwardingStore(*inner),
        inner_(std::move(inner)),
        forbidden_(std::move(forbidden)),
        vanishing_(std::move(vanishing)),
        reads_(reads) {}

  async::Task<coordination::Entry> get(std::string path) override {
    read(path);
    return ForwardingStore::get(std::move(path));
  }
  async::Task<std::vector<std::string>> children(std::string path) override {
    read(path);
    return ForwardingStore::children(std::move(path));
  }
  async::Task<> remove(std::string path, std::int32_t expected) override {
    if (path == vanishing_) co_await ForwardingStore::remove(path, coordination::kAnyVersion);
    co_await ForwardingStore::remove(std::move(path), expected);
  }

 private:
  void read(const std::string& path) const {
    using Kind = coordination::StoreError::Kind;
    reads_.push_back(path);
    if (path == forbidden_) throw coordination::store_error(Kind::not_permitted, path);
  }

  std::unique_ptr<coordination::Store> inner_;
  std::string forbidden_;
  std::string vanishing_;
  std::vector<std::string>& reads_;
};

// Takes no text.
class FullDisk final : public std::streambuf {};

}  // namespace

CliTest::CliTest()
    : store_(server_, runtime_),
      launcher_(runtime_, store_),
      drivers_(drivers_for(driver_log_,
                           directory_.write("clouds.yaml", "clouds: {sky: {auth: {}}}"), clouds_)),
      scope_(runtime_, [](const std::string& name, const std::string& error) {
        ADD_FAILURE() << name << ": " << error;
      }) {
  // Ignored if the tests run in the background of a shell, or by `nohup`.
  for (const int number : {SIGHUP, SIGINT, SIGQUIT}) std::signal(number, SIG_DFL);
  launcher_.start();
}

CliTest::~CliTest() {
  loop_.run(launcher_.stop());
  loop_.run(scope_.stop());
}

int CliTest::nodepool(std::vector<std::string> arguments) {
  const std::string file = directory_.write("nodepool.yaml", config_);
  arguments.insert(arguments.begin(), {"-c", file});
  return nodepool_bare(std::move(arguments));
}

int CliTest::nodepool_bare(std::vector<std::string> arguments) {
  out_.str({});
  err_.str({});
  std::istringstream in(input_);
  FullDisk disk;
  std::ostream full(&disk);
  auto open_store =
      [this](config::StoreChoice choice, config::ZooKeeper,
             coordination::StoreUse) -> async::Task<std::unique_ptr<coordination::Store>> {
    if (!store_failure_.empty()) throw std::runtime_error(store_failure_);
    const bool other = choice.kind == config::StoreChoice::Kind::zookeeper;
    auto store =
        std::make_unique<coordination::MemoryStore>(other ? other_server_ : server_, runtime_);
    command_store_ = store.get();
    co_return std::make_unique<RestrictedStore>(std::move(store), forbidden_, vanishing_, reads_);
  };
  Context context{.arguments = std::move(arguments),
                  .in = in,
                  .out = out_is_full_ ? full : out_,
                  .err = err_,
                  .err_is_terminal = terminal_,
                  .out_is_terminal = out_is_terminal_,
                  .terminal_width = [this] { return terminal_width_; },
                  .environment = environment_,
                  .identity = identity_,
                  .hostname = hostname_,
                  .loop = loop_,
                  .runtime = runtime_,
                  .drivers = drivers_,
                  .open_store = open_store};
  return cli::run(context);
}

model::Node CliTest::make_node(const std::string& label) {
  model::Node node;
  node.set_state(model::NodeState::ready, 1'700'000'000.0 - 65);
  node.provider = "rack";
  node.pool = "main";
  node.type = {label};
  node.external_id = model::json_string("host1");
  node.interface_ip = "192.0.2.1";
  node.public_ipv4 = "192.0.2.1";
  return node;
}

void CliTest::pass_time_when_requested(async::Duration duration) {
  auto pass = [](requestor::LauncherDouble& launcher, async::VirtualClock& clock,
                 async::Duration duration) -> async::Task<> {
    while (true) {
      const std::vector<std::string> requests = co_await launcher.requests();
      // The command has asked, and waits.
      if (!requests.empty() && clock.next_wakeup() != async::Clock::TimePoint::max()) break;
      co_await boost::asio::post(boost::asio::use_awaitable);
    }
    clock.advance_by(duration);
  };
  scope_.spawn("pass time", pass(launcher_, clock_, duration));
}

}  // namespace nodepool::cli
