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
                                         .description = "Name of the variable."},
                                        {.key = "value",
                                         .type = string(),
                                         .required = Required::always,
                                         .description = "Value of the variable."}}};
  return schema;
}

// Keys of labels without `spec`.
Fields container_fields() {
  return {
      {.key = "image",
       .type = string(),
       .description = "Image of the container. It must have `/bin/sh`."},
      {.key = "image-pull",
       .type = string(),
       .default_value = "IfNotPresent",
       .description = "Pull policy: `Always`, `IfNotPresent` or `Never`."},
      cloud::python_path_field(),
      cloud::shell_type_field(),
      {.key = "cpu",
       .type = integer(),
       .default_note = "the pool's `default-label-cpu`",
       .unit = "cores",
       .description = "Requested cores; counted against the limits."},
      {.key = "memory",
       .type = integer(),
       .default_note = "the pool's `default-label-memory`",
       .unit = "MiB",
       .description = "Requested memory; counted against the limits."},
      {.key = "storage",
       .type = integer(),
       .default_note = "the pool's `default-label-storage`",
       .unit = "MB",
       .description = "Requested ephemeral storage; counted against the limits."},
      {.key = "cpu-limit",
       .type = integer(),
       .default_note = "the pool's `default-label-cpu-limit`, else `cpu`",
       .unit = "cores",
       .description = "Core limit of the container."},
      {.key = "memory-limit",
       .type = integer(),
       .default_note = "the pool's `default-label-memory-limit`, else `memory`",
       .unit = "MiB",
       .description = "Memory limit of the container."},
      {.key = "storage-limit",
       .type = integer(),
       .default_note = "the pool's `default-label-storage-limit`, else `storage`",
       .unit = "MB",
       .description = "Limit of the container's ephemeral storage."},
      {.key = "gpu",
       .type = lenient_number(),
       .default_note = "none",
       .description = "Amount of `gpu-resource` for the container, with two decimals."},
      {.key = "gpu-resource",
       .type = string(),
       .description = "Name of the GPU resource in the cluster: `nvidia.com/gpu`."},
      {.key = "env",
       .type = list_of(section(variable_schema())),
       .default_note = "none",
       .description = "Environment variables of the container."},
      {.key = "node-selector",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Labels of the cluster nodes that may run the pod."},
      {.key = "volumes",
       .type = list_of(mapping_of(anything())),
       .default_note = "none",
       .description = "Volumes of the pod, in Kubernetes' format."},
      {.key = "volume-mounts",
       .type = list_of(mapping_of(anything())),
       .default_note = "none",
       .description = "Volume mounts of the container, in Kubernetes' format."},
      {.key = "scheduler-name", .type = string(), .description = "Scheduler of the pod."},
      {.key = "privileged",
       .type = boolean(),
       .default_note = "not set",
       .description = "Run the container as privileged."},
      {.key = "extra-resources",
       .type = mapping_of(integer()),
       .default_note = "none",
       .description = "Other resources of the node, counted against `max-resources` and tenant "
                      "limits. Not passed to the cluster."},
  };
}

Fields metadata_fields() {
  return {
      {.key = "labels",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Kubernetes labels of all resources of the node."},
      {.key = "dynamic-labels",
       .type = mapping_of(string()),
       .default_note = "none",
       .description =
           "Kubernetes labels with values from the request: `{request.id}`, `{request.labels[0]}`, "
           "`{request.requestor}`, `{request.requestor_data}`, `{request.relative_priority}`, "
           "`{request.event_id}`, `{request.created_time}`, `{request.tenant_name}`. Values that "
           "are not valid labels are logged and omitted."},
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
            .description =
                "`pod`: a project with a pod; any other value, such as `project`: a project only."};
  }
  return {
      .key = "type",
      .type = string(),
      .required = Required::always,
      .description =
          "`namespace`: a namespace only; any other value, such as `pod`: a namespace with a pod."};
}

Schema label_schema(Kind kind) {
  Fields container = container_fields();
  if (kind != Kind::kubernetes) {
    container.push_back({.key = "image-pull-secrets",
                         .type = list_of(anything()),
                         .default_note = "none",
                         .description = "`imagePullSecrets` of the pod: `[{name: …}]`."});
  }
  Fields fields = {cloud::label_name_field()};
  if (kind != Kind::openshiftpods) fields.push_back(type_field(kind));
  fields = joined(fields, metadata_fields());
  fields.push_back({.key = "spec",
                    .type = mapping_of(anything()),
                    .default_note = "built from the other keys",
                    .description = "Specification of the pod, in Kubernetes' format. Replaces all "
                                   "keys that describe its container."});
  Rule rule{.kind = Rule::Kind::excludes, .keys = {"spec"}};
  for (const Field& field : container) rule.keys.push_back(field.key);
  Schema schema{.description = "A type of node.",
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
       .default_note = "provider's, else unlimited",
       .unit = "cores",
       .description = "Maximum cores of all nodes of the pool."},
      {.key = "max-ram",
       .type = integer(),
       .default_note = "provider's, else unlimited",
       .unit = "MiB",
       .description = "Maximum memory of all nodes of the pool."},
      {.key = "max-resources",
       .type = mapping_of(integer()),
       .default_note = "provider's, name by name",
       .description = "Maximum of other resources of all nodes of the pool, by name: "
                      "`ephemeral-storage` (MB), a `gpu-resource`, names in `extra-resources`."},
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
      {default_field("default-label-cpu", "cores", "Default of the labels' `cpu`."),
       default_field("default-label-memory", "MiB", "Default of the labels' `memory`."),
       default_field("default-label-storage", "MB", "Default of the labels' `storage`."),
       default_field("default-label-cpu-limit", "cores", "Default of the labels' `cpu-limit`."),
       default_field("default-label-memory-limit", "MiB", "Default of the labels' `memory-limit`."),
       default_field("default-label-storage-limit", "MB",
                     "Default of the labels' `storage-limit`."),
       {.key = "default-label-extra-resources",
        .type = mapping_of(integer()),
        .default_note = "none",
        .description = "Has no effect.",
        .deprecated = "`extra-resources` of the labels"},
       {.key = "labels",
        .type = list_of(section(label_schema(kind))),
        .required = Required::strictly,
        .default_note = "none",
        .description = "Types of nodes."}});
  std::string_view description =
      "A group of nodes with the same limits. Names of namespaces begin with the pool's name.";
  if (kind == Kind::openshift) {
    description =
        "A group of nodes with the same limits. Names of projects begin with the pool's name.";
  }
  if (kind == Kind::openshiftpods) {
    description = "The nodes of one existing project, which has the pool's name.";
  }
  return {.description = description, .fields = std::move(fields)};
}

Fields provider_limit_fields(Kind kind) {
  Fields fields = {
      {.key = "max-cores",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "cores",
       .description = "Default of the pools' `max-cores`; not a limit of all pools together."},
      {.key = "max-ram",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "MiB",
       .description = "Default of the pools' `max-ram`; not a limit of all pools together."},
      {.key = "max-resources",
       .type = mapping_of(integer()),
       .default_note = "unlimited",
       .description = "Default of the pools' `max-resources`, name by name."},
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
                    .description = "Default of the pools' `max-servers`."});
  fields.push_back({.key = "max-servers",
                    .type = integer(),
                    .accepted = Accepted::by_daemons,
                    .default_note = "none",
                    .description = "Same as `max-projects`, if that is not set."});
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
  Fields fields = {{.key = "context",
                    .type = string(),
                    .required = is_kubernetes ? Required::never : Required::always,
                    .default_note = is_kubernetes ? "`current-context` of the kubeconfig" : "",
                    .description = "Context of the kubeconfig: endpoint and credentials. Recorded "
                                   "with each node as its `cloud`."},
                   cloud::launch_retries_field(),
                   {.key = "launch-timeout",
                    .type = integer(),
                    .default_value = "330",
                    .unit = "seconds",
                    .description = "Maximum duration of a launch attempt, until the pod runs."}};
  fields = joined(fields, provider_limit_fields(kind));
  if (kind != Kind::openshiftpods) {
    fields.push_back({.key = "limit-to-cluster-capacity",
                      .type = boolean(),
                      .default_value = "false",
                      .description =
                          "Limit the provider to the capacity of the cluster's nodes, minus the "
                          "requests of other pods. Not for clusters that scale automatically."});
  }
  fields.push_back({.key = "pools",
                    .type = list_of(section(pool_schema(kind))),
                    .required = Required::strictly,
                    .default_note = "none",
                    .description = "Groups of nodes."});
  return fields;
}

std::string_view description_of(Kind kind) {
  switch (kind) {
    case Kind::kubernetes:
      return "Namespaces of a Kubernetes cluster, with or without a pod.";
    case Kind::openshift:
      return "Projects of an OpenShift cluster, with or without a pod.";
    case Kind::openshiftpods:
      return "Pods in existing projects of an OpenShift cluster.";
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
