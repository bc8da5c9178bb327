#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::api {

// A caller, and what it may do.
struct Client {
  // Each may do what those before it may.
  enum class Scope {
    none,
    read,     // look at everything of its tenant
    request,  // ask for nodes; renew, hold and release its own
    admin,    // those of others, too
  };

  std::string name;  // of the token or the Unix user; the owner of what it asks for
  Scope scope = Scope::none;
  std::string tenant = {};                    // the only one that it knows of; empty: it knows all
  bool may_name_tenants = false;              // asks for nodes in the name of any tenant
  std::vector<std::string> labels = {};       // that it may ask for; empty: all
  std::vector<std::string> priorities = {};   // that its requests may have; empty: all
  std::optional<std::size_t> max_nodes = {};  // leased and asked for, at a time
  std::optional<std::chrono::seconds> max_lease = {};
  double rate = 20;  // calls a second, on the average

  friend bool operator==(const Client&, const Client&) = default;
};

std::string_view to_string(Client::Scope scope);

// A request, a lease, or a node, as far as rights are concerned.
struct Owned {
  std::string owner;   // a client's name; empty: it does not belong to a client of the API
  std::string tenant;  // empty: none
};

// Whether the client may know of it.
bool may_see(const Client& client, const Owned& thing);

// Whether it may release, renew or withdraw it, and read how to log in.
bool may_change(const Client& client, const Owned& thing);

}  // namespace nodepool::api
