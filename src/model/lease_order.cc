#include "model/lease_order.h"

#include "model/record_io.h"

namespace nodepool::model {

namespace {

using record_io::OrderedJson;

constexpr const char* kOrderKey = "nodepool_order";

bool read_text(const OrderedJson& object, const char* key, std::string& value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return false;
  value = found->get<std::string>();
  return true;
}

bool read_number(const OrderedJson& object, const char* key, double& value) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return false;
  value = found->get<double>();
  return true;
}

}  // namespace

std::optional<LeaseOrder> lease_order_of(const NodeRequest& request) {
  if (!request.requestor_data.text.contains(kOrderKey)) return std::nullopt;  // most
  const OrderedJson data = OrderedJson::parse(request.requestor_data.text);
  if (!data.is_object()) return std::nullopt;
  const auto found = data.find(kOrderKey);
  if (found == data.end() || !found->is_object()) return std::nullopt;
  LeaseOrder order;
  const bool is_complete = read_text(*found, "owner", order.owner) &&
                           read_number(*found, "lease", order.lease) &&
                           read_number(*found, "expires", order.expires);
  if (!is_complete) return std::nullopt;
  read_text(*found, "holder", order.holder);
  read_text(*found, "key", order.key);
  return order;
}

Json lease_order_data(const LeaseOrder& order) {
  OrderedJson content = OrderedJson::object();
  content["owner"] = order.owner;
  content["holder"] = order.holder;
  content["lease"] = order.lease;
  content["expires"] = order.expires;
  if (!order.key.empty()) content["key"] = order.key;
  OrderedJson data = OrderedJson::object();
  data[kOrderKey] = std::move(content);
  return {record_io::dump(data)};
}

}  // namespace nodepool::model
