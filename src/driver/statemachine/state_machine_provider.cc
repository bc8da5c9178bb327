#include "driver/statemachine/state_machine_provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <boost/asio/this_coro.hpp>

#include "async/call_tracer.h"
#include "async/deadline.h"
#include "async/event.h"
#include "driver/statemachine/launch_journal.h"
#include "driver/statemachine/removal.h"
#include "driver/statemachine/silence.h"
#include "driver/statemachine/state_machine_driver.h"
#include "model/image_paths.h"
#include "model/paths.h"

namespace nodepool::driver {

namespace {

// Timeout of one attempt to delete a machine.
constexpr auto kDeleteTimeout = std::chrono::seconds(600);

// Without a response for so long, a deletion of a replaced provider ends. Shorter outages are left
// to it, because a provider that was removed has no successor.
constexpr auto kDeletionSilenceIfReplaced = std::chrono::seconds(30);

// Ends the wait for a deletion that the cloud does not report to a replaced provider. Its
// successor, perhaps with other credentials, makes the next attempt.
class DeletionTracer final : public async::CallTracer {
 public:
  DeletionTracer(const async::Clock& clock, std::shared_ptr<const bool> is_serving)
      : clock_(clock), is_serving_(std::move(is_serving)) {}

  void polled(std::string_view /*list*/) override { silence_.note(true, clock_.now()); }

  void poll_failed(std::string_view list, std::string_view reason) override {
    silence_.note(false, clock_.now());
    const auto silence = silence_.current(clock_.now());
    if (*is_serving_ || silence < kDeletionSilenceIfReplaced) return;
    throw std::runtime_error(fmt::format("could not poll {}: {}", list, reason));
  }

 private:
  const async::Clock& clock_;
  std::shared_ptr<const bool> is_serving_;
  Silence silence_;
};

}  // namespace

StateMachineProvider::StateMachineProvider(std::shared_ptr<const StateMachineConfig> config,
                                           ProviderContext context,
                                           std::unique_ptr<Adapter> adapter,
                                           std::unique_ptr<nodescan::Scanner> scanner)
    : config_(std::move(config)),
      context_(std::move(context)),
      log_(context_.log.child("driver." + config_->name())),
      ownership_(context_.installation, config_->name()),
      boot_memory_(context_, *config_, log_),
      adapter_(std::move(adapter)),
      scanner_(std::move(scanner)),
      machines_(context_.runtime, *adapter_, log_),
      leak_search_(context_, config_->name(), *adapter_, machines_, ownership_, log_),
      uploads_(context_.images.observe([this](const std::string&) { offer_.reset(); })) {}

StateMachineProvider::~StateMachineProvider() = default;

Task<> StateMachineProvider::start() {
  co_await boot_memory_.restore();
  std::function<void()> changed = [this] { machines_.forget(); };
  co_await adapter_->start(std::move(changed));
}

void StateMachineProvider::take_over(Provider& predecessor) {
  auto* other = dynamic_cast<StateMachineProvider*>(&predecessor);
  if (other == nullptr) return;
  boot_memory_.take_over(other->boot_memory_);
}

Task<> StateMachineProvider::stop() {
  co_await machines_.stop();
  co_await adapter_->stop();
}

// --- facts about the cloud

// nullptr: not known yet.
const LabelOffer* StateMachineProvider::known_label(const std::string& pool,
                                                    const std::string& label) const {
  if (!cloud_) return nullptr;
  const auto found = cloud_->labels.find({pool, label});
  return found == cloud_->labels.end() ? nullptr : &found->second;
}

std::shared_ptr<const Offer> StateMachineProvider::offer() const {
  if (!offer_) offer_ = std::make_shared<const Offer>(make_offer());
  return offer_;
}

Offer StateMachineProvider::make_offer() const {
  Offer offer = config_->offer();
  for (auto& [pool_name, pool] : offer.pools) {
    if (pool.zones.empty() && cloud_) pool.zones = cloud_->zones;
    for (auto& [name, label] : pool.labels) {
      if (const LabelOffer* known = known_label(pool_name, name)) {
        label.need = known->need;
        label.problem = known->problem;
      }
      const bool has_image = label.diskimage.empty() ||
                             newest_upload(config_->machine_label(pool_name, name)) != nullptr;
      if (!has_image) {
        label.problem = images_unavailable("no ready upload of " + label.diskimage);
        label.is_problem_on_record = true;
      }
    }
  }
  return offer;
}

Task<Limits> StateMachineProvider::available() {
  co_await describe_cloud();
  // Also if the quota is ignored: an outage must not go unnoticed, and the description may be old.
  const Resources others = co_await taken_by_others();
  if (!config_->uses_cloud_quota()) co_return Limits{};
  co_return remaining(cloud_->limits, others);
}

// Falls back to the last known description. During an outage that is every few seconds: only the
// first failure is a warning.
Task<> StateMachineProvider::describe_cloud() {
  try {
    CloudDescription described = co_await adapter_->describe(CloudDescription::Purpose::plan);
    log_new_problems(described);
    cloud_ = std::move(described);
    offer_.reset();
    is_cloud_outdated_ = false;
  } catch (const CloudError& error) {
    if (!cloud_) throw;
    if (!std::exchange(is_cloud_outdated_, true)) {
      log_.warning("Error reading limits, using the last known: {}", error.what());
    }
  }
}

// A problem may last for weeks.
void StateMachineProvider::log_new_problems(const CloudDescription& described) const {
  for (const auto& [key, label] : described.labels) {
    const LabelOffer* known = known_label(key.first, key.second);
    if (label.problem.empty() || (known != nullptr && known->problem == label.problem)) continue;
    log_.warning("Label {} of pool {} cannot be served: {}", key.second, key.first, label.problem);
  }
}

Task<std::vector<std::string>> StateMachineProvider::missing_in_cloud() {
  const CloudDescription cloud = co_await adapter_->describe(CloudDescription::Purpose::check);
  std::vector<std::string> missing;
  for (const auto& [key, label] : cloud.labels) {
    if (label.problem.empty()) continue;
    missing.push_back(fmt::format("pool {}, label {}: {}", key.first, key.second, label.problem));
  }
  missing.insert(missing.end(), cloud.missing.begin(), cloud.missing.end());
  co_return missing;
}

// The usage of all machines that are not nodes of this provider. Those of the Python Nodepool have
// no installation id; the id in the node's record tells that they are counted with it.
Task<Resources> StateMachineProvider::taken_by_others() {
  Resources taken;
  const MachineInventory::Pointer machines = co_await machines_.list();
  for (const Machine& machine : machines->all()) {
    if (machine.state == Machine::State::deleted) continue;
    const model::Node* node = context_.nodes.find(value_of(machine.metadata, kNodeIdKey));
    const bool is_recorded = node != nullptr && node->provider == config_->name() &&
                             machines->find(node->external_id) == &machine;
    const bool is_ours =
        is_recorded || (node != nullptr && ownership_.may_be_of_node(machine.metadata, *node));
    if (!is_ours) taken += machine.resources;
  }
  co_return taken;
}

const model::ImageUpload* StateMachineProvider::newest_upload(const MachineLabel& label) const {
  return context_.images.newest_ready_upload(label.diskimage, config_->name());
}

// A resumed launch keeps its image as long as that is ready.
const model::ImageUpload* StateMachineProvider::upload_for(const model::Node& node,
                                                           const MachineLabel& label) const {
  const std::string image = node.image_id.value_or("");
  std::string_view path = image;
  if (!node.launch_journal.is_null() && path.starts_with(model::kImagesRoot)) {
    path.remove_prefix(std::min(path.size(), model::kImagesRoot.size() + 1));
    const auto place = model::parse_image_path(path);
    const model::ImageUpload* upload =
        place ? context_.images.find_upload(place->image, place->build_id, place->provider,
                                            place->upload_id)
              : nullptr;
    if (upload != nullptr && upload->state == model::UploadState::ready) return upload;
  }
  return newest_upload(label);
}

// --- machines

Task<> StateMachineProvider::launch(NodeLaunch& launch) {
  const model::Node& node = launch.node();
  const MachineLabel& label = config_->machine_label(*node.pool, node.type.front());
  std::optional<UploadedImage> image = launch.image();
  if (!image && !label.diskimage.empty()) {
    const model::ImageUpload* upload = upload_for(node, label);
    if (upload == nullptr) {
      throw LaunchError(LaunchError::Kind::failed,
                        "no ready upload of image " + label.diskimage + " in this provider");
    }
    image.emplace(model::upload_path(upload->image, upload->build_id, upload->provider, upload->id),
                  upload->external_id.string_value());
  }
  MachineLaunch machine(
      {context_.runtime, *adapter_, *config_, ownership_, boot_memory_.of(node.type.front()),
       *scanner_, log_.about(launch.request().event_id.value_or(""), launch.request().id, node.id),
       context_.metrics, *context_.is_serving},
      launch, std::move(image));
  co_await machine.run();
}

Task<bool> StateMachineProvider::is_usable(std::string node_id) {
  const model::Node* node = context_.nodes.find(node_id);
  if (node == nullptr) co_return false;
  co_return co_await machines_.is_running(node->id, node->external_id, node->state_time);
}

Task<std::map<std::string, std::string>> StateMachineProvider::terminated() {
  co_return co_await machines_.terminated(context_.nodes);
}

Task<std::optional<model::Node>> StateMachineProvider::reclaim(NodeRecord& record) {
  const auto tracer = std::make_shared<DeletionTracer>(context_.runtime.clock, context_.is_serving);
  const bool may_be_replaced = *context_.is_serving;  // not a command's
  if (may_be_replaced) async::set_tracer(co_await boost::asio::this_coro::executor, tracer);
  const auto deadline = context_.runtime.clock.now() + kDeleteTimeout;
  Task<> removing = remove_machine(record);
  co_await async::with_deadline(context_.runtime.clock, deadline, std::move(removing),
                                "deleting the machine");
  co_return std::nullopt;
}

// With an unreadable journal, there may be resources that the record does not name.
Task<> StateMachineProvider::remove_machine(NodeRecord& record) {
  const model::Node& node = record.node();
  LaunchJournal journal;
  bool is_uncertain = true;
  try {
    journal = LaunchJournal::parse(node.launch_journal);
    is_uncertain = journal.is_uncertain();
  } catch (const model::RecordError& error) {
    log_.warning("Node {}: {}", node.id, error.what());
  }
  RemovalContext removal{context_.runtime, *adapter_, ownership_,
                         log_.about({}, node.allocated_to.value_or(""), node.id)};
  if (const std::optional<double> released = record.released()) {
    removal.accepted = [this, since = *released] {
      report_deletion(context_.metrics, config_->name(), "accepted",
                      context_.runtime.clock.wall_seconds() - since);
    };
  }
  co_await remove_all_of(std::move(removal), record, journal, is_uncertain);
}

// --- leaks

Task<> StateMachineProvider::remove_leaks() {
  co_await boot_memory_.save_if_due();
  co_await leak_search_.run();
}

Task<std::vector<Leak>> StateMachineProvider::leaks() {
  co_return co_await leak_search_.leaks();
}

Task<> StateMachineProvider::remove_leak(Leak leak) {
  co_await leak_search_.remove(std::move(leak));
}

std::unique_ptr<Provider> StateMachineDriver::provider(std::shared_ptr<const ProviderConfig> config,
                                                       ProviderContext context) const {
  auto machine_config = std::dynamic_pointer_cast<const StateMachineConfig>(config);
  context.is_serving = std::make_shared<bool>(*context.is_serving);
  auto cloud = adapter(std::move(config), context);
  auto hosts = scanner(context);
  return std::make_unique<StateMachineProvider>(std::move(machine_config), std::move(context),
                                                std::move(cloud), std::move(hosts));
}

std::unique_ptr<nodescan::Scanner> StateMachineDriver::scanner(
    const ProviderContext& context) const {
  return std::make_unique<nodescan::NetworkScanner>(context.runtime, context.threads);
}

}  // namespace nodepool::driver
