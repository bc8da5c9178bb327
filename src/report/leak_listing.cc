#include "report/leak_listing.h"

#include "driver/ownership.h"
#include "model/node.h"

namespace nodepool::report {

namespace {

using driver::value_of;
using model::json_string;

std::string purpose_of(const driver::Metadata& metadata) {
  const std::string node = value_of(metadata, driver::kNodeIdKey);
  if (!node.empty()) return "node " + node;
  return "build " + value_of(metadata, driver::kBuildIdKey) + ", upload " +
         value_of(metadata, driver::kUploadIdKey);
}

}  // namespace

Table leak_columns() {
  return Table({{"provider", "Provider"},
                {"type", "Type"},
                {.key = "id", .header = "ID", .is_id = true},
                {"made_for", "Created For"},
                {"launcher", "Launcher"},
                {.key = "reason", .header = "Reason", .too_wide = TooWide::wrapped}});
}

void add_leak(Table& table, const std::string& provider, const driver::Leak& leak) {
  table.add({json_string(provider), json_string(leak.type), json_string(leak.id),
             json_string(purpose_of(leak.metadata)),
             json_string(leak.is_ours ? "deletes it" : "leaves it alone"),
             json_string(leak.reason)});
}

}  // namespace nodepool::report
