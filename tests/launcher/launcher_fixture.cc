#include "tests/launcher/launcher_fixture.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "config/load.h"
#include "coordination/lock.h"
#include "coordination/path.h"
#include "drivers/fake/fake_driver.h"
#include "drivers/static_nodes/static_driver.h"
#include "model/paths.h"
#include "nodescan/imaginary_hosts.h"
#include "tests/support/virtual_time.h"

namespace nodepool::launcher {

using async::Task;
using model::Node;
using model::NodeRequest;
using model::NodeState;

struct LauncherFixture::Process {
  Process(LauncherFixture& fixture, const std::shared_ptr<telemetry::Log>& log)
      : runtime{loop.executor(), fixture.clock_, fixture.random_},
        store(std::make_unique<coordination::MemoryStore>(fixture.server_, runtime)),
        launcher(std::make_unique<Launcher>(
            runtime, stalling, log, fixture.drivers_,
            Launcher::Options{"host", "host.example", fixture.journal_, fixture.metrics_,
                              [] { return std::size_t{0}; }})) {}

  async::EventLoop loop;
  async::Runtime runtime;
  std::unique_ptr<coordination::MemoryStore> store;
  coordination::StallingStore stalling{*store};  // the launcher's
  std::unique_ptr<Launcher> launcher;
  async::TaskScope tasks{runtime, [](const std::string& task, const std::string& error) {
                           ADD_FAILURE() << task << ": " << error;
                         }};
};

namespace {

// Imaginary hosts whose names may fail to be resolved.
class NamedHosts final : public nodescan::Scanner {
 public:
  explicit NamedHosts(std::shared_ptr<LookupFailure> failure) : failure_(std::move(failure)) {}

  Task<nodescan::Address> address(std::string host, async::Clock::TimePoint deadline) override {
    if (*failure_) throw nodescan::ScanError(**failure_);
    co_return co_await hosts_.address(std::move(host), deadline);
  }
  Task<> connectable(std::string host, std::uint16_t port, async::Clock::TimePoint deadline,
                     Attempts attempts) override {
    return hosts_.connectable(std::move(host), port, deadline, attempts);
  }
  Task<std::vector<std::string>> host_keys(std::string host, std::uint16_t port,
                                           async::Clock::TimePoint deadline,
                                           nodescan::Progress* progress) override {
    return hosts_.host_keys(std::move(host), port, deadline, progress);
  }

 private:
  std::shared_ptr<LookupFailure> failure_;
  nodescan::ImaginaryHosts hosts_{{"ssh-rsa KEY"}};
};

driver::DriverRegistry make_drivers(std::shared_ptr<Cloud> cloud,
                                    std::shared_ptr<LookupFailure> lookup_failure,
                                    const std::string& clouds_yaml,
                                    std::shared_ptr<drivers::fake::FakeClouds> fake_clouds) {
  const config::Environment environment{{"OS_CLIENT_CONFIG_FILE", clouds_yaml}};
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  const auto imagine_hosts = [failure = std::move(lookup_failure)](const auto& /*context*/) {
    return std::make_unique<NamedHosts>(failure);
  };
  drivers.push_back(std::make_unique<drivers::static_nodes::StaticDriver>(imagine_hosts));
  drivers.push_back(std::make_unique<CloudDriver>(std::move(cloud)));
  drivers.push_back(
      std::make_unique<drivers::fake::FakeDriver>(environment, std::move(fake_clouds)));
  return driver::DriverRegistry(std::move(drivers));
}

}  // namespace

LauncherFixture::LauncherFixture()
    : requestor_(std::make_unique<coordination::MemoryStore>(server_, runtime_)),
      drivers_(make_drivers(cloud_, lookup_failure_,
                            directory_.write("clouds.yaml", "clouds: {fake: {auth: {}}}"),
                            fake_clouds_)) {}

LauncherFixture::~LauncherFixture() {
  for (const auto& other : others_) other->store->kill_for_tests();
  others_.clear();
  if (process_) kill();
}

config::Config LauncherFixture::parse(const std::string& yaml) {
  const std::filesystem::path path =
      testing::TempDir() + "launcher_test_" + std::to_string(::getpid()) + ".yaml";
  std::ofstream(path) << yaml;
  config::LoadOptions options;
  options.path = path;
  options.drivers = drivers_.schemas();
  config::Config config = config::load(options).config;
  std::filesystem::remove(path);
  return config;
}

void LauncherFixture::start(const std::string& yaml) {
  process_ = make_process(yaml);
  settle();
}

void LauncherFixture::start_another(const std::string& yaml) {
  others_.push_back(make_process(yaml));
  settle();
}

std::unique_ptr<LauncherFixture::Process> LauncherFixture::make_process(const std::string& yaml) {
  const auto log = telemetry::Log::to_consumer(
      [this](telemetry::LogLevel, std::string_view logger, std::string_view message) {
        log_.push_back(std::string(logger) + ": " + std::string(message));
      },
      log_level_);
  auto process = std::make_unique<Process>(*this, log);
  process->loop.run(process->launcher->start(parse(yaml)));
  return process;
}

void LauncherFixture::reconfigure(const std::string& yaml) {
  process_->loop.run(process_->launcher->reconfigure(parse(yaml)));
  settle();
}

void LauncherFixture::begin_to_reconfigure(const std::string& yaml) {
  process_->tasks.spawn("reconfigure", process_->launcher->reconfigure(parse(yaml)));
}

void LauncherFixture::reconfigure_all_at_once(const std::string& yaml) {
  const auto ignore = [](const std::string&, const std::string&) {};
  std::vector<Process*> processes{process_.get()};
  for (const auto& other : others_) processes.push_back(other.get());
  std::vector<std::unique_ptr<async::TaskScope>> scopes;
  for (Process* process : processes) {
    scopes.push_back(std::make_unique<async::TaskScope>(process->runtime, ignore));
    scopes.back()->spawn("reconfigure", process->launcher->reconfigure(parse(yaml)));
  }
  bool ran = true;
  while (ran) {
    ran = false;
    for (Process* process : processes) ran = process->loop.poll(1) > 0 || ran;
  }
  for (const auto& scope : scopes) EXPECT_TRUE(scope->empty());
}

void LauncherFixture::stop() {
  process_->loop.run(process_->launcher->stop());
  process_->loop.run(process_->store->close());
  process_->launcher.reset();
  process_.reset();
  settle();
}

void LauncherFixture::begin_to_stop() {
  process_->tasks.spawn("stop", process_->launcher->stop());
}

void LauncherFixture::kill_others() {
  others_.clear();
}

void LauncherFixture::kill() {
  // Destroys its loop with all suspended tasks.
  process_->store->kill_for_tests();
  process_.reset();
  settle();
}

Launcher& LauncherFixture::launcher() {
  return *process_->launcher;
}

coordination::MemoryStore& LauncherFixture::process_store() {
  return *process_->store;
}

coordination::StallingStore& LauncherFixture::stalling_store() {
  return process_->stalling;
}

bool LauncherFixture::has_ended_tasks() const {
  return process_->tasks.empty();
}

std::size_t LauncherFixture::settle() {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::size_t total = 0;
  while (true) {
    std::size_t ran = loop_.poll(kAll);
    if (process_) ran += process_->loop.poll(kAll);
    for (const auto& other : others_) ran += other->loop.poll(kAll);
    if (ran == 0) return total;
    total += ran;
  }
}

void LauncherFixture::pass(async::Duration duration) {
  test_support::pass(clock_, duration, [this] { settle(); });
}

void LauncherFixture::step() {
  bool ran = process_->loop.poll(1) > 0;
  for (const auto& other : others_) ran = other->loop.poll(1) > 0 || ran;
  if (!ran) clock_.advance_to(clock_.next_wakeup());
}

std::string LauncherFixture::request(std::vector<std::string> labels,
                                     const std::function<void(NodeRequest&)>& change) {
  const std::string id = post_request(std::move(labels), change);
  settle();
  return id;
}

std::string LauncherFixture::post_request(std::vector<std::string> labels,
                                          const std::function<void(NodeRequest&)>& change) {
  NodeRequest request;
  request.node_types = std::move(labels);
  request.requestor = "test";
  request.set_state(model::RequestState::requested, clock_.wall_seconds());
  if (change) change(request);
  const std::string path =
      loop_.run(requestor_->create(model::request_path("200-"), to_record(request),
                                   coordination::CreateMode::persistent_sequential));
  return std::string(coordination::base_name(path));
}

void LauncherFixture::cancel(const std::string& request_id) {
  loop_.run(requestor_->remove(model::request_path(request_id), coordination::kAnyVersion));
  settle();
}

void LauncherFixture::accept(const std::string& request_id) {
  for (const std::string& id : read_request(request_id).nodes) {
    coordination::Lock lock(*requestor_, random_, model::node_lock_path(id));
    ASSERT_TRUE(loop_.run(lock.try_acquire())) << "node " << id;
    held_[id] = lock.contender();
    Node node = read_node(id);
    ASSERT_EQ(node.allocated_to, request_id);
    node.set_state(NodeState::in_use, clock_.wall_seconds());
    write_node(node);
  }
  cancel(request_id);
}

void LauncherFixture::give_back(const std::string& node_id, NodeState state) {
  Node node = read_node(node_id);
  node.set_state(state, clock_.wall_seconds());
  write_node(node);
  loop_.run(requestor_->remove(held_.at(node_id), coordination::kAnyVersion));
  held_.erase(node_id);
  settle();
}

NodeRequest LauncherFixture::read_request(const std::string& id) {
  return model::parse_node_request(id, loop_.run(requestor_->get(model::request_path(id))));
}

Node LauncherFixture::read_node(const std::string& id) {
  return model::parse_node(id, loop_.run(requestor_->get(model::node_path(id))));
}

void LauncherFixture::write_node(const Node& node) {
  loop_.run(requestor_->set(model::node_path(node.id), to_record(node), coordination::kAnyVersion));
}

std::vector<Node> LauncherFixture::nodes() {
  std::vector<Node> found;
  for (const std::string& id : children(std::string(model::kNodesRoot))) {
    found.push_back(read_node(id));
  }
  return found;
}

std::vector<Node> LauncherFixture::nodes(NodeState state) {
  std::vector<Node> found = nodes();
  std::erase_if(found, [state](const Node& node) { return node.state != state; });
  return found;
}

bool LauncherFixture::exists(const std::string& path) {
  return loop_.run(requestor_->exists(path)).has_value();
}

std::vector<std::string> LauncherFixture::children(const std::string& path) {
  return loop_.run(requestor_->children(path));
}

std::vector<std::string> LauncherFixture::contenders() {
  std::vector<std::string> found;
  collect_contenders("/nodepool", found);
  return found;
}

void LauncherFixture::collect_contenders(const std::string& path, std::vector<std::string>& found) {
  for (const std::string& name : children(path)) {
    const std::string child = coordination::join_path(path, name);
    if (!coordination::contender_sequence(name).empty()) found.push_back(child);
    collect_contenders(child, found);
  }
}

}  // namespace nodepool::launcher
