#include "drivers/fake/fake_config.h"

#include "config/nodepool_schema.h"
#include "config/section.h"
#include "drivers/openstack/config/openstack_schema.h"

namespace nodepool::drivers::fake {

const config::Schema& fake_schema() {
  static const config::Schema schema = [] {
    config::Schema extended = openstack::openstack_schema();
    extended.description = "Machines that do not exist.";
    extended.fields.push_back({.key = "fake-cloud",
                               .type = config::section(fake_behaviour_schema()),
                               .default_note = "none",
                               .description = "How the cloud behaves."});
    return extended;
  }();
  return schema;
}

FakeConfig::FakeConfig(const config::ProviderSection& section, const config::Config& config,
                       const config::Environment& environment)
    : OpenStackConfig(section, config, environment), cloud_name_(section.name) {
  static const config::Schema schema = config::provider_schema(fake_schema());
  const config::Section provider(section.value, schema, section.file, section.path);
  const auto cloud = provider.section("fake-cloud");
  if (!cloud) return;
  cloud_name_ = cloud->optional_text("name").value_or(section.name);
  behaviour_ = load_behaviour(*cloud);
}

}  // namespace nodepool::drivers::fake
