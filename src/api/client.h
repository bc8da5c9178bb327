#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace nodepool::api {

// Who asks, and what that one may do.
struct Client {
  // Each may do what those before it may.
  enum class Scope {
    none,
    read,     // look at everything of its tenant
    request,  // ask for nodes, and do what it likes with its own
    admin,    // and with those of others
  };

  std::string name;  // of the token, or of the Unix user: what it asks for is owned by that
  Scope scope = Scope::none;
  std::string tenant = {};                    // empty: not tied to one
  std::optional<std::size_t> max_nodes = {};  // leased and asked for, at a time
  std::optional<std::chrono::seconds> max_lease = {};
  double rate = 20;  // calls a second, on the average

  friend bool operator==(const Client&, const Client&) = default;
};

std::string_view to_string(Client::Scope scope);

// A request, a lease, or a node, as far as rights are concerned.
struct Owned {
  std::string_view owner;   // empty: nobody of the API
  std::string_view tenant;  // empty: none
};

// Whether the client may know of it.
bool may_see(const Client& client, const Owned& thing);

// Whether it may release, renew or withdraw it, and read how to log in.
bool may_change(const Client& client, const Owned& thing);

}  // namespace nodepool::api
