#include "drivers/gce/cloud_view.h"

#include <fmt/format.h>

namespace nodepool::drivers::gce {

using async::Task;

namespace {

// Minimum between two polls if the expected boot time is known.
constexpr async::Duration kExpectedPollInterval = std::chrono::milliseconds(250);
constexpr async::Duration kQuotaAge = std::chrono::seconds(10);
// Of images, and of types that the zone does not have.
constexpr async::Duration kLookupAge = std::chrono::minutes(5);

// The path of an image that is configured by id, with its project; empty if the id has another
// form.
std::string path_of(const std::string& id, const std::string& project) {
  const std::size_t start = id.find("projects/");
  if (start != std::string::npos) return id.substr(start);
  return id.starts_with("global/images/") ? fmt::format("projects/{}/{}", project, id) : "";
}

}  // namespace

CloudView::CloudView(const async::Runtime& runtime, ComputeEngine& compute)
    : runtime_(runtime),
      compute_(compute),
      instances_(runtime, "instances", {.unknown = kPollInterval, .least = kExpectedPollInterval},
                 [this] { return InstanceList::of(compute_.instances()); }),
      quotas_(runtime, "quotas of a region", [this] { return ask_quotas(); }) {}

Task<std::optional<MachineType>> CloudView::machine_type(std::string name) {
  const auto now = runtime_.clock.now();
  const auto known = types_.find(name);
  if (known != types_.end()) {
    const KnownType& last = known->second;
    if (last.type || now - last.asked_at < kLookupAge) co_return last.type;
  }
  std::optional<MachineType> type = co_await compute_.machine_type(name);
  types_[name] = {.type = type, .asked_at = now};
  co_return type;
}

Task<CloudView::Image> CloudView::ask_image(ImageReference reference) {
  if (reference.id.empty()) {
    if (reference.project.empty() || reference.family.empty()) co_return std::nullopt;
    co_return co_await compute_.newest_image(reference.project, reference.family);
  }
  const std::string path = path_of(reference.id, compute_.project());
  if (path.empty()) co_return reference.id;
  const bool is_there = co_await compute_.exists(path);
  co_return is_there ? Image(reference.id) : std::nullopt;
}

Task<CloudView::Image> CloudView::image(ImageReference reference) {
  auto& lookup = images_[reference];
  if (!lookup) {
    lookup = std::make_unique<async::SharedResult<Image>>(
        runtime_, "an image", [this, reference] { return ask_image(reference); });
  }
  async::SharedResult<Image>& answer = *lookup;
  const std::shared_ptr<const Image> image = co_await answer.get(kLookupAge);
  co_return *image;
}

Task<driver::Resources> CloudView::taken_by(std::string machine_type) {
  const std::string metric = processor_metric(machine_type);
  const std::optional<MachineType> type = co_await this->machine_type(std::move(machine_type));
  if (!type) co_return driver::Resources({{"instances", 1}});
  co_return driver::Resources(
      {{"instances", 1}, {"cores", type->cores}, {"ram", type->memory}, {metric, type->cores}});
}

// What Google counts for the zone's instances, by metric.
Task<driver::Resources> CloudView::counted_for_zone() {
  driver::Resources counted;
  const auto listed = co_await instances_.get({});
  for (const ComputeInstance& instance : listed->all()) {
    counted += driver::Resources({{"INSTANCES", 1}});
    if (instance.is_off()) continue;
    const auto type = co_await machine_type(instance.machine_type);
    if (!type) continue;
    counted += driver::Resources({{processor_metric(instance.machine_type), type->cores}});
  }
  co_return counted;
}

Task<std::optional<driver::Limits>> CloudView::ask_quotas() {
  std::optional<Quotas> quotas = co_await compute_.quotas();
  if (!quotas) co_return std::nullopt;
  const driver::Resources ours = co_await counted_for_zone();
  co_return driver::remaining(std::move(quotas->limits), use_by_others_.of(quotas->used, ours));
}

Task<std::optional<driver::Limits>> CloudView::quotas() {
  const auto quotas = co_await quotas_.get(kQuotaAge);
  co_return *quotas;
}

void CloudView::forget_images() {
  for (const auto& [reference, answer] : images_) answer->drop();
}

Task<> CloudView::stop() {
  co_await instances_.stop();
  co_await quotas_.stop();
  for (const auto& [reference, answer] : images_) co_await answer->stop();
}

}  // namespace nodepool::drivers::gce
