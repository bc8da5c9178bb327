#include "program/host_names.h"

#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <vector>

namespace nodepool::program {

namespace {

constexpr std::size_t kBufferSize = 16384;

// The first name of an address that has a dot, else its first name; `otherwise` if it has no name.
// Reference: Python's socket.getfqdn(), whose result is in records and metrics.
std::string name_of(const addrinfo& address, std::string otherwise) {
  const void* number = &reinterpret_cast<const sockaddr_in*>(address.ai_addr)->sin_addr;
  socklen_t size = sizeof(in_addr);
  if (address.ai_family == AF_INET6) {
    number = &reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr;
    size = sizeof(in6_addr);
  }
  std::vector<char> buffer(kBufferSize);
  hostent entry{};
  hostent* found = nullptr;
  int error = 0;
  const int failed = ::gethostbyaddr_r(number, size, address.ai_family, &entry, buffer.data(),
                                       buffer.size(), &found, &error);
  if (failed != 0 || found == nullptr) return otherwise;
  if (std::string_view(found->h_name).contains('.')) return found->h_name;
  for (char** alias = found->h_aliases; *alias != nullptr; ++alias) {
    if (std::string_view(*alias).contains('.')) return *alias;
  }
  return found->h_name;
}

}  // namespace

HostNames host_names() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  HostNames names{name.data(), name.data()};
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.data(), nullptr, &hints, &found) == 0) {
    names.fqdn = name_of(*found, names.fqdn);
    ::freeaddrinfo(found);
  }
  return names;
}

}  // namespace nodepool::program
