#include "model/lease.h"

#include "coordination/tree.h"
#include "model/record_io.h"

namespace nodepool::model {

namespace {

using record_io::OrderedJson;

constexpr const char* kKey = "nodepool_lease";
constexpr const char* kHoldKey = "nodepool_hold";

std::string text_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::int64_t integer_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

std::string lease_contender(const std::string& lease_id) {
  return "lease " + lease_id;
}

async::Task<bool> is_contender_of_lease(coordination::Store& store, std::string path,
                                        std::string lease_id) {
  const std::optional<coordination::Entry> contender =
      co_await coordination::find(store, std::move(path));
  co_return contender && contender->data == lease_contender(lease_id);
}

std::optional<Lease> lease_of(const Node& node) {
  const std::optional<OrderedJson> found = record_io::object_at(node.user_data.text, kKey);
  if (!found) return std::nullopt;
  const auto id = found->find("id");
  const auto expires = found->find("expires");
  if (id == found->end() || !id->is_string()) return std::nullopt;
  if (expires == found->end() || !expires->is_number()) return std::nullopt;
  return Lease{id->get<std::string>(),     expires->get<double>(), text_at(*found, "holder"),
               text_at(*found, "owner"),   text_at(*found, "key"), text_at(*found, "label"),
               integer_at(*found, "index")};
}

Json lease_user_data(const Lease& lease) {
  OrderedJson content = OrderedJson::object();
  content["id"] = lease.id;
  content["expires"] = lease.expires;
  content["holder"] = lease.holder;
  if (!lease.label.empty()) {
    content["label"] = lease.label;
    content["index"] = lease.index;
  }
  if (!lease.owner.empty()) content["owner"] = lease.owner;
  if (!lease.key.empty()) content["key"] = lease.key;
  OrderedJson user_data = OrderedJson::object();
  user_data[kKey] = std::move(content);
  return {record_io::dump(user_data)};
}

std::optional<Hold> hold_of(const Node& node) {
  if (node.state != NodeState::hold) return std::nullopt;
  const std::optional<OrderedJson> found = record_io::object_at(node.user_data.text, kHoldKey);
  if (!found) return std::nullopt;
  Hold hold{text_at(*found, "owner"), text_at(*found, "lease")};
  return hold.owner.empty() ? std::nullopt : std::optional(std::move(hold));
}

Json hold_user_data(const Hold& hold) {
  OrderedJson content = OrderedJson::object();
  content["owner"] = hold.owner;
  content["lease"] = hold.lease;
  OrderedJson user_data = OrderedJson::object();
  user_data[kHoldKey] = std::move(content);
  return {record_io::dump(user_data)};
}

}  // namespace nodepool::model
