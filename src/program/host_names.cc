#include "program/host_names.h"

#include <netdb.h>
#include <unistd.h>

#include <array>

namespace nodepool::program {

HostNames host_names() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  HostNames names{name.data(), name.data()};
  addrinfo hints{};
  hints.ai_flags = AI_CANONNAME;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.data(), nullptr, &hints, &found) == 0) {
    if (found->ai_canonname != nullptr) names.fqdn = found->ai_canonname;
    ::freeaddrinfo(found);
  }
  return names;
}

}  // namespace nodepool::program
