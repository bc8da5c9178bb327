#include "drivers/kubernetes/config/kube_schema.h"

#include "cloud/config/fields.h"
#include "config/nodepool_schema.h"

namespace nodepool::drivers::kubernetes {

namespace {

using namespace config;

const Schema& variable_schema() {
  static const Schema schema{.description = "An environment variable of the container.",
                             .fields = {{.key = "name",
                                         .type = string(),
                                         .required = Required::always,
                                         .description = "Its name."},
                                        {.key = "value",
                                         .type = string(),
                                         .required = Required::always,
                                         .description = "Its value."}}};
  return schema;
}

// Keys of labels without `spec`.
Fields container_fields() {
  return {
      {.key = "image",
       .type = string(),
       .description = "The container's image. It has to have `/bin/sh`."},
      {.key = "image-pull",
       .type = string(),
       .default_value = "IfNotPresent",
       .description = "When the image is pulled: `Always`, `IfNotPresent`, `Never`."},
      cloud::python_path_field(),
      cloud::shell_type_field(),
      {.key = "cpu",
       .type = integer(),
       .default_note = "the pool's `default-label-cpu`",
       .unit = "cores",
       .description = "What the container asks for, and what the node takes of the limits."},
      {.key = "memory",
       .type = integer(),
       .default_note = "the pool's `default-label-memory`",
       .unit = "MiB",
       .description = "The same for memory."},
      {.key = "storage",
       .type = integer(),
       .default_note = "the pool's `default-label-storage`",
       .unit = "MB",
       .description = "The same for ephemeral storage."},
      {.key = "cpu-limit",
       .type = integer(),
       .default_note = "the pool's `default-label-cpu-limit`, else `cpu`",
       .unit = "cores",
       .description = "The most that the container may use."},
      {.key = "memory-limit",
       .type = integer(),
       .default_note = "the pool's `default-label-memory-limit`, else `memory`",
       .unit = "MiB",
       .description = "The same for memory."},
      {.key = "storage-limit",
       .type = integer(),
       .default_note = "the pool's `default-label-storage-limit`, else `storage`",
       .unit = "MB",
       .description = "The same for ephemeral storage."},
      {.key = "gpu",
       .type = lenient_number(),
       .default_note = "none",
       .description = "How much of `gpu-resource` the container gets, with two decimals."},
      {.key = "gpu-resource",
       .type = string(),
       .description = "What the cluster calls its GPUs: `nvidia.com/gpu`."},
      {.key = "env",
       .type = list_of(section(variable_schema())),
       .default_note = "none",
       .description = "Environment variables of the container."},
      {.key = "node-selector",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Labels of the cluster's nodes that the pod may run on."},
      {.key = "volumes",
       .type = list_of(mapping_of(anything())),
       .default_note = "none",
       .description = "The pod's volumes, as Kubernetes describes them."},
      {.key = "volume-mounts",
       .type = list_of(mapping_of(anything())),
       .default_note = "none",
       .description = "Where the container has them, as Kubernetes describes it."},
      {.key = "scheduler-name",
       .type = string(),
       .description = "The scheduler that chooses the pod's node."},
      {.key = "privileged",
       .type = boolean(),
       .default_note = "not said",
       .description = "Whether the container is privileged."},
      {.key = "extra-resources",
       .type = mapping_of(integer()),
       .default_note = "none",
       .description = "What the node takes besides of `max-resources` and tenant limits. The "
                      "cluster is not told."},
  };
}

Fields metadata_fields() {
  return {
      {.key = "labels",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Kubernetes labels of all that is made for the node."},
      {.key = "dynamic-labels",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "The same, made of the request: `{request.id}`, `{request.labels[0]}`, "
                      "`{request.requestor}`, `{request.requestor_data}`, "
                      "`{request.relative_priority}`, `{request.event_id}`, "
                      "`{request.created_time}`, `{request.tenant_name}`. What is no label in "
                      "Kubernetes is logged and left out."},
      {.key = "annotations",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Annotations of the pod."},
  };
}

Field type_field(Kind kind) {
  if (kind == Kind::openshift) {
    return {.key = "type",
            .type = string(),
            .required = Required::always,
            .description = "`pod`: a project with a pod; anything else, `project`: a project."};
  }
  return {.key = "type",
          .type = string(),
          .required = Required::always,
          .description = "`namespace`: a namespace; anything else, `pod`: a namespace with a pod."};
}

Schema label_schema(Kind kind) {
  Fields container = container_fields();
  if (kind != Kind::kubernetes) {
    container.push_back({.key = "image-pull-secrets",
                         .type = list_of(anything()),
                         .default_note = "none",
                         .description = "The pod's `imagePullSecrets`: `[{name: …}]`."});
  }
  Fields fields = {cloud::label_name_field()};
  if (kind != Kind::openshiftpods) fields.push_back(type_field(kind));
  fields = joined(fields, metadata_fields());
  fields.push_back({.key = "spec",
                    .type = mapping_of(anything()),
                    .default_note = "made of the other keys",
                    .description = "The pod's specification, as Kubernetes describes it, in place "
                                   "of all that describes its container here."});
  Rule rule{.kind = Rule::Kind::excludes, .keys = {"spec"}};
  for (const Field& field : container) rule.keys.push_back(field.key);
  Schema schema{.description = "A kind of node.",
                .fields = joined(fields, container),
                .rules = {std::move(rule)}};
  if (kind == Kind::openshiftpods) {
    schema.rules.push_back({.kind = Rule::Kind::at_least_one, .keys = {"image", "spec"}});
  }
  return schema;
}

Fields limit_fields() {
  return {
      {.key = "max-cores",
       .type = integer(),
       .default_note = "the provider's, else unlimited",
       .unit = "cores",
       .description = "Most that the pool's nodes may take together."},
      {.key = "max-ram",
       .type = integer(),
       .default_note = "the provider's, else unlimited",
       .unit = "MiB",
       .description = "The same for memory."},
      {.key = "max-resources",
       .type = mapping_of(integer()),
       .default_note = "the provider's, name by name",
       .description = "The same for other resources, by name: `ephemeral-storage` (MB), a "
                      "`gpu-resource`, those of `extra-resources`."},
  };
}

Field default_field(std::string_view key, std::string_view unit, std::string_view description) {
  return {.key = key,
          .type = integer(),
          .default_note = "none",
          .unit = unit,
          .description = description};
}

Schema pool_schema(Kind kind) {
  Fields fields = joined(
      joined(common_pool_fields(), limit_fields()),
      {default_field("default-label-cpu", "cores", "For labels without `cpu`."),
       default_field("default-label-memory", "MiB", "For labels without `memory`."),
       default_field("default-label-storage", "MB", "For labels without `storage`."),
       default_field("default-label-cpu-limit", "cores", "For labels without `cpu-limit`."),
       default_field("default-label-memory-limit", "MiB", "For labels without `memory-limit`."),
       default_field("default-label-storage-limit", "MB", "For labels without `storage-limit`."),
       {.key = "default-label-extra-resources",
        .type = mapping_of(integer()),
        .default_note = "none",
        .description = "Has no effect.",
        .deprecated = "`extra-resources` of the labels"},
       {.key = "labels",
        .type = list_of(section(label_schema(kind))),
        .required = Required::strictly,
        .default_note = "none",
        .description = "The kinds of nodes."}});
  std::string_view description =
      "Nodes with the same limits. Its name is what names of "
      "namespaces begin with.";
  if (kind == Kind::openshift) {
    description = "Nodes with the same limits. Its name is what names of projects begin with.";
  }
  if (kind == Kind::openshiftpods) {
    description = "The nodes of one project, which has the pool's name, and is there already.";
  }
  return {.description = description, .fields = std::move(fields)};
}

Fields provider_limit_fields(Kind kind) {
  Fields fields = {
      {.key = "max-cores",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "cores",
       .description = "For pools that do not say: of each of them, not of all together."},
      {.key = "max-ram",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "MiB",
       .description = "The same for memory."},
      {.key = "max-resources",
       .type = mapping_of(integer()),
       .default_note = "unlimited",
       .description = "The same for other resources, by name."},
  };
  if (kind == Kind::kubernetes) {
    fields.push_back({.key = "max-servers",
                      .type = integer(),
                      .default_note = "none",
                      .description = "Has no effect.",
                      .deprecated = "`max-servers` of the pools"});
    return fields;
  }
  const bool is_project = kind == Kind::openshift;
  fields.push_back({.key = "max-projects",
                    .type = integer(),
                    .accepted = is_project ? Accepted::everywhere : Accepted::by_daemons,
                    .default_note = "unlimited",
                    .description = "`max-servers` of pools that do not say."});
  fields.push_back({.key = "max-servers",
                    .type = integer(),
                    .accepted = Accepted::by_daemons,
                    .default_note = "none",
                    .description = "The same, where `max-projects` is not set."});
  if (!is_project) {
    fields.push_back({.key = "max-pods",
                      .type = integer(),
                      .default_note = "none",
                      .description = "Has no effect.",
                      .deprecated = "`max-servers` of the pools"});
  }
  return fields;
}

Fields provider_fields(Kind kind) {
  const bool is_kubernetes = kind == Kind::kubernetes;
  Fields fields = {
      {.key = "context",
       .type = string(),
       .required = is_kubernetes ? Required::never : Required::always,
       .default_note = is_kubernetes ? "the kubeconfig's `current-context`" : "",
       .description = "The context of the kubeconfig: how to reach the cluster, and as whom. "
                      "Recorded with each node as its `cloud`."},
      cloud::launch_retries_field(),
      {.key = "launch-timeout",
       .type = integer(),
       .default_value = "330",
       .unit = "seconds",
       .description = "How long an attempt at making a node may take, until its pod runs."}};
  fields = joined(fields, provider_limit_fields(kind));
  if (kind != Kind::openshiftpods) {
    fields.push_back({.key = "limit-to-cluster-capacity",
                      .type = boolean(),
                      .default_value = "false",
                      .description =
                          "Whether what the cluster's nodes have, less what the pods of others "
                          "ask for, is a limit of the provider. Not for clusters that grow."});
  }
  fields.push_back({.key = "pools",
                    .type = list_of(section(pool_schema(kind))),
                    .required = Required::strictly,
                    .default_note = "none",
                    .description = "Groups of nodes that are served together."});
  return fields;
}

std::string_view description_of(Kind kind) {
  switch (kind) {
    case Kind::kubernetes:
      return "Namespaces of a Kubernetes cluster, alone or with a pod.";
    case Kind::openshift:
      return "Projects of an OpenShift cluster, alone or with a pod.";
    case Kind::openshiftpods:
      return "Pods in projects of an OpenShift cluster that are there already.";
  }
  return {};
}

Schema provider_schema_of(Kind kind) {
  return {.description = description_of(kind), .fields = provider_fields(kind)};
}

}  // namespace

const Schema& kube_schema(Kind kind) {
  static const Schema kubernetes = provider_schema_of(Kind::kubernetes);
  static const Schema openshift = provider_schema_of(Kind::openshift);
  static const Schema openshiftpods = provider_schema_of(Kind::openshiftpods);
  if (kind == Kind::openshift) return openshift;
  return kind == Kind::openshiftpods ? openshiftpods : kubernetes;
}

}  // namespace nodepool::drivers::kubernetes
