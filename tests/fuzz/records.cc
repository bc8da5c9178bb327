// The records of the store: what any client of ZooKeeper may have written.

#include "driver/backing.h"
#include "driver/cloud_error.h"
#include "driver/resources.h"
#include "driver/statemachine/launch_journal.h"
#include "drivers/metastatic/backing_record.h"
#include "drivers/openstack/external_id.h"
#include "model/component.h"
#include "model/host_report.h"
#include "model/image_build.h"
#include "model/image_upload.h"
#include "model/lease.h"
#include "model/lease_request.h"
#include "model/node.h"
#include "model/node_request.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {
namespace {

constexpr const char* kId = "0000000001";

// What is read and written again can be read again, and says the same.
template <typename Parse>
void try_record(std::string_view input, Parse parse) {
  coordination::Entry entry;
  entry.data = input;
  try {
    entry.data = to_record(parse(entry));
  } catch (const model::RecordError&) {
    return;
  }
  require(to_record(parse(entry)) == entry.data, "a record that was written can be read");
}

void try_backing(model::Node node) {
  namespace metastatic = drivers::metastatic;
  driver::backing_node_of(node);
  const auto place = metastatic::slot_of(node);
  if (place) {
    require(metastatic::parse_slot(to_string(*place)) == place || place->slot < 0 ||
                place->backing_node.contains(':'),
            "a place has a name");
  }
  const std::string owner = metastatic::owner_of("shares");
  const auto record = metastatic::backing_record_of(node, owner);
  if (!record) return;
  metastatic::free_slot(*record, {});
  node.user_data = metastatic::to_user_data(*record);
  require(metastatic::backing_record_of(node, owner) == record, "what was written can be read");
}

void try_parts_of(const model::Node& node) {
  try_backing(node);
  model::lease_of(node);
  model::hold_of(node);
  node.port();
  driver::Resources::parse(node.resources);
  try {
    driver::LaunchJournal::parse(node.launch_journal).to_json();
  } catch (const model::RecordError&) {
  }
  try {
    drivers::openstack::server_id_of(node.external_id);
  } catch (const driver::CloudError&) {
  }
}

}  // namespace

void read(std::string_view input) {
  using Kind = model::Component::Kind;
  try_record(input, [](const auto& entry) {
    model::Node node = model::parse_node(kId, entry);
    try_parts_of(node);
    return node;
  });
  try_record(input, [](const auto& entry) {
    model::NodeRequest request = model::parse_node_request(kId, entry);
    driver::backing_purpose_of(request);
    model::lease_request_of(request);
    return request;
  });
  try_record(input, [](const auto& entry) { return model::parse_image_build("i", kId, entry); });
  try_record(input, [](const auto& entry) {
    return model::parse_image_upload("i", "b", "p", kId, entry);
  });
  try_record(input, [](const auto& entry) { return model::parse_host_report(entry); });
  for (const Kind kind : {Kind::pool, Kind::launcher, Kind::builder}) {
    try_record(input, [kind](const auto& entry) { return model::parse_component(kind, entry); });
  }
}

}  // namespace nodepool::fuzz
