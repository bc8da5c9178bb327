#pragma once

#include <string>

namespace nodepool::program {

struct HostNames {
  std::string short_name;  // as gethostname() says
  std::string fqdn;        // what its address is called; the same if that cannot be looked up
};

// Of this host. Looks the name up, which blocks.
HostNames host_names();

}  // namespace nodepool::program
