#include "remote/documents.h"

#include <utility>

namespace nodepool::remote {

using json::Json;
using requestor::RequestError;

namespace {

Installation::Progress read_progress(const Json& document) {
  Installation::Progress progress{.id = text_at(document, "id"),
                                  .shortage = text_at(document, "shortage")};
  const auto state = model::parse_request_state(text_at(document, "state"));
  if (!state) throw invalid_response("no state");
  progress.state = *state;
  const auto position = document.find("position");
  if (position != document.end() && position->is_number_unsigned()) {
    progress.position = position->get<std::size_t>();
  }
  const auto declined = document.find("declined");
  if (declined != document.end() && declined->is_array()) {
    for (const Json& item : *declined) {
      progress.declined.emplace_back(text_at(item, "pool"), text_at(item, "reason"));
    }
  }
  return progress;
}

report::Statements read_statements(const Json& list) {
  report::Statements statements;
  for (const Json& item : list) {
    report::Statement statement{
        .key = text_at(item, "key"), .name = text_at(item, "name"), .text = text_at(item, "text")};
    const auto details = item.find("details");
    if (details != item.end()) statement.details = read_statements(*details);
    statements.push_back(std::move(statement));
  }
  return statements;
}

}  // namespace

RequestError invalid_response(const std::string& what) {
  return RequestError("the API's response is invalid: " + what);
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

double number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number())
    throw invalid_response(std::string("no ") + key);
  return found->get<double>();
}

model::Node read_node(const Json& document) {
  if (document.contains("type")) {
    Json record = document;
    record.erase("label");  // the API's own, beside the record's keys
    try {
      return model::parse_node(text_at(document, "id"), {record.dump(), {}});
    } catch (const model::RecordError& error) {
      throw invalid_response(error.what());
    }
  }
  model::Node node;
  node.id = text_at(document, "id");
  node.provider = text_at(document, "provider");
  const auto labels = document.find("label");
  if (labels != document.end() && labels->is_array()) {
    node.type = labels->get<std::vector<std::string>>();
  }
  return node;
}

requestor::LeasedNodes read_lease(const Json& document) {
  requestor::LeasedNodes leased;
  leased.lease.id = text_at(document, "id");
  leased.lease.holder = text_at(document, "holder");
  leased.lease.owner = text_at(document, "owner");
  try {
    leased.lease.expires = document.at("expires").get<double>();
    for (const Json& node : document.at("nodes")) leased.nodes.push_back(read_node(node));
  } catch (const Json::exception& error) {
    throw invalid_response(error.what());
  }
  return leased;
}

Installation::Outcome read_outcome(const Json& document) {
  Installation::Outcome outcome{.progress = read_progress(document)};
  const auto lease = document.find("lease");
  if (lease != document.end() && lease->is_object()) outcome.leased = read_lease(*lease);
  return outcome;
}

history::JournalEntry read_entry(const Json& row, const std::string& id) {
  history::JournalEntry entry;
  const auto time = row.find("time");
  if (time != row.end() && time->is_number()) entry.time = time->get<double>();
  const auto request = row.find("request");
  const auto nodes = row.find("nodes");
  const bool is_node = request != row.end();
  entry.subject =
      is_node ? history::JournalEntry::Subject::node : history::JournalEntry::Subject::request;
  entry.id = id;
  entry.event = text_at(row, "event");
  entry.details = text_at(row, "details");
  if (is_node && request->is_string()) entry.related = {request->get<std::string>()};
  if (nodes != row.end() && nodes->is_array()) {
    for (const Json& node : *nodes) {
      if (node.is_string()) entry.related.push_back(node.get<std::string>());
    }
  }
  const auto data = row.find("data");
  if (data != row.end() && !data->is_null())
    entry.facts = history::facts_of(entry.event, data->dump());
  return entry;
}

report::Table read_table(const std::vector<Json>& rows, std::vector<report::Column> columns) {
  report::Table table(std::move(columns));
  for (const Json& item : rows) {
    report::Row row;
    for (const report::Column& column : table.columns()) {
      const auto found = item.find(column.key);
      row.emplace_back(model::Json{found == item.end() ? "null" : found->dump()});
    }
    table.add(std::move(row));
  }
  return table;
}

report::Explanation read_explanation(const Json& document) {
  report::Explanation explanation;
  const auto statements = document.find("statements");
  if (statements == document.end()) throw invalid_response("no statements");
  explanation.statements = read_statements(*statements);
  const auto others = document.find("others");
  if (others != document.end()) {
    for (const Json& other : *others) explanation.others.push_back(read_explanation(other));
  }
  const auto omitted = document.find("omitted");
  if (omitted != document.end() && omitted->is_number_unsigned()) {
    explanation.omitted = omitted->get<std::size_t>();
  }
  return explanation;
}

}  // namespace nodepool::remote
