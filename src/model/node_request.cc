#include "model/node_request.h"

#include <algorithm>

#include "model/record_io.h"

namespace nodepool::model {

namespace {

template <typename RequestType, typename Fields>
void request_fields(RequestType& request, Fields& fields) {
  fields.field("state_time", request.state_time);
  fields.field("declined_by", request.declined_by);
  fields.field("node_types", request.node_types);
  fields.field("nodes", request.nodes);
  fields.field("reuse", request.reuse);
  fields.note("requestor", request.requestor);
  fields.field("requestor_data", request.requestor_data);
  fields.field("provider", request.provider);
  fields.field("relative_priority", request.relative_priority);
  fields.note("event_id", request.event_id);
  fields.note("created_time", request.created_time);
  fields.field("tenant_name", request.tenant_name);
}

}  // namespace

std::string_view to_string(RequestState state) {
  switch (state) {
    case RequestState::requested:
      return "requested";
    case RequestState::pending:
      return "pending";
    case RequestState::fulfilled:
      return "fulfilled";
    case RequestState::failed:
      return "failed";
  }
  return "";
}

std::optional<RequestState> parse_request_state(std::string_view text) {
  for (const RequestState state : kAllRequestStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

bool NodeRequest::declined(std::string_view pool_id) const {
  return std::ranges::find(declined_by, pool_id) != declined_by.end();
}

NodeRequest::ServiceKey NodeRequest::service_key() const {
  const std::size_t dash = id.find('-');
  return {id.substr(0, dash), relative_priority, id.substr(dash + 1)};
}

NodeRequest parse_node_request(std::string id, const coordination::Entry& entry) {
  if (std::ranges::count(id, '-') != 1) throw RecordError("a request id must have exactly one '-'");
  record_io::Reader reader(entry.data);
  NodeRequest request;
  request.id = std::move(id);
  request.stat = entry.stat;
  std::string state;
  reader.field("state", state);
  const std::optional<RequestState> known_state = parse_request_state(state);
  if (!known_state) throw RecordError("unknown request state '" + state + "'");
  request.state = *known_state;
  request_fields(request, reader);
  reader.field("decline_reasons", request.decline_reasons);
  request.unknown = reader.rest();
  return request;
}

std::string to_record(const NodeRequest& request) {
  record_io::Writer writer(request.unknown);
  writer.field("state", std::string(to_string(request.state)));
  request_fields(request, writer);
  if (!request.decline_reasons.empty()) {
    writer.field("decline_reasons", request.decline_reasons);
  }
  return writer.text();
}

}  // namespace nodepool::model
