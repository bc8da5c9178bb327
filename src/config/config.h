#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/value.h"

// The content of nodepool.yaml. Plain data. load() takes the defaults from the schema
// (config/nodepool_schema.h); the values here are the same.

namespace nodepool::config {

class Section;

// Where the status pages and the API are served. Read once, when the launcher starts.
struct WebApp {
  int port = 8005;
  std::string listen_address = "0.0.0.0";
  std::optional<int> builder_port = {};  // nothing: builders do not listen
  std::string dashboard_url = {};        // HTTP or HTTPS; empty: none

  friend bool operator==(const WebApp&, const WebApp&) = default;
};

// The request API. Read once, when the launcher starts. An empty path is not configured.
struct ApiSettings {
  std::string tokens = {};  // file
  bool anonymous_read = true;
  bool anonymous_build_logs = false;  // `anonymous-read: true` is in the file
  std::string socket = {};            // path
  unsigned socket_mode = 0660;
  std::optional<int> port = {};  // with TLS
  std::string listen_address = "0.0.0.0";
  std::string tls_cert = {};
  std::string tls_key = {};
  std::vector<std::string> host_names = {};  // accepted in Host on loopback

  friend bool operator==(const ApiSettings&, const ApiSettings&) = default;
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

// Paths of PEM files. An empty path is not configured.
struct ZooKeeperTls {
  std::string cert = {};
  std::string key = {};
  std::string ca = {};
  bool verify_hostname = false;     // reject a certificate for another name
  bool insecure_plaintext = false;  // no TLS; only on explicit request

  // "missing `ca` and `key`: connections to ZooKeeper require TLS"; empty if all three are given or
  // insecure_plaintext is set.
  std::string missing() const;

  friend bool operator==(const ZooKeeperTls&, const ZooKeeperTls&) = default;
};

// The credentials of ZooKeeper's "digest" scheme.
struct ZooKeeperAuth {
  std::string user = {};
  std::string password = {};

  friend bool operator==(const ZooKeeperAuth&, const ZooKeeperAuth&) = default;
};

// The ensemble, whether or not it is the store in use. TLS may be incomplete: config-validate does
// not read the secure file, and only a connection needs the paths.
struct ZooKeeper {
  std::vector<ZooKeeperServer> servers = {};
  std::string chroot = {};  // e.g. "/nodepool-prefix"; empty: the root
  ZooKeeperTls tls = {};
  std::optional<ZooKeeperAuth> auth = {};  // none: records are open to all clients
  double timeout = 10.0;                   // seconds

  friend bool operator==(const ZooKeeper&, const ZooKeeper&) = default;
};

// The store of the records of nodes, requests and images.
struct StoreChoice {
  enum class Kind { zookeeper, sqlite };

  Kind kind = Kind::sqlite;
  std::string sqlite_path = "/var/lib/nodepool/nodepool.db";  // absolute; empty for zookeeper
  bool is_default = true;  // neither `store` nor `zookeeper-servers` was given

  // Whether both are the same store.
  friend bool operator==(const StoreChoice& one, const StoreChoice& other) {
    return one.kind == other.kind && one.sqlite_path == other.sqlite_path;
  }
};

// The launcher's history of requests and nodes.
struct HistorySettings {
  std::string directory = "/var/lib/nodepool";
  std::int64_t max_size = 16 << 20;  // bytes, for each of its two files
  std::int64_t max_age = 0;          // days; 0: no limit

  friend bool operator==(const HistorySettings&, const HistorySettings&) = default;
};

// A kind of node that can be requested.
struct Label {
  std::string name = {};
  std::int64_t min_ready = 0;      // nodes kept ready; 0 or less: none
  std::int64_t max_ready_age = 0;  // seconds a node may stay ready and unused; 0 or less: no limit

  friend bool operator==(const Label&, const Label&) = default;
};

// An image to build, with the settings of its parents. Never an abstract entry.
struct DiskImage {
  std::string name = {};
  std::vector<std::string> elements = {};            // root's first, own last
  std::map<std::string, std::string> env_vars = {};  // may hold secrets
  std::set<std::string> formats = {};                // without the providers' formats
  std::set<std::string> keep_formats = {};           // kept on disk after the upload
  bool delete_after_upload = false;
  bool pause = false;
  std::string release = {};            // DIB_RELEASE; may be empty
  std::int64_t rebuild_age = 86400;    // seconds
  std::int64_t build_timeout = 28800;  // seconds
  std::string username = "zuul";
  std::string python_path = "auto";
  std::optional<std::string> shell_type = {};
  std::string builder = "diskimage-builder";  // or "command"
  std::string dib_cmd = "disk-image-create";
  std::string command = {};  // not empty for the builder "command"
  Value metadata = {};       // a mapping, or null; own only, never a parent's

  friend bool operator==(const DiskImage&, const DiskImage&) = default;
};

// A tenant's limits over all providers. A resource without an entry is unlimited.
struct TenantLimits {
  std::string name = {};
  // By resource: "instances", "cores", "ram" (MiB), and any other.
  std::map<std::string, std::int64_t> limits = {};

  friend bool operator==(const TenantLimits&, const TenantLimits&) = default;
};

// One provider. Its driver reads the remaining keys from `value` (Section, config/section.h).
struct ProviderSection {
  std::string name = {};
  std::string driver = {};                    // a key of DriverSchemas::schemas
  std::int64_t max_concurrency = -1;          // launches at a time; negative: unlimited, 0: none
  std::optional<std::int64_t> priority = {};  // lower is preferred
  Value value = {};                           // the whole mapping
  std::string file = {};                      // for errors
  std::string path = {};                      // for errors: "providers[0] (rack)"

  // Compares the content, not the position in the file.
  friend bool operator==(const ProviderSection& left, const ProviderSection& right) {
    return left.driver == right.driver && left.value == right.value;
  }
};

// The whole file, with the secure file applied.
struct Config {
  WebApp webapp = {};
  ApiSettings api = {};
  std::optional<std::string> elements_dir = {};
  std::optional<std::string> images_dir = {};
  std::string build_log_dir = "/var/log/nodepool/builds";
  std::int64_t build_log_retention = 7;  // old logs kept for each image; negative: all
  std::int64_t build_log_limit = 100;    // MiB, of one log
  std::vector<GearmanServer> gearman_servers = {};
  ZooKeeper zookeeper = {};
  StoreChoice store = {};
  HistorySettings history = {};
  std::optional<std::int64_t> max_hold_age = {};  // seconds; none: no limit
  std::optional<std::int64_t> max_lease = {};     // seconds; none: no limit
  std::int64_t pool_timeout = 120;  // seconds that a request waits for a departed pool
  std::map<std::string, Label> labels = {};
  std::map<std::string, DiskImage> diskimages = {};
  std::vector<ProviderSection> providers = {};  // in the order of the file; names are unique
  std::map<std::string, TenantLimits> tenant_limits = {};
};

// The names of all providers.
std::set<std::string> provider_names(const Config& config);
// The names of the disk images to build: all that are not paused.
std::set<std::string> images_to_build(const Config& config);

// The label or disk image that `key` of `section` names, for drivers that resolve their references:
//   const Label& label = find_label(config, node_section, "name", node_section.text("name"));
// Throw ConfigError, with a near match as a hint, if the top level does not define it.
const Label& find_label(const Config& config, const Section& section, std::string_view key,
                        std::string_view name);
const DiskImage& find_diskimage(const Config& config, const Section& section, std::string_view key,
                                std::string_view name);

}  // namespace nodepool::config
