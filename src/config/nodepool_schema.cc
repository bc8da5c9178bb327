#include "config/nodepool_schema.h"

#include <utility>

namespace nodepool::config {

namespace {

constexpr std::int64_t kHighestPort = 65535;
constexpr std::int64_t kLargestHistory = 1 << 20;   // MiB
constexpr std::int64_t kOldestHistory = 3650;       // days
constexpr std::int64_t kLargestBuildLog = 1 << 20;  // MiB

Schema webapp_schema() {
  return {
      .description = "Where the launcher serves its status pages and its API.",
      .fields = {
          {.key = "port",
           .type = integer_between(0, kHighestPort),
           .default_value = "8005",
           .description = "TCP port. Read once, when the launcher starts."},
          {.key = "listen_address",
           .type = string(),
           .default_value = "0.0.0.0",
           .description = "Address to listen on, `::` for all IPv4 and IPv6 addresses. The key has "
                          "an underscore. Read once, when the launcher starts."},
      }};
}

Schema api_schema() {
  return {
      .description =
          "The API by which others ask the launcher for nodes. All is read once, when the "
          "launcher starts; the files are read again when they change.",
      .fields = {
          {.key = "tokens",
           .type = string(),
           .default_note = "none: nobody can change anything",
           .description = "File with the clients and what each may do."},
          {.key = "anonymous-read",
           .type = boolean(),
           .default_value = "true",
           .description =
               "Allow unauthenticated read access to the API, the status pages and the metrics. "
               "Build logs are shown without a token only if `true` is written, because programs "
               "may print secrets."},
          {.key = "socket",
           .type = string_matching("/.+", "an absolute path"),
           .default_note = "none",
           .description = "Unix socket for clients on this machine, which need no token."},
          {.key = "socket-mode",
           .type = string_matching("0?[0-7]{3}", "an octal file mode in quotes: `\"0660\"`"),
           .default_note = "`\"0660\"`",
           .description = "Who may connect to the socket, as for chmod, in quotes."},
          {.key = "port",
           .type = integer_between(0, kHighestPort),
           .default_note = "none",
           .description = "TCP port for TLS, with a certificate."},
          {.key = "listen-address",
           .type = string(),
           .default_value = "0.0.0.0",
           .description = "Address of that port."},
          {.key = "tls-cert",
           .type = string(),
           .default_note = "none",
           .description = "PEM file with the certificate and those that lead from it to a known "
                          "one."},
          {.key = "tls-key",
           .type = string(),
           .default_note = "none",
           .description = "PEM file with its key."},
          {.key = "host-names",
           .type = list_of(string()),
           .default_note = "none",
           .description = "Host names to accept in the header `Host` on a loopback address, beside "
                          "loopback names and the address itself. For a proxy that passes on the "
                          "header."},
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
               .description = "Path in ZooKeeper below which everything of Nodepool is kept. The "
                              "node must exist. One chroot holds for all servers."},
          }};
}

Schema zookeeper_tls_schema() {
  return {.description =
              "How to prove one's identity to ZooKeeper, and to check its own. "
              "Connections to ZooKeeper always use TLS, so all three files are needed.",
          .fields = {
              {.key = "cert",
               .type = string(),
               .description = "Path of the client certificate, a PEM file."},
              {.key = "key",
               .type = string(),
               .description = "Path of the certificate's private key, a PEM file."},
              {.key = "ca",
               .type = string(),
               .description = "Path of the certificates of the authorities to trust, a PEM file."},
              {.key = "verify-hostname",
               .type = boolean(),
               .default_value = "false",
               .description = "Whether to refuse a server whose certificate is not for its `host`. "
                              "Otherwise daemons connect, and warn of it in the log and in "
                              "`nodepool status`."},
              {.key = "insecure-plaintext",
               .type = boolean(),
               .default_value = "false",
               .description = "Whether to do without TLS, and without the three files. Whoever can "
                              "reach the network then reads and changes everything: for trials "
                              "and tests."},
          }};
}

Schema zookeeper_auth_schema() {
  return {.description =
              "With what Nodepool authenticates itself to ZooKeeper (its scheme `digest`), beyond "
              "the client certificate. Records that are made with it can only be read and changed "
              "with it: not by Zuul or the Python Nodepool, which have no such setting.",
          .fields = {
              {.key = "user",
               .type = string(),
               .required = Required::always,
               .description = "Name, without a colon."},
              {.key = "password",
               .type = string(),
               .required = Required::always,
               .description = "Password. It belongs in the secure file."},
          }};
}

Schema history_schema() {
  return {
      .description =
          "Where the launcher writes down what happens to requests and nodes, for "
          "`nodepool history`.",
      .fields = {
          {.key = "directory",
           .type = string(),
           .default_note = "that of the embedded store, with ZooKeeper `/var/lib/nodepool`",
           .description = "Directory of the files `history.jsonl`, and `history.jsonl.1` for "
                          "what came before. Read once, when the launcher starts."},
          {.key = "max-size",
           .type = integer_between(1, kLargestHistory),
           .default_value = "16",
           .unit = "MiB",
           .description = "How large each of the two files may become. Read once, when the "
                          "launcher starts."},
          {.key = "max-age",
           .type = integer_between(0, kOldestHistory),
           .default_value = "0",
           .unit = "days",
           .description = "What is older is not shown, and leaves the disk at twice that age at "
                          "most, as long as anything happens. 0: only the size counts. Read "
                          "once, when the launcher starts."},
      }};
}

Schema label_schema() {
  return {.description =
              "A kind of node that can be requested. Providers say in their pools how "
              "they make nodes of a label.",
          .fields = {
              {.key = "name",
               .type = string(),
               .required = Required::always,
               .description = "Name of the label, which is what requests ask for."},
              {.key = "min-ready",
               .type = integer(),
               .default_value = "0",
               .unit = "nodes",
               .description = "How many nodes are kept ready, so that requests need not wait. "
                              "Nothing is prepared for 0 or a negative number."},
              {.key = "max-ready-age",
               .type = integer(),
               .default_value = "0",
               .unit = "seconds",
               .description = "How long a node may be ready without being used before it is "
                              "deleted. 0 or a negative number: for ever."},
          }};
}

Fields diskimage_build_fields() {
  return {
      {.key = "elements",
       .type = list_of(string()),
       .default_note = "none",
       .description = "Elements of diskimage-builder. They are put behind those of the parent."},
      {.key = "env-vars",
       .type = mapping_of(string()),
       .default_note = "none",
       .description = "Environment variables of the build. They are added to those of the parent "
                      "and replace equal ones. Secrets belong in the secure file."},
      {.key = "formats",
       .type = list_of(string()),
       .default_note = "what the providers need",
       .description = "Image formats to build, in addition to those of the providers that use the "
                      "image, for example `qcow2`, `raw` or `vhd`."},
      {.key = "keep-formats",
       .type = list_of(string()),
       .default_note = "none",
       .description = "Formats that stay on disk in spite of `delete-after-upload`."},
      {.key = "delete-after-upload",
       .type = boolean(),
       .default_value = "false",
       .description = "Whether the files of a format are deleted once every provider has it."},
      {.key = "pause",
       .type = boolean(),
       .default_value = "false",
       .description = "Whether no new builds are made. A child cannot undo its parent's `true`."},
      {.key = "release",
       .type = one_of({string(), integer()}),
       .default_note = "empty",
       .description = "Release of the distribution, given to the elements as `DIB_RELEASE`. Put "
                      "numbers with a point in quotes: `\"22.04\"`."},
      {.key = "rebuild-age",
       .type = integer(),
       .default_value = "86400",
       .unit = "seconds",
       .description = "Age of a build at which a new one is made. 0 counts as not given."},
      {.key = "build-timeout",
       .type = integer(),
       .default_value = "28800",
       .unit = "seconds",
       .description = "How long a build may take. 0 counts as not given."},
      {.key = "builder",
       .type = word({"diskimage-builder", "command"}),
       .default_value = "diskimage-builder",
       .description = "What makes the image: diskimage-builder, or any program that writes the "
                      "files (`command`)."},
      {.key = "dib-cmd",
       .type = string(),
       .default_value = "disk-image-create",
       .description = "Command of diskimage-builder. It is split like a shell command, so it can "
                      "have arguments; those that say what to build are put behind them."},
      {.key = "command",
       .type = string(),
       .default_note = "none",
       .description = "Command that makes the image, with `builder: command`. It is split like a "
                      "shell command, and gets what to make in its environment."},
  };
}

Fields diskimage_node_fields() {
  return {
      {.key = "username",
       .type = string(),
       .default_value = "zuul",
       .description = "User to log in as on nodes made from the image."},
      {.key = "python-path",
       .type = string(),
       .default_value = "auto",
       .description = "Path of the Python interpreter on such nodes, for Ansible."},
      {.key = "shell-type",
       .type = string(),
       .accepted = Accepted::by_daemons,
       .description =
           "Kind of shell on such nodes, for Ansible: `cmd` or `powershell` on Windows."},
      {.key = "metadata",
       .type = mapping_of(anything()),
       .default_note = "none",
       .description = "Properties given to every upload of the image. Not taken from the parent."},
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
       .description = "Whether this is only a parent for others, and no image is built from it."},
      {.key = "parent",
       .type = string(),
       .default_note = "none",
       .description = "Name of another disk image that this one starts from."},
  };
  return {.description =
              "An image that the builder makes and uploads to the providers that list "
              "it.",
          .fields = joined(joined(own, diskimage_build_fields()), diskimage_node_fields())};
}

Schema tenant_limits_schema() {
  return {.description = "What a tenant may use at most, over all providers.",
          .fields =
              {
                  {.key = "tenant-name",
                   .type = string(),
                   .required = Required::always,
                   .description = "Name of the tenant, as requests carry it."},
                  {.key = "max-servers",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "instances",
                   .description = "Most nodes at a time."},
                  {.key = "max-cores",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "cores",
                   .description = "Most processor cores at a time."},
                  {.key = "max-ram",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "MiB",
                   .description = "Most memory at a time."},
                  {.key = "max-volumes",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "volumes",
                   .description = "Most volumes at a time."},
                  {.key = "max-volume-gb",
                   .type = integer(),
                   .default_note = "unlimited",
                   .unit = "GiB",
                   .description = "Largest total size of volumes at a time."},
              },
          .other_keys = OtherKeys{
              .type = integer(),
              .description = "Any other resource that a provider counts, by its name; for AWS the "
                             "code of a service quota, such as `L-43DA4232`."}};
}

Fields path_fields() {
  return {
      {.key = "elements-dir",
       .type = string(),
       .default_note = "none",
       .description = "Where diskimage-builder looks for elements (`ELEMENTS_PATH`)."},
      {.key = "images-dir",
       .type = string(),
       .default_note = "none",
       .description = "Where the builder keeps its images. The builder does not start without it."},
      {.key = "build-log-dir",
       .type = string(),
       .default_value = "/var/log/nodepool/builds",
       .description = "Where the builder writes a log for each build."},
      {.key = "build-log-retention",
       .type = integer(),
       .default_value = "7",
       .unit = "logs",
       .description = "How many old logs are kept for each image. A negative number keeps all."},
      {.key = "build-log-limit",
       .type = integer_between(1, kLargestBuildLog),
       .default_value = "100",
       .unit = "MiB",
       .description =
           "How large a log may become. Of what is written beyond that, the end is kept, "
           "and the log says how much has been left out."},
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
       .description = "Where nodes, requests and images are kept: `zookeeper`, or `sqlite://` and "
                      "the absolute path of a file. Read once, when a program starts."},
      {.key = "history",
       .type = section(history_schema()),
       .default_note = "see there",
       .description = "Where the launcher writes down what happens to requests and nodes."},
      {.key = "gearman-servers",
       .type = list_of(section(gearman_server_schema())),
       .default_note = "none",
       .description = "Where the builder offers builds, uploads and deletions of images to "
                      "others."},
      {.key = "zookeeper-servers",
       .type = list_of(section(zookeeper_server_schema())),
       .default_note = "none",
       .description = "The servers of the ZooKeeper ensemble. Needed to work with Zuul."},
      {.key = "zookeeper-tls",
       .type = section(zookeeper_tls_schema()),
       .default_note = "none",
       .description = "Certificates for ZooKeeper. Read once, at the first connection."},
      {.key = "zookeeper-auth",
       .type = section(zookeeper_auth_schema()),
       .default_note = "none",
       .description = "User and password for ZooKeeper. Read once, when a program starts."},
      {.key = "zookeeper-timeout",
       .type = number(),
       .default_value = "10.0",
       .unit = "seconds",
       .description = "How long ZooKeeper keeps a session that it does not hear from. Read once, "
                      "at the first connection."},
  };
}

Fields resource_fields() {
  return {
      {.key = "labels",
       .type = list_of(section(label_schema())),
       .default_note = "none",
       .description = "The kinds of nodes that can be requested."},
      {.key = "diskimages",
       .type = list_of(section(diskimage_schema())),
       .default_note = "none",
       .description = "The images to build."},
      {.key = "providers",
       .type = list_of(section({.other_keys = OtherKeys{.type = anything()}})),
       .default_note = "none",
       .description = "Where nodes come from. The keys of a provider depend on its driver."},
      {.key = "max-hold-age",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "seconds",
       .description = "How long a node may be held before it is deleted. 0 or a negative number: "
                      "for ever."},
      {.key = "max-lease",
       .type = duration(),
       .default_note = "unlimited",
       .description = "How long a lease may last, renewals included, by whichever way it was asked "
                      "for; also how long a client of the request API may have nodes held. What "
                      "asks for more is refused. 0 or a negative number: no limit."},
      {.key = "pool-timeout",
       .type = duration(),
       .default_value = "2m",
       .description =
           "How long a request waits for pools that have offered its labels and are gone, "
           "because their launcher is restarted or has lost its session, before it "
           "fails. 0: not at all."},
      {.key = "tenant-resource-limits",
       .type = list_of(section(tenant_limits_schema())),
       .default_note = "none",
       .description = "What single tenants may use at most."},
  };
}

}  // namespace

const Schema& nodepool_schema() {
  static const Schema schema{
      .description =
          "The configuration of Nodepool. `%(NAME)` is replaced by the environment "
          "variable NAME, if its name begins with `NODEPOOL_`, before the file is "
          "parsed.",
      .fields = joined(joined(joined({{.key = "webapp",
                                       .type = section(webapp_schema()),
                                       .default_note = "see there",
                                       .description = "The web server of the launcher."},
                                      {.key = "api",
                                       .type = section(api_schema()),
                                       .default_note = "see there",
                                       .description = "Who may ask for nodes over HTTP, and how."}},
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
           .description = "Environment variables of the build, put over those of the main file. "
                          "Images that have this one as parent do not get them."},
      }};
  static const Schema schema{.description = "The file with the secrets, given with `-s`.",
                             .fields = {
                                 {.key = "zookeeper-servers",
                                  .type = list_of(section(zookeeper_server_schema())),
                                  .default_note = "those of the main file",
                                  .description = "Replaces the list of the main file."},
                                 {.key = "zookeeper-tls",
                                  .type = section(zookeeper_tls_schema()),
                                  .default_note = "that of the main file",
                                  .description = "Replaces all three paths of the main file. "
                                                 "`verify-hostname` counts in either file."},
                                 {.key = "zookeeper-auth",
                                  .type = section(zookeeper_auth_schema()),
                                  .default_note = "that of the main file",
                                  .description = "Replaces that of the main file."},
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
       .description = "Name of the provider, which nothing else may have."},
      {.key = "driver",
       .type = string(),
       .default_value = kDefaultDriver,
       .description = "The kind of provider, which decides what other keys there are."},
      {.key = "max-concurrency",
       .type = integer(),
       .default_value = "-1",
       .unit = "launches",
       .description = "How many nodes the provider launches at a time. A negative number is no "
                      "limit; with 0 it accepts no requests at all."},
      {.key = "priority",
       .type = integer(),
       .default_note = "100",
       .description = "Providers with a lower number are asked first."},
  };
  return fields;
}

const Fields& common_pool_fields() {
  static const Fields fields = {
      {.key = "name",
       .type = string(),
       .required = Required::always,
       .description = "Name of the pool, which no other pool of the provider may have."},
      {.key = "max-servers",
       .type = integer(),
       .default_note = "unlimited",
       .unit = "instances",
       .description = "Most nodes of the pool at a time. With 0 or a negative number the pool "
                      "accepts no requests."},
      {.key = "priority",
       .type = integer(),
       .default_note = "the provider's, else 100",
       .description = "Pools with a lower number are asked first."},
      {.key = "node-attributes",
       .type = mapping_of(anything()),
       .default_note = "none",
       .description = "Whatever requestors want to know about the nodes of this pool."},
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
