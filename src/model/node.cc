#include "model/node.h"

#include <algorithm>
#include <charconv>

#include "model/record_io.h"

namespace nodepool::model {

namespace {

using record_io::OrderedJson;
using record_io::Reader;
using record_io::Writer;

// The keys between `type` and `connection_port`, and those after `ssh_port`, in the record's order.
// One list serves reading and writing.
template <typename NodeType, typename Fields>
void fields_before_port(NodeType& node, Fields& fields) {
  fields.field("allocated_to", node.allocated_to);
  fields.field("az", node.az);
  fields.note("region", node.region);
  fields.field("public_ipv4", node.public_ipv4);
  fields.field("private_ipv4", node.private_ipv4);
  fields.field("public_ipv6", node.public_ipv6);
  fields.note("host_id", node.host_id);
  fields.field("interface_ip", node.interface_ip);
}

template <typename NodeType, typename Fields>
void fields_after_port(NodeType& node, Fields& fields) {
  fields.field("image_id", node.image_id);
  fields.field("launcher", node.launcher);
  fields.field("created_time", node.created_time);
  fields.field("external_id", node.external_id);
  fields.field("hostname", node.hostname);
  fields.note("comment", node.comment);
  fields.field("user_data", node.user_data);
  fields.note("hold_job", node.hold_job);
  fields.field("host_keys", node.host_keys);
  fields.field("username", node.username);
  fields.field("connection_type", node.connection_type);
  fields.note("shell_type", node.shell_type);
}

template <typename NodeType, typename Fields>
void fields_after_hold_expiration(NodeType& node, Fields& fields) {
  fields.field("resources", node.resources);
  fields.field("slot", node.slot);
  fields.field("attributes", node.attributes);
  fields.note("python_path", node.python_path);
  fields.field("tenant_name", node.tenant_name);
  fields.field("driver_data", node.driver_data);
  fields.note("requestor", node.requestor);
  fields.field("node_properties", node.node_properties);
}

// Old records hold a bare string.
std::vector<std::string> read_labels(Reader& reader) {
  const OrderedJson value = reader.take("type");
  if (value.is_null()) return {};
  if (value.is_string()) return {value.get<std::string>()};
  std::vector<std::string> labels;
  if (value.is_array()) {
    for (const OrderedJson& label : value) {
      if (!label.is_string()) throw RecordError("'type' must be a list of strings");
      labels.push_back(label.get<std::string>());
    }
    return labels;
  }
  throw RecordError("'type' must be a list");
}

// A requestor may write a number or a numeric string. Any other string means no expiry (0).
std::optional<std::int64_t> read_hold_expiration(Reader& reader) {
  const OrderedJson value = reader.take("hold_expiration");
  if (value.is_null()) return std::nullopt;
  if (value.is_number()) return value.get<std::int64_t>();
  std::int64_t seconds = 0;
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc() || end != text.data() + text.size()) seconds = 0;
  }
  return seconds;
}

}  // namespace

std::string_view to_string(NodeState state) {
  switch (state) {
    case NodeState::init:
      return "init";
    case NodeState::building:
      return "building";
    case NodeState::testing:
      return "testing";
    case NodeState::ready:
      return "ready";
    case NodeState::in_use:
      return "in-use";
    case NodeState::used:
      return "used";
    case NodeState::hold:
      return "hold";
    case NodeState::failed:
      return "failed";
    case NodeState::aborted:
      return "aborted";
    case NodeState::deleting:
      return "deleting";
    case NodeState::deleted:
      return "deleted";
  }
  return "";
}

std::optional<NodeState> parse_node_state(std::string_view text) {
  for (const NodeState state : kAllNodeStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

bool is_reclaimable(NodeState state) {
  switch (state) {
    case NodeState::used:
    case NodeState::in_use:
    case NodeState::building:
    case NodeState::failed:
    case NodeState::aborted:
    case NodeState::deleting:
    case NodeState::deleted:
      return true;
    case NodeState::init:
    case NodeState::testing:
    case NodeState::ready:
    case NodeState::hold:
      return false;
  }
  return false;
}

bool is_discarded(NodeState state) {
  return is_reclaimable(state) && state != NodeState::building && state != NodeState::in_use;
}

bool Node::has_label(std::string_view label) const {
  return std::ranges::find(type, label) != type.end();
}

std::string Node::external_id_text() const {
  if (external_id.is_null()) return {};
  const std::string text = external_id.string_value();
  return text.empty() ? external_id.text : text;
}

std::optional<int> Node::port() const {
  int number = 0;
  const std::string& text = connection_port.text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

namespace {

// `instead`: of a state that is unknown; nothing: such a record is invalid.
Node parse_node_with(std::string id, const coordination::Entry& entry,
                     std::optional<NodeState> instead) {
  Reader reader(entry.data);
  Node node;
  node.id = std::move(id);
  node.stat = entry.stat;
  std::string state;
  reader.field("state", state);
  const std::optional<NodeState> known_state = parse_node_state(state);
  if (!known_state && !instead) throw RecordError("unknown node state '" + state + "'");
  node.state = known_state ? *known_state : *instead;
  reader.field("state_time", node.state_time);
  reader.note("cloud", node.cloud);
  reader.field("provider", node.provider);
  reader.field("pool", node.pool);
  node.type = read_labels(reader);
  fields_before_port(node, reader);
  reader.field("ssh_port", node.connection_port);
  reader.field("connection_port", node.connection_port);
  fields_after_port(node, reader);
  node.hold_expiration = read_hold_expiration(reader);
  fields_after_hold_expiration(node, reader);
  reader.field("launch_journal", node.launch_journal);
  reader.take("id");  // Zuul adds it
  node.unknown = reader.rest();
  return node;
}

}  // namespace

Node parse_node(std::string id, const coordination::Entry& entry) {
  return parse_node_with(std::move(id), entry, std::nullopt);
}

Node parse_node_in_any_state(std::string id, const coordination::Entry& entry) {
  return parse_node_with(std::move(id), entry, NodeState::deleting);
}

std::string to_record(const Node& node) {
  Writer writer(node.unknown);
  writer.field("state", std::string(to_string(node.state)));
  writer.field("state_time", node.state_time);
  writer.note("cloud", node.cloud);
  writer.field("provider", node.provider);
  writer.field("pool", node.pool);
  writer.field("type", node.type);
  fields_before_port(node, writer);
  writer.field("connection_port", node.connection_port);
  writer.field("ssh_port", node.connection_port);  // for old readers
  fields_after_port(node, writer);
  writer.field("hold_expiration", node.hold_expiration);
  fields_after_hold_expiration(node, writer);
  if (!node.launch_journal.is_null()) writer.field("launch_journal", node.launch_journal);
  return writer.text();
}

Json json_string(std::string_view text) {
  // Fast path for strings without escapes.
  const bool is_plain = std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
  if (is_plain) return {std::string("\"").append(text).append("\"")};
  return {record_io::dump(OrderedJson(text))};
}

}  // namespace nodepool::model
