#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/random.h"
#include "coordination/store.h"

namespace nodepool::model {

inline constexpr std::string_view kInstallationPath = "/nodepool/installation";

// Identifies all components that share a store. Its id is the owner tag of their machines and
// images in clouds. The record in the store:
//
//   {"id": "3f2a…", "first_node": 0}
struct Installation {
  std::string id;  // empty: the store has none yet
  // The number of the first node that was created with the installation's id. Nodes with lower
  // numbers were created by the Python Nodepool, or by releases without installation ids.
  std::int64_t first_node = 0;

  // Whether resources without an owner tag may belong to it, as it had nodes before it had an id.
  bool was_taken_over() const { return first_node > 0; }

  friend bool operator==(const Installation&, const Installation&) = default;
};

// The number of a node id. Returns nothing if it is not a number.
std::optional<std::int64_t> node_number(std::string_view node_id);

// Reads the installation; without id if the store has none. Throws StoreError, RecordError.
coordination::Task<Installation> find_installation(coordination::Store& store);

// Reads the installation, or creates it. Call it before the first node is created. Throws
// StoreError, RecordError.
coordination::Task<Installation> establish_installation(coordination::Store& store,
                                                        async::Random& random);

// The same for a store that was emptied. The new installation does not own resources without an
// owner tag. Throws StoreError, RecordError.
coordination::Task<Installation> renew_installation(coordination::Store& store,
                                                    async::Random& random);

}  // namespace nodepool::model
