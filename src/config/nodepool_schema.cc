#include "config/nodepool_schema.h"

#include <utility>

namespace nodepool::config {

namespace {

constexpr std::int64_t kHighestPort = 65535;
constexpr std::int64_t kLargestHistory = 1 << 20;   // MiB
constexpr std::int64_t kOldestHistory = 3650;       // days
constexpr std::int64_t kLargestBuildLog = 1 << 20;  // MiB

Schema webapp_schema() {
  return {.description =
              "HTTP server of the launcher: status pages, metrics and the API; and of the builder: "
              "metrics.",
          .fields = {
              {.key = "port",
               .type = integer_between(0, kHighestPort),
               .default_value = "8005",
               .description = "TCP port. Read at start only."},
              {.key = "listen_address",
               .type = string(),
               .default_value = "0.0.0.0",
               .description = "Address to listen on; `::` for all IPv4 and IPv6 addresses. The key "
                              "has an underscore. Read at start only."},
              {.key = "builder-port",
               .type = integer_between(1, kHighestPort),
               .default_note = "none",
               .description = "TCP port at which the builders with this file serve `/live`, "
                              "`/ready` and `/metrics`; on the host of a launcher, not its `port`. "
                              "Read at start only."},
              {.key = "dashboard-url",
               .type = string(),
               .default_note = "none",
               .description = "URL of a dashboard, for example in Grafana. The status page links "
                              "to it. Read at start only."},
          }};
}

Schema api_schema() {
  return {
      .description =
          "API for requesting nodes over HTTP. The section is read at start only. The files are "
          "reloaded when they change.",
      .fields = {
          {.key = "tokens",
           .type = string(),
           .default_note = "none",
           .description = "Token file: the clients of the API and their permissions. Without it, "
                          "only clients of `socket` can change anything."},
          {.key = "anonymous-read",
           .type = boolean(),
           .default_value = "true",
           .description = "Allow unauthenticated read access to the API, the status pages and the "
                          "metrics. Build logs, which may contain secrets, need a token unless "
                          "`true` is set explicitly. With `tokens`, so do the consoles of failed "
                          "launches."},
          {.key = "socket",
           .type = string_matching("/.+", "an absolute path"),
           .default_note = "none",
           .description = "Path of a Unix socket for clients on this host. They need no token."},
          {.key = "socket-mode",
           .type = string_matching("0?[0-7]{3}", "an octal file mode in quotes: `\"0660\"`"),
           .default_note = "`\"0660\"`",
           .description = "Mode of the socket, as for `chmod`, in quotes. It decides which users "
                          "may connect."},
          {.key = "port",
           .type = integer_between(0, kHighestPort),
           .default_note = "none",
           .description = "TCP port for TLS. Needs a certificate."},
          {.key = "listen-address",
           .type = string(),
           .default_value = "0.0.0.0",
           .description = "Address to listen on for TLS."},
          {.key = "tls-cert",
           .type = string(),
           .default_note = "none",
           .description = "PEM file with the certificate chain."},
          {.key = "tls-key",
           .type = string(),
           .default_note = "none",
           .description = "PEM file with the private key."},
          {.key = "host-names",
           .type = list_of(string()),
           .default_note = "none",
           .description = "Additional values to accept in the header `Host` on a loopback address. "
                          "Loopback names and the address itself are always accepted. For a proxy "
                          "that passes on the header."},
      }};
}

Schema gearman_server_schema() {
  return {.description = "A Gearman job server.",
          .fields = {
              {.key = "host",
               .type = string(),
               .required = Required::always,
               .description = "Host name or address."},
              {.key = "port",
               .type = integer_between(0, kHighestPort),
               .default_value = "4730",
               .description = "TCP port."},
          }};
}

Schema zookeeper_server_schema() {
  return {.description = "A server of the ZooKeeper ensemble.",
          .fields = {
              {.key = "host",
               .type = string(),
               .required = Required::always,
               .description = "Host name or address."},
              {.key = "port",
               .type = integer_between(0, kHighestPort),
               .default_value = "2281",
               .description = "TCP port of ZooKeeper's TLS listener."},
              {.key = "chroot",
               .type = string(),
               .default_note = "the root",
               .description = "Path of Nodepool's root in ZooKeeper. The ZooKeeper node must "
                              "exist. All servers have the same chroot."},
          }};
}

Schema zookeeper_tls_schema() {
  return {
      .description =
          "Client certificate, and verification of the servers. Connections use TLS, so all three "
          "files are needed.",
      .fields = {
          {.key = "cert", .type = string(), .description = "PEM file with the client certificate."},
          {.key = "key", .type = string(), .description = "PEM file with the private key."},
          {.key = "ca",
           .type = string(),
           .description = "PEM file with the trusted certificate authorities."},
          {.key = "verify-hostname",
           .type = boolean(),
           .default_value = "false",
           .description =
               "Refuse servers whose certificate does not match their `host`. Otherwise daemons "
               "connect, and report the mismatch in the log and in `nodepool status`."},
          {.key = "insecure-plaintext",
           .type = boolean(),
           .default_value = "false",
           .description =
               "Connect without TLS; excludes the other keys. Anyone who can reach the network can "
               "then read and change all records. For trials and tests only."},
      }};
}

Schema zookeeper_auth_schema() {
  return {.description =
              "Credentials for ZooKeeper's scheme `digest`, in addition to the client certificate. "
              "Records created with them can be read and changed only with them: not by Zuul or "
              "the Python Nodepool, which have no such setting.",
          .fields = {
              {.key = "user",
               .type = string(),
               .required = Required::always,
               .description = "User name, without a colon."},
              {.key = "password",
               .type = string(),
               .required = Required::always,
               .description = "Password. Put it into the secure file."},
          }};
}

Schema history_schema() {
  return {
      .description = "History of requests and nodes, for `nodepool history`.",
      .fields = {
          {.key = "directory",
           .type = string(),
           .default_note = "directory of the embedded store; with ZooKeeper `/var/lib/nodepool`",
           .description = "Directory of `history.jsonl` and `trends.jsonl`, and of the previous "
                          "files, `history.jsonl.1` and `trends.jsonl.1`. Read at start only."},
          {.key = "max-size",
           .type = integer_between(1, kLargestHistory),
           .default_value = "16",
           .unit = "MiB",
           .description = "Maximum size of each of the two files. Read at start only."},
          {.key = "max-age",
           .type = integer_between(0, kOldestHistory),
           .default_value = "0",
           .unit = "days",
           .description = "Maximum age of the entries shown. Older entries leave the disk at twice "
                          "this age at most, as long as new entries are written. 0: only the size "
                          "counts. Read at start only."},
      }};
}

Schema label_schema() {
  return {.description =
              "A type of node that can be requested. Pools define how its nodes are created.",
          .fields = {
              {.key = "name",
               .type = string(),
               .required = Required::always,
               .description = "Name of the label, as in requests."},
              {.key = "min-ready",
               .type = integer(),
               .default_value = "0",
               .unit = "nodes",
               .description = "Number of nodes to keep ready. 0 or a negative number: none."},
              {.key = "max-ready-age",
               .type = integer(),
               .default_value = "0",
               .unit = "seconds",
               .description = "Maximum time that a node stays ready and unused before it is "
                              "deleted. 0 or a negative number: unlimited."},
          }};
}

Fields diskimage_build_fields() {
  return {
      {.key = "elements",
       .type = list_of(string()),
       .default_note = "none",
       .description = "Elements of diskimage-builder, appended to the parent's."},
      {.key = "env-vars",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Environment variables of the build, added to the parent's; equal names "
                      "replace them. Put secrets into the secure file."},
      {.key = "formats",
       .type = list_of(string()),
       .default_note = "formats that the providers need",
       .description = "Additional image formats to build, for example `qcow2`, `raw` or `vhd`. The "
                      "formats of the providers that use the image are always built."},
      {.key = "keep-formats",
       .type = list_of(string()),
       .default_note = "none",
       .description = "Formats to keep on disk despite `delete-after-upload`."},
      {.key = "delete-after-upload",
       .type = boolean(),
       .default_value = "false",
       .description = "Delete the files of a format once all providers have it."},
      {.key = "pause",
       .type = boolean(),
       .default_value = "false",
       .description = "Start no new builds. A child cannot override its parent's `true`."},
      {.key = "release",
       .type = one_of({string(), integer()}),
       .default_note = "empty",
       .description = "Release of the distribution, passed to the elements as `DIB_RELEASE`. Quote "
                      "numbers with a point: `\"22.04\"`."},
      {.key = "rebuild-age",
       .type = integer(),
       .default_value = "86400",
       .unit = "seconds",
       .description = "Age of a build at which the image is rebuilt. 0: the default."},
      {.key = "build-timeout",
       .type = integer(),
       .default_value = "28800",
       .unit = "seconds",
       .description = "Maximum duration of a build. 0: the default."},
      {.key = "builder",
       .type = word({"diskimage-builder", "command"}),
       .default_value = "diskimage-builder",
       .description = "Program that builds the image: diskimage-builder, or the one in `command`."},
      {.key = "dib-cmd",
       .type = string(),
       .default_value = "disk-image-create",
       .description = "Command of diskimage-builder. It is split like a shell command, so it may "
                      "have arguments. Arguments that specify the build are appended."},
      {.key = "command",
       .type = string(),
       .default_note = "none",
       .description = "Command that builds the image, with `builder: command`. It is split like a "
                      "shell command. Environment variables specify the build."},
  };
}

Fields diskimage_node_fields() {
  return {
      {.key = "username",
       .type = string(),
       .default_value = "zuul",
       .description = "User to log in as on nodes created from the image."},
      {.key = "python-path",
       .type = string(),
       .default_value = "auto",
       .description = "Path of the Python interpreter on these nodes, for Ansible."},
      {.key = "shell-type",
       .type = string(),
       .accepted = Accepted::by_daemons,
       .description = "Shell type of these nodes, for Ansible: `cmd` or `powershell` on Windows."},
      {.key = "metadata",
       .type = mapping_of(anything()),
       .default_note = "none",
       .description = "Properties of every upload of the image. Not inherited from the parent."},
  };
}

Schema diskimage_schema() {
  const Fields own = {
      {.key = "name",
       .type = string(),
       .required = Required::always,
       .description = "Name of the image."},
      {.key = "abstract",
       .type = boolean(),
       .default_value = "false",
       .description = "Build no image: the entry is only a parent for others."},
      {.key = "parent",
       .type = string(),
       .default_note = "none",
       .description = "Name of the disk image whose settings this one inherits."},
  };
  return {.description = "An image to build, and to upload to the providers that list it.",
          .fields = joined(joined(own, diskimage_build_fields()), diskimage_node_fields())};
}

Schema tenant_limits_schema() {
  return {.description =
              "Limits of a tenant, over all providers. Requests that exceed them wait, also "
              "those that need more than the whole limit. If only the nodes of a pool are too "
              "large, pools with higher `priority` numbers may serve the request.",
          .fields =
              {
                  {.key = "tenant-name",
                   .type = string(),
                   .required = Required::always,
                   .description = "Name of the tenant, as in requests."},
                  {.key = "max-servers",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "instances",
                   .description = "Maximum number of nodes."},
                  {.key = "max-cores",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "cores",
                   .description = "Maximum number of cores."},
                  {.key = "max-ram",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "MiB",
                   .description = "Maximum memory."},
                  {.key = "max-volumes",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "volumes",
                   .description = "Maximum number of volumes."},
                  {.key = "max-volume-gb",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "GiB",
                   .description = "Maximum total size of volumes."},
              },
          .other_keys = OtherKeys{
              .type = integer(),
              .description = "Limit of any other resource that a provider counts, by its name. For "
                             "AWS, the code of a service quota, such as `L-43DA4232`."}};
}

Fields path_fields() {
  return {
      {.key = "elements-dir",
       .type = string(),
       .default_note = "none",
       .description = "Search path of diskimage-builder's elements (`ELEMENTS_PATH`)."},
      {.key = "images-dir",
       .type = string(),
       .default_note = "none",
       .description = "Directory of the built images. Required by the builder."},
      {.key = "build-log-dir",
       .type = string(),
       .default_value = "/var/log/nodepool/builds",
       .description = "Directory of the build logs."},
      {.key = "build-log-retention",
       .type = integer(),
       .default_value = "7",
       .unit = "logs",
       .description = "Number of old logs to keep for each image. A negative number: all."},
      {.key = "build-log-limit",
       .type = integer_between(1, kLargestBuildLog),
       .default_value = "100",
       .unit = "MiB",
       .description = "Maximum size of a log. Of the output beyond it, only the end is kept; the "
                      "log states how much is omitted."},
  };
}

Fields store_fields() {
  return {
      {.key = "store",
       .type = string_matching("zookeeper|sqlite:///.+",
                               "`zookeeper`, or `sqlite://` and the absolute path of a file: "
                               "`sqlite:///var/lib/nodepool/nodepool.db`"),
       .default_note = "`sqlite:///var/lib/nodepool/nodepool.db`, or ZooKeeper if there are "
                       "`zookeeper-servers`",
       .description = "Store of nodes, requests and images: `zookeeper`, or `sqlite://` and the "
                      "absolute path of a file. Read at start only."},
      {.key = "history",
       .type = section(history_schema()),
       .default_note = "see its table",
       .description = "History of requests and nodes."},
      {.key = "gearman-servers",
       .type = list_of(section(gearman_server_schema())),
       .default_note = "none",
       .description =
           "Gearman servers at which the builder offers builds, uploads and deletions of images."},
      {.key = "zookeeper-servers",
       .type = list_of(section(zookeeper_server_schema())),
       .default_note = "none",
       .description = "Servers of the ZooKeeper ensemble. Needed to work with Zuul."},
      {.key = "zookeeper-tls",
       .type = section(zookeeper_tls_schema()),
       .default_note = "none",
       .description = "TLS settings for ZooKeeper. A change takes effect without a restart, except "
                      "of `insecure-plaintext`."},
      {.key = "zookeeper-auth",
       .type = section(zookeeper_auth_schema()),
       .default_note = "none",
       .description = "User and password for ZooKeeper. Read at start only."},
      {.key = "zookeeper-timeout",
       .type = number(),
       .default_value = "10.0",
       .unit = "seconds",
       .description = "Session timeout of ZooKeeper. Read at start only."},
  };
}

Fields resource_fields() {
  return {
      {.key = "labels",
       .type = list_of(section(label_schema())),
       .default_note = "none",
       .description = "Types of nodes that can be requested."},
      {.key = "diskimages",
       .type = list_of(section(diskimage_schema())),
       .default_note = "none",
       .description = "Images to build."},
      {.key = "providers",
       .type = list_of(section({.other_keys = OtherKeys{.type = anything()}})),
       .default_note = "none",
       .description = "Sources of nodes. The keys of a provider depend on its driver."},
      {.key = "max-hold-age",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "seconds",
       .description = "Maximum time that a node may be held before it is deleted. 0 or a negative "
                      "number: unlimited."},
      {.key = "max-lease",
       .type = duration(),
       .default_note = "unlimited",
       .description = "Maximum duration of a lease, renewals included, however the nodes were "
                      "requested. Also limits how long clients of the request API may hold nodes. "
                      "Longer requests are rejected. 0 or a negative number: unlimited."},
      {.key = "pool-timeout",
       .type = duration(),
       .default_value = "2m",
       .description =
           "How long a request waits for pools that have offered its labels and have gone away, "
           "for example during a restart of their launcher. After that it fails. 0: no wait."},
      {.key = "tenant-resource-limits",
       .type = list_of(section(tenant_limits_schema())),
       .default_note = "none",
       .description = "Limits of tenants."},
  };
}

}  // namespace

const Schema& nodepool_schema() {
  static const Schema schema{
      .description =
          "The configuration of Nodepool. `%(NAME)` is replaced by the environment variable NAME "
          "before parsing, if its name begins with `NODEPOOL_`.",
      .fields = joined(joined(joined({{.key = "webapp",
                                       .type = section(webapp_schema()),
                                       .default_note = "see its table",
                                       .description = "HTTP server of the launcher."},
                                      {.key = "api",
                                       .type = section(api_schema()),
                                       .default_note = "see its table",
                                       .description = "Access to the API."}},
                                     path_fields()),
                              store_fields()),
                       resource_fields())};
  return schema;
}

const Schema& secure_schema() {
  static const Schema diskimage{
      .description = "Secrets of a disk image.",
      .fields = {
          {.key = "name",
           .type = string(),
           .required = Required::always,
           .description = "Name of a disk image of the main file that is not abstract."},
          {.key = "env-vars",
           .type = mapping_of(string()),
           .required = Required::always,
           .description = "Environment variables of the build. They override the main file's. "
                          "Images with this one as parent do not inherit them."},
      }};
  static const Schema schema{.description = "The secure file, given with `-s`.",
                             .fields = {
                                 {.key = "zookeeper-servers",
                                  .type = list_of(section(zookeeper_server_schema())),
                                  .default_note = "servers of the main file",
                                  .description = "Replaces the list of the main file."},
                                 {.key = "zookeeper-tls",
                                  .type = section(zookeeper_tls_schema()),
                                  .default_note = "section of the main file",
                                  .description = "Replaces all three paths of the main file. "
                                                 "`verify-hostname` counts in either file."},
                                 {.key = "zookeeper-auth",
                                  .type = section(zookeeper_auth_schema()),
                                  .default_note = "section of the main file",
                                  .description = "Replaces the section of the main file."},
                                 {.key = "diskimages",
                                  .type = list_of(section(diskimage)),
                                  .default_note = "none",
                                  .description = "Secrets for image builds."},
                             }};
  return schema;
}

const Fields& common_provider_fields() {
  static const Fields fields = {
      {.key = "name",
       .type = string(),
       .required = Required::always,
       .description = "Name of the provider, unique in the file."},
      {.key = "driver",
       .type = string(),
       .default_value = kDefaultDriver,
       .description = "Driver of the provider. It decides which other keys exist."},
      {.key = "max-concurrency",
       .type = integer(),
       .default_value = "-1",
       .unit = "launches",
       .description = "Maximum number of concurrent launches. A negative number: unlimited. 0: the "
                      "provider accepts no requests."},
      {.key = "priority",
       .type = integer(),
       .default_note = "100",
       .description = "Order of providers; lower numbers first."},
  };
  return fields;
}

const Fields& common_pool_fields() {
  static const Fields fields = {
      {.key = "name",
       .type = string(),
       .required = Required::always,
       .description = "Name of the pool, unique in the provider."},
      {.key = "max-servers",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "instances",
       .description = "Maximum number of nodes of the pool. 0 or a negative number: the pool "
                      "accepts no requests."},
      {.key = "priority",
       .type = integer(),
       .default_note = "provider's, else 100",
       .description = "Order of pools; lower numbers first."},
      {.key = "node-attributes",
       .type = mapping_of(anything()),
       .default_note = "none",
       .description = "Attributes of the pool's nodes, for requestors."},
  };
  return fields;
}

Schema provider_schema(const Schema& driver_schema) {
  Schema schema = driver_schema;
  schema.fields = joined(common_provider_fields(), schema.fields);
  return schema;
}

std::string driver_of(const Value& provider, const DriverSchemas& drivers) {
  constexpr std::string_view kFake = "fake";
  const Value* name = provider.find("name");
  if (name != nullptr && name->text().starts_with(kFake) && drivers.schemas.contains(kFake)) {
    return std::string(kFake);
  }
  const Value* driver = provider.find("driver");
  if (driver == nullptr || driver->is_null()) return std::string(kDefaultDriver);
  return driver->text();
}

}  // namespace nodepool::config
