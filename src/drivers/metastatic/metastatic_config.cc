#include "drivers/metastatic/metastatic_config.h"

#include <fmt/format.h>

#include "cloud/config/fields.h"
#include "config/config.h"
#include "config/nodepool_schema.h"
#include "config/section.h"

namespace nodepool::drivers::metastatic {

namespace {

using namespace config;

// `image_id` of all nodes. Source: the Python Nodepool.
constexpr const char* kNoImage = "unused";

// Slots of a backing node.
constexpr std::int64_t kMostSlots = 10'000;

const Schema& label_schema() {
  static const Schema schema{
      .description = "A type of node: a slot on a backing node.",
      .fields = {
          cloud::label_name_field(),
          {.key = "backing-label",
           .type = string(),
           .required = Required::always,
           .description =
               "Label of the backing nodes, served by another provider of any launcher."},
          {.key = "max-parallel-jobs",
           .type = integer_between(1, kMostSlots),
           .default_value = "1",
           .description = "Number of nodes (slots) of a backing node, at most 10,000."},
          {.key = "grace-time",
           .type = integer(),
           .default_value = "60",
           .unit = "seconds",
           .description = "How long an empty backing node is kept; at least 5 seconds."},
          {.key = "min-retention-time",
           .type = integer(),
           .default_value = "0",
           .unit = "seconds",
           .description =
               "Minimum age at which a backing node is released, counted from its request."},
          {.key = "max-age",
           .type = integer(),
           .default_note = "unlimited",
           .unit = "seconds",
           .description = "Age, counted from its request, at which a backing node gets no more "
                          "nodes. It is released when its last node is gone. 0: unlimited."},
          {.key = "host-key-checking",
           .type = boolean(),
           .default_note = "pool's",
           .description = "Read the SSH host keys before a node is assigned. Otherwise the backing "
                          "node's keys are copied."},
      }};
  return schema;
}

const Schema& pool_schema() {
  static const Schema schema{
      .description = "A group of labels.",
      .fields = joined(common_pool_fields(), {{.key = "labels",
                                               .type = list_of(section(label_schema())),
                                               .required = Required::strictly,
                                               .description = "Types of nodes."},
                                              {.key = "host-key-checking",
                                               .type = boolean(),
                                               .default_value = "false",
                                               .description = "Default of the labels."}})};
  return schema;
}

Field boot_timeout() {
  Field field = cloud::boot_timeout_field();
  field.default_value = "120";
  field.description = "Maximum time until a node shows its SSH host keys, where they are read.";
  return field;
}

Field launch_timeout() {
  Field field = cloud::launch_timeout_field();
  field.description =
      "Maximum duration of a launch attempt, including the wait for a backing node.";
  return field;
}

double seconds(const Section& section, std::string_view key) {
  const std::int64_t value = section.integer(key);
  if (value < 0) throw section.error(key, "must be 0 or more seconds");
  return static_cast<double>(value);
}

BackingRules load_rules(const Section& section) {
  BackingRules rules;
  rules.label = section.text("backing-label");
  rules.slots = section.integer("max-parallel-jobs");
  if (rules.slots < 1 || rules.slots > kMostSlots) {
    throw section.error("max-parallel-jobs", fmt::format("must be from 1 to {}", kMostSlots));
  }
  rules.grace_time = seconds(section, "grace-time");
  rules.min_retention = seconds(section, "min-retention-time");
  const std::int64_t max_age = section.optional_integer("max-age").value_or(0);
  if (max_age < 0) throw section.error("max-age", "must be 0 or more seconds");
  if (max_age > 0) rules.max_age = static_cast<double>(max_age);
  if (rules.max_age && *rules.max_age < rules.min_retention) {
    throw section.error("max-age", "must be at least min-retention-time");
  }
  return rules;
}

}  // namespace

const config::Schema& metastatic_schema() {
  static const Schema schema{
      .description = "Slots on nodes of other providers: several small nodes on one.",
      .fields = {
          boot_timeout(),
          launch_timeout(),
          cloud::launch_retries_field(),
          {.key = "rate",
           .type = lenient_number(),
           .accepted = Accepted::by_daemons,
           .default_value = "1",
           .description = "Has no effect: no cloud is called."},
          {.key = "pools",
           .type = list_of(section(pool_schema())),
           .required = Required::strictly,
           .description = "Groups of nodes."},
      }};
  return schema;
}

MetastaticConfig::MetastaticConfig(const config::ProviderSection& section,
                                   const config::Config& config)
    : StateMachineConfig(section) {
  static const Schema schema = provider_schema(metastatic_schema());
  const Section provider(section.value, schema, section.file, section.path);
  load_boot_and_retries(provider);
  load_launch_timeout(provider);
  for (const Section& pool : provider.sections("pools")) load_pool(pool, section, config);
}

void MetastaticConfig::load_pool(const Section& section, const ProviderSection& provider,
                                 const Config& config) {
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  driver::MachinePool machines;
  for (const Section& label : section.sections("labels")) {
    load_label(label, section, config, machines);
  }
  add_pool(std::move(pool), std::move(machines));
}

// Labels with the same backing label share no backing nodes, but must have the same rules.
void MetastaticConfig::load_label(const Section& section, const Section& pool_section,
                                  const Config& config, driver::MachinePool& machines) {
  const std::string name = section.text("name");
  find_label(config, section, "name", name);
  BackingRules rules = load_rules(section);
  for (const auto& [other, known] : rules_) {
    const bool belongs = known.label == rules.label || other == name;
    if (!belongs || known == rules) continue;
    throw section.section_error(fmt::format(
        "label {} has the backing label {}, as label {} has, and max-parallel-jobs, grace-time, "
        "min-retention-time and max-age must be equal for both",
        name, rules.label, other));
  }
  driver::MachineLabel machine;
  machine.cloud_image = kNoImage;
  machine.host_key_checking = section.optional_boolean("host-key-checking")
                                  .value_or(pool_section.boolean("host-key-checking"));
  machines.labels.insert_or_assign(name, std::move(machine));
  rules_.insert_or_assign(name, std::move(rules));
}

const BackingRules* MetastaticConfig::find_rules(std::string_view label) const {
  const auto found = rules_.find(label);
  return found == rules_.end() ? nullptr : &found->second;
}

}  // namespace nodepool::drivers::metastatic
