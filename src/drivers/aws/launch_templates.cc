#include "drivers/aws/launch_templates.h"

#include "driver/cloud_error.h"
#include "driver/ownership.h"
#include "drivers/aws/run_instances_request.h"

namespace nodepool::drivers::aws {

using async::Task;

namespace {

constexpr const char* kManagedKey = "nodepool_managed";

}  // namespace

driver::Metadata LaunchTemplates::tags() const {
  driver::Metadata tags = {{kManagedKey, "True"},
                           {std::string(driver::kProviderNameKey), config_.name()}};
  if (!installation_->id.empty()) {
    tags[std::string(driver::kInstallationIdKey)] = installation_->id;
  }
  return tags;
}

std::set<std::string> LaunchTemplates::wanted() const {
  std::set<std::string> names;
  for (const auto& [pool_name, pool] : config_.pools()) {
    for (const std::string& name : pool.labels) {
      const AwsLabel& label = config_.label(pool_name, name);
      if (label.fleet) names.insert(template_name(template_data(config_.pool(pool_name), label)));
    }
  }
  return names;
}

Task<std::string> LaunchTemplates::of(std::string pool, std::string label) {
  Query query = template_data(config_.pool(pool), config_.label(pool, label));
  std::string name = template_name(query);
  if (made_.contains(name)) co_return name;
  query.add("LaunchTemplateName", name);
  add_tags(query, 1, "launch-template", tags());
  co_await ec2_.create_template(std::move(query));
  made_.insert(name);
  co_return name;
}

// Searches even if no label has a fleet any more. An account that may not list templates cannot
// have used any, so a provider without fleets needs no permission.
Task<std::vector<LaunchTemplate>> LaunchTemplates::list(bool is_refusal_no_error) {
  try {
    co_return co_await ec2_.templates();
  } catch (const driver::CloudError& error) {
    if (!is_refusal_no_error || error.kind() != driver::CloudError::Kind::permanent) throw;
  }
  co_return std::vector<LaunchTemplate>{};
}

Task<std::vector<std::string>> LaunchTemplates::unused() {
  std::vector<std::string> unused;
  if (is_clean_) co_return unused;
  const std::set<std::string> names = wanted();
  const driver::Metadata own = tags();
  const std::vector<LaunchTemplate> all = co_await list(names.empty());
  for (const LaunchTemplate& each : all) {
    const bool is_ours = each.name.starts_with(kTemplatePrefix) && driver::carries(each.tags, own);
    if (is_ours && !names.contains(each.name)) unused.push_back(each.name);
  }
  is_clean_ = unused.empty();
  co_return unused;
}

}  // namespace nodepool::drivers::aws
