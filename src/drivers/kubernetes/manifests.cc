#include "drivers/kubernetes/manifests.h"

#include <fmt/format.h>

#include "drivers/kubernetes/metadata.h"

namespace nodepool::drivers::kubernetes {

namespace {

const Json& all_verbs() {
  static const Json verbs = {"create", "delete", "get", "list", "patch", "update", "watch"};
  return verbs;
}

Json rule(Json resources, Json verbs) {
  return {{"apiGroups", Json::array({""})},
          {"resources", std::move(resources)},
          {"verbs", std::move(verbs)}};
}

Json role(const char* name, Json rules) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "Role"},
          {"metadata", {{"name", name}}},
          {"rules", std::move(rules)}};
}

// The requests or limits of a container. In the configuration, 0 is no amount: as a limit, it would
// keep the container from running.
Json instance_resources(const Amounts& amounts, const KubeLabel& label) {
  Json resources = Json::object();
  const auto add = [&resources](const char* name, std::optional<std::int64_t> amount,
                                const char* unit) {
    if (amount.value_or(0) != 0) resources[name] = fmt::format("{}{}", *amount, unit);
  };
  add("cpu", amounts.cpu, "");
  add("memory", amounts.memory, "Mi");
  add("ephemeral-storage", amounts.storage, "M");
  if (label.gpu.value_or(0) != 0 && !label.gpu_resource.empty()) {
    resources[label.gpu_resource] = fmt::format("{:.2f}", *label.gpu);
  }
  return resources;
}

Json container(const KubeLabel& label, const std::string& name) {
  Json container = {{"name", name},
                    {"image", label.image},
                    {"imagePullPolicy", label.image_pull},
                    {"command", Json::array({"/bin/sh", "-c"})},
                    {"args", Json::array({"while true; do sleep 30; done;"})}};
  if (!label.env.is_null()) container["env"] = label.env;
  container["resources"] = {{"requests", instance_resources(label.request, label)},
                            {"limits", instance_resources(label.limit, label)}};
  if (!label.volume_mounts.is_null()) container["volumeMounts"] = label.volume_mounts;
  if (label.privileged) container["securityContext"] = {{"privileged", *label.privileged}};
  return container;
}

Json spec_of(const KubeLabel& label, const std::string& name) {
  if (!label.spec.is_null()) return label.spec;
  Json spec = {{"containers", Json::array({container(label, name)})}};
  if (!label.node_selector.is_null()) spec["nodeSelector"] = label.node_selector;
  if (!label.scheduler_name.empty()) spec["schedulerName"] = label.scheduler_name;
  if (!label.volumes.is_null()) spec["volumes"] = label.volumes;
  if (!label.image_pull_secrets.is_null()) spec["imagePullSecrets"] = label.image_pull_secrets;
  return spec;
}

}  // namespace

Json service_account() {
  return {{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", {{"name", kAccount}}}};
}

Json token_secret() {
  return {
      {"apiVersion", "v1"},
      {"kind", "Secret"},
      {"type", "kubernetes.io/service-account-token"},
      {"metadata",
       {{"name", kAccount}, {"annotations", {{"kubernetes.io/service-account.name", kAccount}}}}}};
}

Json namespace_role() {
  Json resources = {"pods",        "pods/exec",   "pods/log",   "pods/portforward",
                    "services",    "endpoints",   "crontabs",   "jobs",
                    "deployments", "replicasets", "configmaps", "secrets"};
  return role("zuul", Json::array({rule(std::move(resources), all_verbs())}));
}

Json pod_role() {
  return role("zuul-restricted",
              Json::array({rule({"pods"}, {"get", "list"}),
                           rule({"pods/exec", "pods/logs", "pods/portforward"}, all_verbs())}));
}

Json role_binding(const std::string& name, const std::string& space, const std::string& kind,
                  const std::string& role) {
  return {{"apiVersion", "rbac.authorization.k8s.io/v1"},
          {"kind", "RoleBinding"},
          {"metadata", {{"name", name}}},
          {"subjects",
           Json::array({{{"kind", "ServiceAccount"}, {"name", kAccount}, {"namespace", space}}})},
          {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", kind}, {"name", role}}}};
}

Json pod(const KubeLabel& label, const std::string& name, const driver::Metadata& attached) {
  Json metadata = object_metadata(name, attached);
  if (label.annotations.is_object()) {
    for (const auto& [key, value] : label.annotations.items()) metadata["annotations"][key] = value;
  }
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", std::move(metadata)},
          {"spec", spec_of(label, name)}};
}

}  // namespace nodepool::drivers::kubernetes
