#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/environment.h"
#include "drivers/openstack/clouds/cloud.h"

namespace nodepool::drivers::openstack {

// A cloud that is not configured, or not so that it could be used. No secrets in its text.
class CloudsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The description of the cloud `name` in `region` (nothing: as the files say), from clouds.yaml,
// secure.yaml, clouds-public.yaml and OS_* variables of `environment`, in the places and with the
// precedence of openstacksdk. No name: OS_CLOUD, else the one that the OS_* variables describe,
// else the only one in the file. Reads the files anew each time. Throws config::ConfigError for a
// file that cannot be parsed, CloudsError.
Cloud find_cloud(const std::optional<std::string>& name, const std::optional<std::string>& region,
                 const config::Environment& environment);

// Where clouds.yaml is looked for, in order; the first that exists counts.
std::vector<std::string> cloud_file_paths(const config::Environment& environment);

// All files that find_cloud() may read, whether or not they exist.
std::set<std::string> all_cloud_files(const config::Environment& environment);

}  // namespace nodepool::drivers::openstack
