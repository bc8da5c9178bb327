#include "drivers/kubernetes/config/kube_config.h"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "config/nodepool_schema.h"
#include "config/outside_error.h"
#include "config/section.h"
#include "drivers/kubernetes/kubeconfig/kubeconfig.h"

namespace nodepool::drivers::kubernetes {

namespace {

using json::Json;

// Maximum length of a namespace's name, and of its part after the pool's name.
constexpr std::size_t kLongestName = 63;
constexpr std::size_t kNodeSuffix = 11;  // "-0000000001"

bool is_lower_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// The pool's name must be a valid prefix of Kubernetes names.
bool is_name(std::string_view text) {
  return !text.empty() && is_lower_or_digit(text.front()) && is_lower_or_digit(text.back()) &&
         std::ranges::all_of(text, [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

void check_pool_name(const config::Section& pool, Kind kind) {
  const std::string name = pool.text("name");
  const std::size_t longest =
      kind == Kind::openshiftpods ? kLongestName : kLongestName - kNodeSuffix;
  if (is_name(name) && name.size() <= longest) return;
  throw pool.error(
      "name", fmt::format("`{}` is invalid: the names of namespaces begin with the pool's", name),
      fmt::format("use lower-case letters, digits and inner `-`, at most {} characters", longest));
}

Json json_at(const config::Section& section, std::string_view key) {
  const config::Value* value = section.find(key);
  return value == nullptr ? Json() : Json::parse(config::to_json(*value).dump());
}

std::optional<std::int64_t> either(std::optional<std::int64_t> first,
                                   std::optional<std::int64_t> second) {
  return first ? first : second;
}

// Unlike a missing key, one without a value sets no amount, as with the Python Nodepool.
std::optional<std::int64_t> amount_of(const config::Section& section, const std::string& key,
                                      std::optional<std::int64_t> otherwise) {
  return section.value().find(key) == nullptr ? otherwise : section.optional_integer(key);
}

// The label's amounts, else the pool's, else `usual`.
Amounts amounts_of(const config::Section& label, const config::Section& pool,
                   const std::string& suffix, const Amounts& usual) {
  const auto amount = [&](const std::string& what, std::optional<std::int64_t> otherwise) {
    const std::string key = what + suffix;
    return amount_of(label, key, amount_of(pool, "default-label-" + key, otherwise));
  };
  return {.cpu = amount("cpu", usual.cpu),
          .memory = amount("memory", usual.memory),
          .storage = amount("storage", usual.storage)};
}

driver::Resources label_resources(const config::Section& section, const KubeLabel& label) {
  driver::Resources::Amounts need = {{"instances", 1}};
  const auto add = [&need](const std::string& name, std::optional<double> amount) {
    if (amount && !name.empty()) need[name] = *amount;
  };
  const auto number = [](std::optional<std::int64_t> amount) {
    return amount ? std::optional<double>(static_cast<double>(*amount)) : std::nullopt;
  };
  add("cores", number(label.request.cpu));
  add("ram", number(label.request.memory));
  add("ephemeral-storage", number(label.request.storage));
  add(label.gpu_resource, label.gpu);
  for (const auto& [name, amount] : section.integer_map("extra-resources")) {
    add(name, static_cast<double>(amount));
  }
  return driver::Resources(std::move(need));
}

// Throws config::OutsideError.
Cluster configured_cluster(const config::Section& provider,
                           const config::Environment& environment) {
  const std::optional<std::string> context = provider.optional_text("context");
  try {
    return find_cluster(context, environment);
  } catch (const KubeconfigError& error) {
    throw config::OutsideError(provider.error("context", error.what()).problem());
  } catch (const config::ConfigError& error) {
    throw config::OutsideError(error.problem());
  }
}

}  // namespace

KubeConfig::KubeConfig(Kind kind, const config::ProviderSection& section,
                       const config::Config& config, const config::Environment& environment)
    : StateMachineConfig(section), kind_(kind) {
  const config::Schema schema = config::provider_schema(kube_schema(kind));
  const config::Section provider(section.value, schema, section.file, section.path);
  context_ = kind == Kind::kubernetes ? provider.optional_text("context")
                                      : std::optional(provider.text("context"));
  launch_retries_ = std::max<std::int64_t>(1, provider.integer_or_text("launch-retries"));
  load_launch_timeout(provider);
  is_limited_to_capacity_ =
      kind != Kind::openshiftpods && provider.boolean("limit-to-cluster-capacity");
  for (const config::Section& pool : provider.sections("pools")) {
    load_pool(pool, section, provider, config);
  }
  try {
    cluster_ = configured_cluster(provider, environment);
  } catch (const config::OutsideError& error) {
    outside_problem_ = error.problem();
  }
}

void KubeConfig::load_pool(const config::Section& section, const config::ProviderSection& provider,
                           const config::Section& provider_section, const config::Config& config) {
  check_pool_name(section, kind_);
  driver::PoolConfig pool = driver::load_common_pool(section, provider);
  load_limits(section, provider_section, pool);
  driver::MachinePool machines;
  driver::ByName<KubeLabel> labels;
  for (const config::Section& label_section : section.sections("labels")) {
    const std::string name = label_section.text("name");
    config::find_label(config, label_section, "name", name);
    KubeLabel label = load_label(label_section, section);
    machines.labels.insert_or_assign(name, machine_of(label_section, label));
    labels.insert_or_assign(name, std::move(label));
  }
  labels_.insert_or_assign(pool.name, std::move(labels));
  add_pool(std::move(pool), std::move(machines));
}

void KubeConfig::load_limits(const config::Section& pool_section, const config::Section& provider,
                             driver::PoolConfig& pool) const {
  if (kind_ != Kind::kubernetes && !pool.max_servers) {
    pool.max_servers =
        either(provider.optional_integer("max-projects"), provider.optional_integer("max-servers"));
    if (pool.max_servers) pool.limits["instances"] = static_cast<double>(*pool.max_servers);
  }
  const auto limit = [&](const char* key, const char* resource) {
    const auto most = either(pool_section.optional_integer(key), provider.optional_integer(key));
    if (most) pool.limits[resource] = static_cast<double>(*most);
  };
  limit("max-cores", "cores");
  limit("max-ram", "ram");
  for (const config::Section* section : {&provider, &pool_section}) {
    for (const auto& [name, most] : section->integer_map("max-resources")) {
      pool.limits[name] = static_cast<double>(most);
    }
  }
}

KubeLabel KubeConfig::load_label(const config::Section& section,
                                 const config::Section& pool) const {
  KubeLabel label;
  const std::string type = kind_ == Kind::openshiftpods ? std::string("pod") : section.text("type");
  label.has_pod = kind_ == Kind::kubernetes ? type != "namespace" : type == "pod";
  label.spec = json_at(section, "spec");
  label.image = section.optional_text("image").value_or("");
  label.image_pull = section.text("image-pull");
  label.request = amounts_of(section, pool, "", {});
  label.limit = amounts_of(section, pool, "-limit", label.request);
  label.gpu = section.optional_number("gpu");
  label.gpu_resource = section.optional_text("gpu-resource").value_or("");
  label.env = json_at(section, "env");
  label.node_selector = json_at(section, "node-selector");
  label.volumes = json_at(section, "volumes");
  label.volume_mounts = json_at(section, "volume-mounts");
  if (kind_ != Kind::kubernetes) label.image_pull_secrets = json_at(section, "image-pull-secrets");
  label.annotations = json_at(section, "annotations");
  label.scheduler_name = section.optional_text("scheduler-name").value_or("");
  label.privileged = section.optional_boolean("privileged");
  label.labels = section.text_map("labels");
  label.dynamic_labels = section.text_map("dynamic-labels");
  label.need = label_resources(section, label);
  return label;
}

driver::MachineLabel KubeConfig::machine_of(const config::Section& section,
                                            const KubeLabel& label) const {
  driver::MachineLabel machine;
  machine.access.python_path = section.text("python-path");
  machine.access.shell_type = section.optional_text("shell-type");
  machine.access.connection_type = "kubectl";
  if (!label.has_pod) {
    machine.access.connection_type = kind_ == Kind::openshift ? "project" : "namespace";
  }
  machine.host_key_checking = false;
  return machine;
}

bool KubeConfig::same_as(const driver::ProviderConfig& other) const {
  const auto* kube = dynamic_cast<const KubeConfig*>(&other);
  return kube != nullptr && StateMachineConfig::same_as(other) && cluster_ == kube->cluster_;
}

}  // namespace nodepool::drivers::kubernetes
