#include <fmt/format.h>

#include <array>

#include "config/zuul/pools.h"

namespace nodepool::config::zuul {

namespace {

Connection kubernetes_connection(Source& provider, bool has_projects) {
  Connection connection{.name = "kubernetes", .lines = {"driver=kubernetes"}};
  if (provider.has("context")) {
    connection.name = provider.use("context").text("context");
    connection.lines.push_back("context=" + connection.name);
  }
  connection.lines.emplace_back("# kubeconfig_file=/path/to/kubeconfig");
  if (has_projects) connection.lines.emplace_back("use_openshift_projects=true");
  return connection;
}

struct Amount {
  const char* key;
  const char* resource;
  const char* unit;
};
constexpr std::array<Amount, 3> kAmounts{
    {{"cpu", "cpu", ""}, {"memory", "memory", "Mi"}, {"storage", "ephemeral-storage", "M"}}};

// Sets the requests, with the suffix "", or the limits, with "-limit": the label's or the pool's
// default. Limits default to the requests.
void set_amounts(Source& pool, Source& label, const std::string& suffix, Value::Mapping& target) {
  for (const auto& [key, resource, unit] : kAmounts) {
    const std::string in_label = key + suffix;
    const std::string in_pool = "default-label-" + in_label;
    pool.use(in_pool);
    label.use(in_label);
    const auto amount = label.has(in_label) ? label.section().optional_integer(in_label)
                                            : pool.section().optional_integer(in_pool);
    if (amount) set(target, resource, Value::string(std::to_string(*amount) + unit));
  }
}

Value resources(Source& pool, Source& label) {
  Value::Mapping requests;
  set_amounts(pool, label, "", requests);
  Value::Mapping limits = requests;
  set_amounts(pool, label, "-limit", limits);
  const auto gpu = label.use("gpu").optional_number("gpu");
  if (gpu && label.has("gpu-resource")) {
    const std::string resource = label.use("gpu-resource").text("gpu-resource");
    const Value amount = Value::string(fmt::format("{:.2f}", *gpu));
    set(requests, resource, amount);
    set(limits, resource, amount);
  }
  Value::Mapping both;
  set(both, "requests", Value::mapping(std::move(requests)));
  set(both, "limits", Value::mapping(std::move(limits)));
  return Value::mapping(std::move(both));
}

Value container(Source& pool, Source& label) {
  Value::Mapping container;
  set(container, "name", Value::string("node"));
  label.copy("image", container);
  label.copy_with_default("image-pull", container, "imagePullPolicy");
  set(container, "command", Value::list({Value::string("/bin/sh"), Value::string("-c")}));
  set(container, "args", Value::list({Value::string("while true; do sleep 30; done;")}));
  label.copy("env", container);
  set(container, "resources", resources(pool, label));
  label.copy("volume-mounts", container, "volumeMounts");
  if (label.has("privileged")) {
    Value::Mapping context;
    label.copy("privileged", context);
    set(container, "securityContext", Value::mapping(std::move(context)));
  }
  return Value::mapping(std::move(container));
}

// The pod that Nodepool would make.
Value pod_spec(Source& pool, Source& label) {
  Value::Mapping spec;
  set(spec, "containers", Value::list({container(pool, label)}));
  label.copy("node-selector", spec, "nodeSelector");
  label.copy("scheduler-name", spec, "schedulerName");
  label.copy("volumes", spec);
  label.copy("image-pull-secrets", spec, "imagePullSecrets");
  return Value::mapping(std::move(spec));
}

std::optional<ZuulLabel> kubernetes_label(Source& pool, Source& source, bool is_pod) {
  ZuulLabel label{.name = source.use("name").text("name"), .flavor = is_pod ? "pod" : "namespace"};
  label.image.name = label.name;
  source.copy_with_default("python-path", label.image.settings, "python-path");
  source.copy("shell-type", label.image.settings);
  set(label.settings, "kind", Value::string(label.flavor));
  if (is_pod && source.has("spec")) {
    source.copy("spec", label.settings);
  } else if (is_pod && source.has("image")) {
    set(label.settings, "spec", pod_spec(pool, source));
  } else if (is_pod) {
    source.omit_all("the pod has no image; the label is left out");
    return std::nullopt;
  }
  if (is_pod) source.copy("annotations", label.settings);
  copy_tags(source, "labels", "dynamic-labels", label.settings);
  source.finish();
  return label;
}

// The pool's `max-servers`. A provider with projects has a default for it, under two names.
void copy_pod_limit(Source& provider, Source& pool, bool has_projects, ZuulProvider& target) {
  if (has_projects) {
    copy_limit(provider, pool, "max-servers", "pods", target);
    if (!pool.has("max-servers")) copy_limit(provider, pool, "max-projects", "pods", target);
  } else if (pool.has("max-servers")) {
    copy_limit(provider, pool, "max-servers", "pods", target);
  }
}

bool is_pod(Source& label, bool has_projects) {
  const std::string type = label.use("type").text("type");
  return has_projects ? type == "pod" : type != "namespace";
}

std::vector<ZuulProvider> convert_cluster(Source& provider, bool has_projects) {
  ZuulProvider shared = shared_settings(provider);
  shared.connection = kubernetes_connection(provider, has_projects);
  return convert_pools(provider, shared, [&](Source& pool, ZuulProvider& target) {
    copy_pod_limit(provider, pool, has_projects, target);
    for (Source& source : pool.sources("labels")) {
      if (auto label = kubernetes_label(pool, source, is_pod(source, has_projects))) {
        add_label(target, *std::move(label));
      }
    }
  });
}

}  // namespace

std::vector<ZuulProvider> convert_kubernetes(Source& provider, const Config& /*config*/) {
  return convert_cluster(provider, false);
}

std::vector<ZuulProvider> convert_openshift(Source& provider, const Config& /*config*/) {
  return convert_cluster(provider, true);
}

}  // namespace nodepool::config::zuul
