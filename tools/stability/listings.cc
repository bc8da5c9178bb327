#include "report/listings.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "async/clock.h"
#include "async/event_loop.h"
#include "async/random.h"
#include "async/runtime.h"
#include "cli/lease_text.h"
#include "coordination/memory/memory_server.h"
#include "coordination/memory/memory_store.h"
#include "model/records.h"
#include "names.h"
#include "report/explanation/statement.h"
#include "report/history_listing.h"
#include "report/image_listings.h"
#include "report/leak_listing.h"
#include "report/lease_listing.h"
#include "report/rendering/explanation_text.h"
#include "report/status.h"
#include "telemetry/log.h"

namespace nodepool::stability {

namespace {

// `prefix`: "list: ".
void add(Names& names, std::string_view prefix, const report::Table& table) {
  for (const report::Column& column : table.columns()) {
    names.push_back(fmt::format("{}{}", prefix, column.key));
  }
}

void add_history(Names& names, history::JournalEntry::Subject subject, std::string_view prefix) {
  history::JournalEntry entry;
  entry.subject = subject;
  add(names, prefix, report::history_listing({entry}));
}

void add_status(Names& names, const model::Records& records) {
  names.emplace_back("status: status");
  using Level = report::StatusLevel;
  for (const Level level : {Level::fine, Level::attention, Level::critical}) {
    names.push_back(fmt::format("status: status: {}", report::to_string(level)));
  }
  const report::Status status = report::status_of({.nodes = records.nodes,
                                                   .requests = records.requests,
                                                   .components = records.components,
                                                   .images = records.images,
                                                   .hosts = {},
                                                   .store = {},
                                                   .providers = {},
                                                   .diskimages = {}});
  for (const report::StatusSection& section : status.sections) {
    names.push_back("status: " + section.key);
    add(names, fmt::format("status: {}[].", section.key), section.table);
  }
}

// What `request` and `explain` print.
void add_objects(Names& names) {
  add_members(names, "request: ", cli::lease_json({.lease = {}, .nodes = {model::Node()}}, {"x"}));
  report::Explanation explanation;
  report::say(explanation.statements, "x", "x").name = "x";
  add_members(names, "explain: ", report::explanation_json(explanation));
}

void add_listings(Names& names, const model::Records& records) {
  add(names, "list: ", report::node_columns(report::Detail::wide));
  add(names, "request-list: ", report::request_columns());
  add(names, "label-list: ", report::label_columns());
  add(names, "dib-image-list: ", report::build_details(records.images, 0, ""));
  add(names, "image-list: ", report::upload_details(records.images, 0));
  add(names, "image-status: ", report::image_status_listing(records.images, 0));
  names.insert(names.end(), {"info: images", "info: nodes"});
  add(names, "info: images[].", report::provider_upload_listing(records.images, ""));
  add(names, "info: nodes[].", report::server_listing(records.nodes, ""));
  add(names, "alien-image-list: ", report::alien_image_columns());
  add(names, "lease-list: ", report::lease_columns());
  add(names, "leak-list: ", report::leak_columns());
  add_history(names, history::JournalEntry::Subject::node, "history of a node: ");
  add_history(names, history::JournalEntry::Subject::request, "history of a request: ");
}

}  // namespace

Names listing_names() {
  async::EventLoop loop;
  async::SystemClock clock;
  async::Random random(0);
  const async::Runtime runtime{loop.executor(), clock, random};
  coordination::MemoryServer server;
  coordination::MemoryStore store(server, runtime);
  const telemetry::Logger silent(
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {},
                                  telemetry::LogLevel::error),
      "");
  const model::Records records(runtime, store, silent);
  Names names;
  add_listings(names, records);
  add_status(names, records);
  add_objects(names);
  return names;
}

}  // namespace nodepool::stability
