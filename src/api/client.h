#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::api {

// A client of the API, and its rights.
struct Client {
  // Each includes the ones before it.
  enum class Scope {
    none,
    read,     // read the records of its tenant
    request,  // request nodes; renew, hold and release its own
    admin,    // also those of other clients; hold and delete any node; build and pause images
  };

  std::string name;  // of the token or the Unix user; the owner of its requests and leases
  Scope scope = Scope::none;
  std::string tenant = {};                    // the only one whose records it may read; empty: all
  bool may_name_tenants = false;              // may request nodes for any tenant
  std::vector<std::string> labels = {};       // that it may request; empty: all
  std::vector<std::string> priorities = {};   // that its requests may have; empty: all
  std::optional<std::size_t> max_nodes = {};  // leased, held and requested, at a time
  std::optional<std::chrono::seconds> max_lease = {};
  double rate = 20;  // calls a second, on average

  friend bool operator==(const Client&, const Client&) = default;
};

std::string_view to_string(Client::Scope scope);

// The owner of a request, a lease or a node, for the access check.
struct Owned {
  std::string owner;   // a client's name; empty: not owned by a client of the API
  std::string tenant;  // empty: none
};

// Whether the client may read it.
bool may_see(const Client& client, const Owned& record);

// Whether the client may release, renew or withdraw it, and read its login data.
bool may_change(const Client& client, const Owned& record);

}  // namespace nodepool::api
