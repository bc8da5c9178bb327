#pragma once

#include <string>
#include <vector>

#include "installation/installation.h"
#include "json/json.h"
#include "requestor/error.h"

// The documents of the request API (docs/api.md). All functions throw RequestError if a document is
// invalid.
namespace nodepool::remote {

using installation::Installation;

requestor::RequestError invalid_response(const std::string& what);

// The text at the key; empty if there is none.
std::string text_at(const json::Json& object, const char* key);

// The number at the key.
double number_at(const json::Json& object, const char* key);

// A node's record. Of another client's node only id, provider and labels are known.
model::Node read_node(const json::Json& document);

// Nodes of other clients have only id, provider and labels.
requestor::LeasedNodes read_lease(const json::Json& document);

// The state of a lease request, and its lease if it is fulfilled.
Installation::Outcome read_outcome(const json::Json& document);

// A row of the history of `id`, in the form of report/history_listing.h.
history::JournalEntry read_entry(const json::Json& row, const std::string& id);

// The cells of each row, by the keys of the columns.
report::Table read_table(const std::vector<json::Json>& rows, std::vector<report::Column> columns);

report::Explanation read_explanation(const json::Json& document);

}  // namespace nodepool::remote
