#include "web/host_names.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace nodepool::web {

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool is_same(std::string_view one, std::string_view other) {
  return std::ranges::equal(one, other, {}, lower, lower);
}

// Without the port, and the brackets of an IPv6 address.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool is_loopback(std::string_view name) {
  const bool is_ipv4 =
      name.starts_with("127.") && name.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_ipv4 || name == "::1" || is_same(name, "localhost");
}

}  // namespace

bool is_host_allowed(const Request& request, const ListenAddress& listen_address) {
  if (request.path == "/live" || request.path == "/ready") return true;
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  if (is_read && listen_address.public_paths.contains(request.path)) return true;
  const std::string* host = request.header("host");
  if (host == nullptr) return true;
  const std::string_view name = name_of(*host);
  return is_loopback(name) || is_same(name, listen_address.host) ||
         std::ranges::any_of(listen_address.names,
                             [name](const auto& known) { return is_same(name, known); });
}

}  // namespace nodepool::web
