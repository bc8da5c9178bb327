#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/explanation/hosts.h"
#include "cli/listing/image_listings.h"
#include "cli/listing/listings.h"

namespace nodepool::cli {

namespace {

void print(Session& session, const Table& table, bool json) {
  session.context().out << (json ? table.json() : table.text()) << '\n';
}

}  // namespace

Task<int> perform(Session& session, ListNodes command) {
  // A JSON record always has all that is known.
  const Detail detail = command.detail || command.json ? Detail::full : Detail::brief;
  const model::NodeTable* nodes = co_await session.nodes();
  print(session, node_listing(*nodes, session.now(), detail), command.json);
  // There is no record of a node that such a host stands for.
  const std::vector<model::HostReport> hosts = co_await model::read_host_reports(session.store());
  const std::string missing = hosts_out_of_order(hosts);
  if (!missing.empty()) session.context().err << "nodepool: " << missing << '\n';
  co_return 0;
}

Task<int> perform(Session& session, ListRequests command) {
  const model::RequestTable* requests = co_await session.requests();
  print(session, request_listing(*requests), command.json);
  co_return 0;
}

Task<int> perform(Session& session, ListLabels command) {
  const model::ComponentTable* components = co_await session.components();
  const model::NodeTable* nodes = co_await session.nodes();
  print(session, label_listing(components->pools(), *nodes), command.json);
  co_return 0;
}

Task<int> perform(Session& session, ListBuilds command) {
  const model::ImageTable* images = co_await session.images();
  const Table table = command.detail
                          ? build_details(*images, session.now(), session.config().build_log_dir)
                          : build_listing(*images, session.now());
  print(session, table, command.json);
  co_return 0;
}

Task<int> perform(Session& session, ListUploads command) {
  const model::ImageTable* images = co_await session.images();
  const Table table = command.detail ? upload_details(*images, session.now())
                                     : upload_listing(*images, session.now());
  print(session, table, command.json);
  co_return 0;
}

Task<int> perform(Session& session, ImageStatus command) {
  const model::ImageTable* images = co_await session.images();
  print(session, image_status_listing(*images, session.now()), command.json);
  co_return 0;
}

Task<int> perform(Session& session, ProviderInfo command) {
  const model::ImageTable* images = co_await session.images();
  const model::NodeTable* nodes = co_await session.nodes();
  std::ostream& out = session.context().out;
  if (command.json) {
    out << "{\"images\": " << provider_upload_listing(*images, command.provider).json()
        << ", \"nodes\": " << server_listing(*nodes, command.provider, {}).json() << "}\n";
    co_return 0;
  }
  out << "ZooKeeper data for provider " << command.provider << "\n\nImage data:\n";
  print(session, provider_upload_listing(*images, command.provider), /*json=*/false);
  out << "\nNodes:\n";
  print(session, server_listing(*nodes, command.provider, model::json_string("None")),
        /*json=*/false);
  co_return 0;
}

}  // namespace nodepool::cli
