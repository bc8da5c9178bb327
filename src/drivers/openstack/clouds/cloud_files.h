#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/environment.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// A cloud's configuration is missing or invalid. The text contains no secrets.
class CloudsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads the cloud `name` in `region` (nothing: as configured) from clouds.yaml, secure.yaml,
// clouds-public.yaml and the OS_* variables of `environment`, with the paths and the precedence of
// openstacksdk, and from public_clouds(). Without a name: OS_CLOUD, else the cloud of the OS_*
// variables, else the only one in the file. Reads the files each time. Throws CloudsError, and
// config::ConfigError for a file that cannot be parsed.
Cloud find_cloud(const std::optional<std::string>& name, const std::optional<std::string>& region,
                 const config::Environment& environment);

// The paths of clouds.yaml in search order; the first existing file is used.
std::vector<std::string> cloud_file_paths(const config::Environment& environment);

// All files that find_cloud() may read, whether or not they exist.
std::set<std::string> all_cloud_files(const config::Environment& environment);

}  // namespace nodepool::drivers::openstack
