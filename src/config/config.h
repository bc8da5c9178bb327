#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/value.h"

// nodepool.yaml as the programs use it. Plain data; all defaults come from the schema
// (config/nodepool_schema.h) when the file is loaded, those here are the same values.

namespace nodepool::config {

class Section;

// Where the status pages and the API are served. Read once, when the launcher starts.
struct WebApp {
  int port = 8005;
  std::string listen_address = "0.0.0.0";

  friend bool operator==(const WebApp&, const WebApp&) = default;
};

// How others ask for nodes over HTTP. Read once, when the launcher starts. Empty paths were not
// configured.
struct Api {
  std::string tokens = {};  // file
  bool anonymous_read = true;
  bool anonymous_build_logs = false;  // anonymous-read says so in words
  std::string socket = {};            // path
  unsigned socket_mode = 0660;
  std::optional<int> port = {};  // with TLS
  std::string listen_address = "0.0.0.0";
  std::string tls_cert = {};
  std::string tls_key = {};
  std::vector<std::string> host_names = {};  // accepted in Host on loopback

  friend bool operator==(const Api&, const Api&) = default;
};

struct ZooKeeperServer {
  std::string host = {};  // a name or an address; IPv6 without brackets
  int port = 2281;

  friend bool operator==(const ZooKeeperServer&, const ZooKeeperServer&) = default;
};

// A Gearman job server, for the image workers.
struct GearmanServer {
  std::string host = {};  // a name or an address
  int port = 4730;

  friend bool operator==(const GearmanServer&, const GearmanServer&) = default;
};

// Paths of PEM files. An empty one was not configured.
struct ZooKeeperTls {
  std::string cert = {};
  std::string key = {};
  std::string ca = {};
  bool verify_hostname = false;     // a server with a certificate for another name is refused
  bool insecure_plaintext = false;  // no TLS: somebody has asked for that in so many words

  // "missing `ca` and `key`, and ZooKeeper is used with TLS only"; empty if nothing is missing or
  // insecure_plaintext is set.
  std::string missing() const;

  friend bool operator==(const ZooKeeperTls&, const ZooKeeperTls&) = default;
};

// With what ZooKeeper's "digest" scheme knows its clients.
struct ZooKeeperAuth {
  std::string user = {};
  std::string password = {};

  friend bool operator==(const ZooKeeperAuth&, const ZooKeeperAuth&) = default;
};

// The ensemble, whether or not it is the store in use. TLS may be incomplete: config-validate does
// not see a secure file, and only who connects needs it.
struct ZooKeeper {
  std::vector<ZooKeeperServer> servers = {};
  std::string chroot = {};  // e.g. "/nodepool-prefix"; empty: the root
  ZooKeeperTls tls = {};
  std::optional<ZooKeeperAuth> auth = {};  // nothing: records are open to all clients
  double timeout = 10.0;                   // seconds

  friend bool operator==(const ZooKeeper&, const ZooKeeper&) = default;
};

// Where the records of nodes, requests and images are kept.
struct StoreChoice {
  enum class Kind { zookeeper, sqlite };

  Kind kind = Kind::sqlite;
  std::string sqlite_path = "/var/lib/nodepool/nodepool.db";  // absolute; empty for zookeeper
  bool is_default = true;  // neither `store` nor `zookeeper-servers` was given

  friend bool operator==(const StoreChoice&, const StoreChoice&) = default;
};

// Where the launcher writes down what has happened to requests and nodes.
struct History {
  std::string directory = "/var/lib/nodepool";
  std::int64_t max_size = 16 << 20;  // bytes, of each of its two files
  std::int64_t max_age = 0;          // days; 0: no limit

  friend bool operator==(const History&, const History&) = default;
};

// A kind of node that can be requested.
struct Label {
  std::string name = {};
  std::int64_t min_ready = 0;      // nodes kept ready; nothing is prepared for 0 or less
  std::int64_t max_ready_age = 0;  // seconds a node may be ready and unused; 0 or less: for ever

  friend bool operator==(const Label&, const Label&) = default;
};

// An image to build, with everything from its parents. Abstract entries do not get this far.
struct DiskImage {
  std::string name = {};
  std::vector<std::string> elements = {};            // root's first, own last
  std::map<std::string, std::string> env_vars = {};  // may hold secrets
  std::set<std::string> formats = {};                // the providers' formats are not in here
  std::set<std::string> keep_formats = {};           // stay on disk after the upload
  bool delete_after_upload = false;
  bool pause = false;
  std::string release = {};            // DIB_RELEASE; may be empty
  std::int64_t rebuild_age = 86400;    // seconds
  std::int64_t build_timeout = 28800;  // seconds
  std::string username = "zuul";
  std::string python_path = "auto";
  std::optional<std::string> shell_type = {};
  std::string builder = "diskimage-builder";  // or "command": what makes the image
  std::string dib_cmd = "disk-image-create";
  std::string command = {};  // for the builder "command"; not empty then
  Value metadata = {};       // a mapping, or null; own only, never a parent's

  friend bool operator==(const DiskImage&, const DiskImage&) = default;
};

// What a tenant may use at most, over all providers. A resource without an entry is unlimited.
struct TenantLimits {
  std::string name = {};
  std::map<std::string, std::int64_t> limits =
      {};  // "instances", "cores", "ram" (MiB), and any other

  friend bool operator==(const TenantLimits&, const TenantLimits&) = default;
};

// One provider. Its driver reads everything else from `value` (Section, config/section.h).
struct ProviderSection {
  std::string name = {};
  std::string driver = {};                    // a name of DriverSchemas
  std::int64_t max_concurrency = -1;          // launches at a time; negative: unlimited, 0: none
  std::optional<std::int64_t> priority = {};  // lower is preferred
  Value value = {};                           // the whole mapping
  std::string file = {};                      // for errors
  std::string path = {};                      // for errors: "providers[0] (rack)"

  // Whether nothing an operator can configure differs. The place in the file does not count.
  friend bool operator==(const ProviderSection& left, const ProviderSection& right) {
    return left.driver == right.driver && left.value == right.value;
  }
};

// The whole file, with the secure file applied.
struct Config {
  WebApp webapp = {};
  Api api = {};
  std::optional<std::string> elements_dir = {};
  std::optional<std::string> images_dir = {};
  std::string build_log_dir = "/var/log/nodepool/builds";
  std::int64_t build_log_retention = 7;  // old logs kept for each image; negative: all
  std::int64_t build_log_limit = 100;    // MiB, of one log
  std::vector<GearmanServer> gearman_servers = {};
  ZooKeeper zookeeper = {};
  StoreChoice store = {};
  History history = {};
  std::optional<std::int64_t> max_hold_age = {};  // seconds; nothing: no limit
  std::optional<std::int64_t> max_lease = {};     // seconds; nothing: no limit
  std::int64_t pool_timeout = 120;  // seconds that a request waits for a pool that is gone
  std::map<std::string, Label> labels = {};
  std::map<std::string, DiskImage> diskimages = {};
  std::vector<ProviderSection> providers = {};  // in the order of the file, each name once
  std::map<std::string, TenantLimits> tenant_limits = {};
};

// The names of all providers.
std::set<std::string> provider_names(const Config& config);
// The disk images that a builder is to build: all but those that are paused.
std::set<std::string> images_to_build(const Config& config);

// The label or disk image that `key` of `section` names, for drivers that resolve their references:
//   const Label& label = find_label(config, node_section, "name", node_section.text("name"));
// Throw ConfigError, with a near match as a hint, if the top level defines no such thing.
const Label& find_label(const Config& config, const Section& section, std::string_view key,
                        std::string_view name);
const DiskImage& find_diskimage(const Config& config, const Section& section, std::string_view key,
                                std::string_view name);

}  // namespace nodepool::config
