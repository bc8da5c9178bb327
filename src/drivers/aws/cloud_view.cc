#include "drivers/aws/cloud_view.h"

#include <algorithm>

#include "driver/cloud_error.h"
#include "drivers/aws/poll_intervals.h"

namespace nodepool::drivers::aws {

using async::Task;
using cloud::ById;

namespace {

// DescribeInstanceTypes accepts up to 200 values of a filter.
constexpr std::size_t kMostTypes = 100;

}  // namespace

CloudView::CloudView(const async::Runtime& runtime, Ec2& ec2, ServiceQuotas& quotas)
    : runtime_(runtime),
      ec2_(ec2),
      service_quotas_(quotas),
      instances_(runtime, "EC2 instances",
                 {.unknown = kPollInterval, .least = kExpectedPollInterval},
                 [this] { return ById<Ec2Instance>::of(ec2_.instances()); }),
      volumes_(runtime, "EC2 volumes", [this] { return ById<Ec2Volume>::of(ec2_.volumes()); }),
      hosts_(runtime, "EC2 hosts", [this] { return ById<DedicatedHost>::of(ec2_.hosts()); }),
      quotas_(runtime, "AWS quotas", [this] { return ask_quotas(); }) {}

Task<std::map<std::string, double>> CloudView::ask_quotas() {
  std::map<std::string, double> values = co_await service_quotas_.values("ec2");
  values.merge(co_await service_quotas_.values("ebs"));
  co_return values;
}

Task<std::shared_ptr<const std::map<std::string, double>>> CloudView::quotas() {
  return quotas_.get(kLookupAge);
}

Task<std::map<std::string, InstanceType>> CloudView::types(std::vector<std::string> names) {
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    const bool is_listed = std::ranges::find(unknown, name) != unknown.end();
    if (!types_.contains(name) && !is_listed) unknown.push_back(name);
  }
  while (!unknown.empty()) {
    const std::size_t count = std::min(unknown.size(), kMostTypes);
    std::vector<std::string> part(unknown.end() - static_cast<std::ptrdiff_t>(count),
                                  unknown.end());
    unknown.resize(unknown.size() - count);
    const std::vector<InstanceType> found = co_await ec2_.instance_types(part);
    for (const std::string& name : part) types_[name];
    for (const InstanceType& type : found) types_[type.name] = type;
  }
  std::map<std::string, InstanceType> result;
  for (const std::string& name : names) {
    const auto& type = types_[name];
    if (type) result.emplace(name, *type);
  }
  co_return result;
}

Task<CloudView::ImageId> CloudView::ask_image(AmiReference reference) {
  Query query;
  for (const ImageFilter& filter : reference.filters) query.add_filter(filter.name, filter.values);
  std::vector<Ami> images = co_await ec2_.images_that(std::move(query));
  std::erase_if(
      images, [](const Ami& image) { return !image.state.empty() && image.state != "available"; });
  const auto newest = std::ranges::max_element(images, {}, &Ami::created);
  if (newest == images.end()) co_return std::nullopt;
  roots_[newest->id] = newest->root;
  co_return newest->id;
}

Task<std::optional<std::string>> CloudView::image_id(AmiReference reference) {
  if (!reference.id.empty()) co_return reference.id;
  auto& lookup = images_[reference];
  if (!lookup) {
    lookup = std::make_unique<async::SharedResult<ImageId>>(
        runtime_, "an AMI", [this, reference] { return ask_image(reference); });
  }
  async::SharedResult<ImageId>& answer = *lookup;
  const std::shared_ptr<const ImageId> id = co_await answer.get(kLookupAge);
  co_return *id;
}

Task<std::optional<Ami::RootDevice>> CloudView::root_device(std::string image_id) {
  const auto known = roots_.find(image_id);
  if (known != roots_.end()) co_return known->second;
  const std::vector<Ami> images = co_await ec2_.images({image_id});
  if (images.empty()) {
    throw driver::CloudError(driver::CloudError::Kind::not_found,
                             "EC2 does not list AMI " + image_id);
  }
  roots_[image_id] = images.front().root;
  co_return images.front().root;
}

void CloudView::forget() {
  quotas_.drop();
  for (const auto& [reference, answer] : images_) answer->drop();
}

Task<> CloudView::stop() {
  co_await instances_.stop();
  co_await volumes_.stop();
  co_await hosts_.stop();
  co_await quotas_.stop();
  for (const auto& [reference, answer] : images_) co_await answer->stop();
}

}  // namespace nodepool::drivers::aws
