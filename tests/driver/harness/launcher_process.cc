#include "tests/driver/harness/launcher_process.h"

#include <stdexcept>
#include <thread>
#include <utility>

#include "model/paths.h"
#include "tests/support/virtual_time.h"

namespace nodepool::driver::harness {

namespace {

void ignore(const std::string& /*name*/, const std::string& /*error*/) {}

telemetry::Logger logger_to(std::vector<std::string>& lines) {
  const auto consume = [&lines](telemetry::LogLevel level, std::string_view /*logger*/,
                                std::string_view message) {
    const bool is_serious = level >= telemetry::LogLevel::warning;
    lines.push_back((is_serious ? "! " : "  ") + std::string(message));
  };
  return {telemetry::Log::to_consumer(consume), "nodepool"};
}

Task<> watched(Task<> task, std::shared_ptr<Job> job) {
  try {
    co_await std::move(task);
  } catch (...) {
    job->error = std::current_exception();
  }
  job->ended = true;
}

}  // namespace

void Job::result() const {
  if (!ended) throw std::logic_error("the job has not ended");
  if (error) std::rethrow_exception(error);
}

std::string Job::failure() const {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& failure) {
    return failure.what();
  }
}

// A node's record without a lock: nobody else launches it.
class LauncherProcess::Launch final : public NodeLaunch {
 public:
  Launch(LauncherProcess& process, model::Node node, BeforeSave before_save)
      : process_(process), node_(std::move(node)), before_save_(std::move(before_save)) {
    request_.id = node_.allocated_to.value_or("");
    request_.node_types = node_.type;
  }

  model::Node& node() override { return node_; }
  const model::NodeRequest& request() const override { return request_; }

  bool may_be_left_to_others() const override { return process_.installation_.others_may_serve; }
  void attempt_ended(const LaunchTrace& account) override {
    process_.installation_.accounts.push_back(account);
  }

  Task<> save() override {
    if (before_save_) before_save_(node_);
    node_.stat = co_await process_.store_.set(model::node_path(node_.id), to_record(node_),
                                              node_.stat.version);
    process_.nodes_.written(node_, node_.stat);
  }

 private:
  LauncherProcess& process_;
  model::Node node_;
  model::NodeRequest request_;
  BeforeSave before_save_;
};

LauncherProcess::LauncherProcess(Installation& installation, MakeProvider make_provider,
                                 WaitForWire wait_for_wire)
    : installation_(installation),
      make_provider_(std::move(make_provider)),
      wait_for_wire_(std::move(wait_for_wire)),
      runtime_{loop_.executor(), installation.clock, installation.random},
      store_(installation.server, runtime_),
      lock_sweeper_(runtime_, store_),
      log_(logger_to(installation.log)),
      nodes_(runtime_, store_, log_),
      images_(runtime_, store_, log_),
      followers_(runtime_, ignore),
      jobs_(std::make_unique<async::TaskScope>(runtime_, ignore)) {
  followers_.spawn("nodes", nodes_.run());
  followers_.spawn("images", images_.run());
  settle();
  if (!nodes_.ready() || !images_.ready()) throw std::logic_error("the tables are not complete");
  provider_ = new_provider();
  run(provider_->start());
}

LauncherProcess::~LauncherProcess() {
  store_.kill_for_tests();
}

std::unique_ptr<Provider> LauncherProcess::new_provider() {
  return make_provider_(
      {.runtime = runtime_,
       .store = store_,
       .nodes = nodes_,
       .images = images_,
       .threads = threads_,
       .log = log_,
       .installation = std::make_shared<const model::Installation>(installation_.identity)});
}

void LauncherProcess::replace_provider() {
  const std::unique_ptr<Provider> predecessor = std::exchange(provider_, new_provider());
  predecessor->quiesce();
  const std::weak_ptr<const int> calls = std::exchange(in_use_, std::make_shared<int>());
  provider_->take_over(*predecessor);
  run(provider_->start());
  while (!calls.expired()) {
    if (!step()) throw std::runtime_error("nothing is left that could end the calls");
  }
  run(predecessor->stop());
}

std::shared_ptr<Job> LauncherProcess::begin(Task<> task) {
  auto job = std::make_shared<Job>();
  jobs_->spawn("job", watched(std::move(task), job));
  return job;
}

std::shared_ptr<Job> LauncherProcess::launch(const std::string& node_id, BeforeSave before_save) {
  return begin(launch_node(node_id, std::move(before_save)));
}

std::shared_ptr<Job> LauncherProcess::reclaim(const std::string& node_id) {
  return begin(reclaim_node(node_id));
}

Task<model::Node> LauncherProcess::read(std::string node_id) {
  const coordination::Entry entry = co_await store_.get(model::node_path(node_id));
  co_return model::parse_node(node_id, entry);
}

Task<> LauncherProcess::launch_node(std::string node_id, BeforeSave before_save) {
  model::Node node = co_await read(node_id);
  Launch launch(*this, std::move(node), std::move(before_save));
  std::optional<LaunchError> failure;
  const auto in_use = in_use_;
  try {
    co_await provider_->launching()->launch(launch);
  } catch (const LaunchError& error) {
    failure = error;
  }
  model::NodeState state = model::NodeState::ready;
  if (failure) {
    const bool refused = failure->kind() == LaunchError::Kind::quota;
    state = refused ? model::NodeState::aborted : model::NodeState::failed;
  }
  launch.node().set_state(state, runtime_.clock.wall_seconds());
  co_await launch.save();
  if (failure) throw LaunchError(*failure);
}

Task<> LauncherProcess::reclaim_node(std::string node_id) {
  model::Node node = co_await read(node_id);
  node.set_state(model::NodeState::deleting, runtime_.clock.wall_seconds());
  Launch record(*this, std::move(node), {});
  co_await record.save();
  const auto in_use = in_use_;
  const auto again = co_await provider_->reclaim(record);
  if (again) throw std::logic_error("a node that was launched is not registered again");
  co_await store_.remove(model::node_path(node_id), record.node().stat.version);
}

void LauncherProcess::run(Task<> task) {
  const auto job = begin(std::move(task));
  run_until_ended(*job);
  job->result();
}

void LauncherProcess::run_until_ended(const Job& job) {
  while (!job.ended) {
    if (!step()) throw std::runtime_error("nothing is left that could end the job");
  }
}

bool LauncherProcess::step() {
  if (loop_.poll(1) > 0 || wait_for_wire() || wait_for_thread()) return true;
  const auto next = installation_.clock.next_wakeup();
  if (next == async::Clock::TimePoint::max()) return false;
  installation_.clock.advance_to(next);
  return true;
}

void LauncherProcess::settle() {
  while (loop_.poll() || wait_for_wire() || wait_for_thread()) {
  }
}

bool LauncherProcess::wait_for_wire() {
  return provider_ && wait_for_wire_();
}

// If a call is under way on a thread: runs what its return brings.
bool LauncherProcess::wait_for_thread() {
  if (threads_.idle()) return false;
  while (loop_.poll(1) == 0) std::this_thread::yield();
  return true;
}

void LauncherProcess::pass(async::Duration duration) {
  test_support::pass(installation_.clock, duration, [this] { settle(); });
}

void LauncherProcess::cancel() {
  jobs_->cancel();
  while (!jobs_->empty()) {
    if (!step()) throw std::runtime_error("what was cancelled does not end");
  }
  jobs_ = std::make_unique<async::TaskScope>(runtime_, ignore);
}

}  // namespace nodepool::driver::harness
