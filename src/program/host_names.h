#pragma once

#include <string>

namespace nodepool::program {

struct HostNames {
  std::string short_name;  // of gethostname()
  std::string fqdn;        // by a reverse lookup of its address; else the short name
};

// The names of this host. Blocks while the name is looked up.
HostNames host_names();

}  // namespace nodepool::program
