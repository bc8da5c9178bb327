#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "coordination/store.h"
#include "model/record.h"

namespace nodepool::model {

enum class RequestState {
  requested,  // waiting for a launcher
  pending,    // being served by a launcher
  fulfilled,  // final: the nodes are in `nodes`
  failed,     // final: every pool has declined it
};

std::string_view to_string(RequestState state);
std::optional<RequestState> parse_request_state(std::string_view text);

inline constexpr RequestState kAllRequestStates[] = {RequestState::requested, RequestState::pending,
                                                     RequestState::fulfilled, RequestState::failed};

// A request for nodes: /nodepool/requests/<priority>-<sequence>. Field names are the record's
// keys. Times are seconds since the epoch.
struct NodeRequest {
  std::string id;           // "<3 characters>-<10 digits>"; not part of the record
  coordination::Stat stat;  // of the last known version of the record; not part of it

  RequestState state = RequestState::requested;
  double state_time = 0;
  std::vector<std::string> declined_by;  // pool component ids
  std::vector<std::string> node_types;   // labels, one for each requested node, in order
  std::vector<std::string> nodes;        // node ids, by position in node_types; once fulfilled
  bool reuse = true;                     // false: requires new nodes
  std::optional<std::string> requestor;
  Json requestor_data;
  std::optional<std::string> provider;  // preferred provider
  std::int64_t relative_priority = 0;   // lower is first within one priority
  std::optional<std::string> event_id;  // for logs
  std::optional<double> created_time;
  std::optional<std::string> tenant_name;
  // Pool id -> why it declined. Not known to the Python Nodepool, absent from the record if empty.
  std::map<std::string, std::string> decline_reasons;
  UnknownKeys unknown;

  void set_state(RequestState new_state, double now) {
    state = new_state;
    state_time = now;
  }

  bool declined(std::string_view pool_id) const;

  // Requests are served in ascending order of this: priority, relative priority, sequence.
  using ServiceKey = std::tuple<std::string, std::int64_t, std::string>;
  ServiceKey service_key() const;
};

// Parses the record of request `id`. Throws RecordError, also for an id without exactly one '-'.
NodeRequest parse_node_request(std::string id, const coordination::Entry& entry);

// The record's text: every known key, nulls included, then the unknown ones.
std::string to_record(const NodeRequest& request);

}  // namespace nodepool::model
