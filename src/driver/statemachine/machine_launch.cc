#include "driver/statemachine/machine_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>

#include "async/deadline.h"
#include "coordination/error.h"
#include "driver/statemachine/journaled_steps.h"
#include "driver/statemachine/removal.h"
#include "model/failure_text.h"
#include "nodescan/error.h"

namespace nodepool::driver {

namespace {

// Between attempts to roll back a failed attempt.
constexpr auto kUndoPause = std::chrono::seconds(5);

// After an attempt that has not reached the cloud; each pause is twice the previous one.
constexpr auto kFirstPause = std::chrono::seconds(15);
constexpr auto kLongestPause = std::chrono::seconds(120);

// The machine came up, but its host keys could not be read.
class ScanFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The machine came up, but has no usable address.
class NoAddress : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// After so long without a response of the cloud, another pool serves the request if one may.
constexpr auto kLongestSilence = std::chrono::minutes(10);

// The same if the provider was replaced: its successor resumes the launch. Shorter outages are left
// to this launch, because the new configuration may lack its label.
constexpr auto kSilenceIfReplaced = std::chrono::seconds(30);

// The cloud has not responded for long, and another pool may serve the request.
class LeftToOthers : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The keys of `base`, overridden by those of `over`. If `base` is no object, returns `over`.
model::Json merged(const model::Json& base, const model::Json& over) {
  auto all = nlohmann::ordered_json::parse(base.text);
  const auto more = nlohmann::ordered_json::parse(over.text);
  if (!all.is_object()) return over;
  if (more.is_object()) all.update(more);
  return model::Json::parse(all.dump());
}

}  // namespace

struct MachineLaunch::Failure {
  std::string message;
  std::string_view result = kLaunchFailed;  // for metrics
  LaunchError::Kind kind = LaunchError::Kind::failed;
  bool may_try_again = true;
  bool has_reached_cloud = true;  // otherwise pause before the next attempt
  bool was_silent = false;        // the cloud, for most of the attempt
};

MachineLaunch::MachineLaunch(MachineLaunchContext context, NodeLaunch& launch,
                             std::optional<UploadedImage> image)
    : context_(std::move(context)),
      launch_(launch, context_.runtime.clock),
      image_(std::move(image)),
      metrics_(context_.metrics, context_.runtime.clock),
      stages_(context_.metrics, context_.runtime.clock, launch_.node().provider.value_or("")),
      recorder_(std::make_shared<LaunchRecorder>(context_.runtime.clock)) {
  recorder_->on_poll([this](std::string_view failure) { polled(failure); });
}

// The recorder may outlive this: as the tracer of the task.
MachineLaunch::~MachineLaunch() {
  recorder_->on_poll({});
}

const MachineLabel& MachineLaunch::label() const {
  return context_.config.machine_label(*launch_.node().pool, launch_.node().type.front());
}

Task<> MachineLaunch::run() {
  journal_ = LaunchJournal::parse(launch_.node().launch_journal);
  // Without a journal, the Python Nodepool's launcher has begun it, and its progress is unknown.
  const bool has_journal = !launch_.node().launch_journal.is_null();
  if (!has_journal && !launch_.node().external_id.is_null()) journal_.undo = true;
  resumed_ = has_journal || journal_.undo;
  describe_image();
  async::set_tracer(co_await boost::asio::this_coro::executor, recorder_);
  while (true) {
    std::exception_ptr error;
    try {
      co_await run_attempt();
    } catch (...) {
      error = std::current_exception();
    }
    const std::optional<Failure> failure = error ? failure_of(error) : std::nullopt;
    metrics_.ended(failure ? failure->result : kLaunchReady, launch_.node());
    emit_trace(failure);
    if (!failure) break;
    if (!failure->has_reached_cloud) {
      silence_.note(false, context_.runtime.clock.now());
      if (!context_.is_serving) throw LaunchError(LaunchError::Kind::replaced, failure->message);
    }
    launch_.node().launch_journal = journal_.to_json();  // for reclaiming the node
    if (is_last(*failure)) throw LaunchError(failure->kind, failure->message);
    context_.log.error("Launch attempt {}/{} failed: {}", journal_.attempt,
                       context_.config.launch_retries(), failure->message);
    if (!failure->has_reached_cloud) co_await pause();
    begin_another_attempt();
  }
  launch_.node().launch_journal = {};
}

// An outage may have ended too late for the last attempt: there is one more, once.
bool MachineLaunch::is_last(const Failure& failure) const {
  if (!failure.may_try_again || (!failure.has_reached_cloud && is_for_others())) return true;
  const auto retries = context_.config.launch_retries();
  return failure.was_silent ? journal_.attempt > retries : journal_.attempt >= retries;
}

bool MachineLaunch::is_for_others() const {
  return silence_.current(context_.runtime.clock.now()) >= kLongestSilence &&
         launch_.may_be_left_to_others();
}

// The successor may have what this provider lacks: credentials, or the cloud's address.
void MachineLaunch::end_if_replaced(std::string_view failure) const {
  const auto silence = silence_.current(context_.runtime.clock.now());
  if (context_.is_serving || silence < kSilenceIfReplaced) return;
  throw LaunchError(LaunchError::Kind::replaced, std::string(failure));
}

// Rethrows errors that end the launch without another attempt.
std::optional<MachineLaunch::Failure> MachineLaunch::failure_of(
    const std::exception_ptr& error) const {
  try {
    std::rethrow_exception(error);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const LaunchError&) {
    throw;  // the provider was replaced
  } catch (const coordination::StoreError& failure) {
    if (failure.kind() == coordination::StoreError::Kind::session_expired) {
      metrics_.ended(kLaunchSessionLost, launch_.node());
    }
    throw;
  } catch (const CloudError& failure) {
    const bool quota = failure.kind() == CloudError::Kind::quota;
    const bool is_unreachable =
        failure.kind() == CloudError::Kind::auth || failure.kind() == CloudError::Kind::transient;
    auto kind = quota ? LaunchError::Kind::quota : LaunchError::Kind::failed;
    if (is_unreachable) kind = LaunchError::Kind::unanswered;
    return Failure{failure.what(), result_of(failure), kind,
                   !quota && failure.kind() != CloudError::Kind::permanent, !is_unreachable};
  } catch (const async::DeadlineExceeded& failure) {
    // The cloud may not have responded in all that time.
    std::string message = failure.what();
    const std::string& reason = unknown_outcome_.empty() ? poll_failure_ : unknown_outcome_;
    if (!reason.empty()) message += ": " + reason;
    const bool was_silent =
        silence_.in_attempt(context_.runtime.clock.now()) >= context_.config.launch_timeout() / 2;
    return Failure{.message = std::move(message),
                   .result = kLaunchTimedOut,
                   .kind = LaunchError::Kind::unanswered,
                   .was_silent = was_silent};
  } catch (const LeftToOthers& failure) {
    return Failure{
        .message = failure.what(), .kind = LaunchError::Kind::unanswered, .may_try_again = false};
  } catch (const ScanFailed& failure) {
    return Failure{failure.what(), kLaunchKeyScanFailed, LaunchError::Kind::unreachable};
  } catch (const NoAddress& failure) {
    return Failure{failure.what(), kLaunchWithoutAddress};
  } catch (const std::exception& failure) {
    return Failure{failure.what()};
  }
}

void MachineLaunch::emit_trace(const std::optional<Failure>& failure) {
  LaunchTrace trace = recorder_->take();
  metrics_.called(trace.calls, launch_.node());
  trace.attempt = static_cast<std::size_t>(journal_.attempt);
  trace.attempts =
      std::max(trace.attempt, static_cast<std::size_t>(context_.config.launch_retries()));
  trace.resumed = std::exchange(resumed_, false);
  trace.result = failure ? failure->result : kLaunchReady;
  if (failure) {
    trace.failure = model::failure_text(failure->message);
    if (trace.failure.empty()) trace.failure = "unknown reason";
  }
  launch_.attempt_ended(trace);
}

// Without a pause, a cloud that rejects the credentials or does not respond would use up all
// attempts at once.
Task<> MachineLaunch::pause() {
  const auto wanted = kFirstPause * (1 << std::min<std::int64_t>(journal_.attempt - 1, 8));
  return context_.runtime.clock.sleep_for(std::min<async::Duration>(wanted, kLongestPause));
}

// The rollback of the last attempt counts towards the timeout of this one.
void MachineLaunch::begin_another_attempt() {
  ++journal_.attempt;
  journal_.undo = !launch_.node().external_id.is_null() || journal_.is_uncertain();
  if (!journal_.undo) journal_.steps.clear();
}

Task<> MachineLaunch::run_attempt() {
  Task<> running = attempt();
  Task<> limit = handle_timeout();
  co_await async::with_limit(std::move(limit), std::move(running), "launching the machine");
}

// Returns after launch-timeout, not counting the time for writes to the store.
Task<> MachineLaunch::handle_timeout() {
  async::Duration granted = launch_.taken();
  auto deadline = context_.runtime.clock.now() + context_.config.launch_timeout();
  while (context_.runtime.clock.now() < deadline) {
    co_await context_.runtime.clock.sleep_until(deadline);
    const async::Duration taken = launch_.taken();
    deadline += taken - granted;
    granted = taken;
  }
}

Task<> MachineLaunch::attempt() {
  unknown_outcome_.clear();
  poll_failure_.clear();
  silence_.begin_attempt(context_.runtime.clock.now());
  if (journal_.undo) co_await undo();
  JournaledSteps steps(context_.runtime, launch_, journal_,
                       context_.adapter.traits().consistency_delay, context_.log);
  // The start of a resumed attempt is unknown, so its stages are not reported.
  const bool is_resumed = !journal_.steps.empty();
  stages_.begin();
  if (!is_resumed) steps.on_accepted([this] { stages_.reached("created"); });
  steps.on_booted([this](async::Duration taken) { context_.boot_times.learn(taken); });
  steps.on_unknown_outcome([this](std::string error) { step_became_unknown(std::move(error)); });
  steps.on_searched([this](const std::string& failure) { searched(failure); });
  steps.record_to(*recorder_);
  const Instance instance = co_await context_.adapter.create(spec(), steps);
  if (!is_resumed) stages_.reached("active");
  stages_.begin();
  describe(instance);
  co_await scan();
}

// `error` is empty if the outcome is known now.
void MachineLaunch::step_became_unknown(std::string error) {
  silence_.note(error.empty(), context_.runtime.clock.now());
  unknown_outcome_ = std::move(error);
}

// The cloud was asked for what the launch may have made. `failure` is empty if it has responded.
void MachineLaunch::searched(const std::string& failure) {
  silence_.note(failure.empty(), context_.runtime.clock.now());
  end_if_replaced(failure);
  if (!is_for_others()) return;
  throw LeftToOthers("the cloud does not respond, so another pool may serve the request: " +
                     failure);
}

// The launch waits for its machine in a list. `failure` is empty if that could be read.
void MachineLaunch::polled(std::string_view failure) {
  silence_.note(failure.empty(), context_.runtime.clock.now());
  poll_failure_ = failure;
  end_if_replaced(failure);
}

Task<> MachineLaunch::undo() {
  recorder_->entered("deleting the resources of the last attempt");
  launch_.node().launch_journal = journal_.to_json();
  std::string reported;
  while (true) {
    co_await launch_.save();  // checks that this launcher still holds the node's lock
    std::string failure;
    bool is_out_of_reach = false;
    bool is_silent = false;
    try {
      co_await remove_all_of({context_.runtime, context_.adapter, context_.ownership, context_.log},
                             launch_, journal_, journal_.is_uncertain());
    } catch (const OutOfReach& error) {
      is_out_of_reach = true;
      failure = error.what();
    } catch (const CloudError& error) {
      failure = error.what();
      is_silent = error.kind() == CloudError::Kind::transient ||  // also the 503 of a proxy
                  error.kind() == CloudError::Kind::auth;
    }
    searched(is_silent ? failure : std::string());
    if (failure.empty()) break;
    if (is_out_of_reach) {
      context_.log.warning("Abandoning the resources of the last attempt: {}", failure);
      break;
    }
    if (failure != reported) {
      context_.log.warning("Error deleting the resources of the last attempt, retrying: {}",
                           failure);
      reported = std::move(failure);
    }
    co_await context_.runtime.clock.sleep_for(kUndoPause);
  }
  forget_machine();
  journal_.undo = false;
  journal_.steps.clear();
  journal_.removal.clear();
}

// The record of a node without a machine must not name the address or the slot of the one it had:
// the slot would count as taken. The zone stays: later attempts use the same one.
void MachineLaunch::forget_machine() {
  model::Node& node = launch_.node();
  node.external_id = {};
  node.interface_ip = {};
  node.public_ipv4 = {};
  node.private_ipv4 = {};
  node.public_ipv6 = {};
  node.host_id = {};
  node.driver_data = {};
  node.slot = {};
  node.host_keys.clear();
}

CreateSpec MachineLaunch::spec() const {
  const model::Node& node = launch_.node();
  CreateSpec spec;
  spec.node_id = node.id;
  spec.attempt = journal_.attempt;
  spec.hostname = "np" + node.id;
  spec.pool = *node.pool;
  spec.label = node.type.front();
  if (image_) spec.image_external_id = image_->external_id;
  spec.image_name = label().diskimage.empty() ? label().cloud_image : label().diskimage;
  spec.az = node.az.to_optional();
  spec.metadata = context_.ownership.of_node(node);
  spec.request = launch_.request();
  spec.expected = context_.boot_times.expectation();
  return spec;
}

void MachineLaunch::describe_image() {
  model::Node& node = launch_.node();
  if (image_) node.image_id = image_->record;
  if (!image_ && !label().cloud_image.empty()) node.image_id = label().cloud_image;
  describe_connection({});
}

// The label's settings apply where `connection` has none.
void MachineLaunch::describe_connection(const ConnectionSettings& connection) {
  model::Node& node = launch_.node();
  const ImageAccess& access = label().access;
  node.username = connection.username ? connection.username : access.username;
  node.python_path = connection.python_path.value_or(access.python_path);
  node.shell_type = connection.shell_type ? connection.shell_type : access.shell_type;
  node.connection_type = connection.type.value_or(access.connection_type);
  node.connection_port = connection.port.is_null()
                             ? model::Json{std::to_string(access.connection_port)}
                             : connection.port;
  node.host_keys = connection.host_keys;
}

void MachineLaunch::describe(const Instance& instance) {
  model::Node& node = launch_.node();
  if (!instance.external_id.is_null()) node.external_id = instance.external_id;
  node.interface_ip = instance.interface_ip;
  if (context_.config.machine_pool(*node.pool).use_internal_ip) {
    const bool has_v4 = !instance.private_ipv4.value_or("").empty();
    const auto& internal = has_v4 ? instance.private_ipv4 : instance.private_ipv6;
    if (!internal.value_or("").empty()) node.interface_ip = internal;
  }
  node.public_ipv4 = instance.public_ipv4;
  node.private_ipv4 = instance.private_ipv4;
  node.public_ipv6 = instance.public_ipv6;
  node.host_id = instance.host_id;
  node.cloud = instance.cloud;
  node.region = instance.region;
  node.az = instance.az;
  node.driver_data = instance.driver_data;
  node.slot = instance.slot;
  node.node_properties = instance.node_properties;
  if (!instance.node_attributes.is_null()) {
    const auto& pool = context_.config.pools().at(*node.pool);
    node.attributes = merged(instance.node_attributes, pool.node_attributes);
  }
  describe_connection(instance.connection);
  if (!instance.resources.empty()) node.resources = instance.resources.to_json();
}

// --- host keys

Task<> MachineLaunch::scan() {
  model::Node& node = launch_.node();
  const std::optional<int> port = node.port();
  if (!port) co_return;  // no host to connect to
  if (node.interface_ip.value_or("").empty()) {
    throw NoAddress("the machine has no usable address");
  }
  if (!label().host_key_checking) co_return;
  node.launch_journal = journal_.to_json();
  co_await launch_.save();  // publishes the address of a machine that may not respond
  const auto deadline = context_.runtime.clock.now() + context_.config.boot_timeout();
  const std::string type = node.connection_type.value_or("");
  const bool has_ssh = type == "ssh" || type == "network_cli";
  const auto number = static_cast<std::uint16_t>(*port);
  const auto begun = context_.runtime.clock.now();
  recorder_->entered(has_ssh ? "reading the host keys" : "waiting for the port to open");
  nodescan::Progress progress;
  std::string failure;
  try {
    if (has_ssh) {
      auto keys =
          co_await context_.scanner.host_keys(*node.interface_ip, number, deadline, &progress);
      if (!keys.empty()) node.host_keys = std::move(keys);
    } else {
      co_await context_.scanner.connectable(*node.interface_ip, number, deadline,
                                            nodescan::Scanner::Attempts::until_deadline);
    }
  } catch (const nodescan::ScanError& error) {
    failure = error.what();
  }
  context_.log.debug(
      "Host key scan {}: {} key(s), {} connection attempt(s), {} failed connection(s), {} failed "
      "negotiation(s), {} s",
      failure.empty() ? "complete" : "failed", node.host_keys.size(), progress.attempts,
      progress.failed_connections, progress.failed_negotiations,
      std::chrono::floor<std::chrono::seconds>(context_.runtime.clock.now() - begun).count());
  if (failure.empty()) {
    stages_.reached("port", progress.connected.value_or(context_.runtime.clock.now()));
    if (has_ssh) stages_.reached("keys");
    co_return;
  }
  co_await report_scan_failure(failure);
  throw ScanFailed("key scan: " + failure);
}

Task<> MachineLaunch::report_scan_failure(std::string reason) {
  const model::Json external_id = launch_.node().external_id;
  context_.log.error("Host key scan failed: {}", reason);
  std::string failure;
  try {
    const auto text = co_await context_.adapter.diagnose(external_id, label().console_log);
    if (text) recorder_->console(*text);
    if (text) context_.log.info("Console log of {}:\n{}", external_id.text, *text);
  } catch (const CloudError& error) {
    failure = error.what();
  }
  if (!failure.empty()) context_.log.warning("Error reading the console log: {}", failure);
}

}  // namespace nodepool::driver
