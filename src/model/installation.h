#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/random.h"
#include "coordination/store.h"

namespace nodepool::model {

inline constexpr std::string_view kInstallationPath = "/nodepool/installation";

// All that share a store, now and ever: machines and images that they make carry its id, so that
// they are told from those of others. Kept in the store:
//
//   {"id": "3f2a…", "first_node": 0}
struct Installation {
  std::string id;  // empty: the store has none yet
  // The number of the first node id that was given out with the installation's id. Nodes of lower
  // numbers were made by the Python Nodepool, or by releases without installation ids.
  std::int64_t first_node = 0;

  // Whether things that carry no installation's id may be its own: it was there before it had one.
  bool was_taken_over() const { return first_node > 0; }

  friend bool operator==(const Installation&, const Installation&) = default;
};

// The number of a node's id; nothing if it is no number.
std::optional<std::int64_t> node_number(std::string_view node_id);

// What the store says of its installation; one without id if it says nothing. Throws StoreError,
// RecordError.
coordination::Task<Installation> find_installation(coordination::Store& store);

// The same; a store that has none gets one. To be called before the first node is made. Throws
// StoreError, RecordError.
coordination::Task<Installation> establish_installation(coordination::Store& store,
                                                        async::Random& random);

// The same for a store that was another installation's until it was emptied: what carries no id is
// not its own, whoever has made nodes in it since.
coordination::Task<Installation> renew_installation(coordination::Store& store,
                                                    async::Random& random);

}  // namespace nodepool::model
