#include <algorithm>
#include <ostream>

#include "cli/commands.h"
#include "cli/rendering/table_text.h"
#include "report/explanation/hosts.h"
#include "report/image_listings.h"
#include "report/listings.h"

namespace nodepool::cli {

namespace {

using report::Detail;
using report::Table;

void print(Session& session, const Table& table, Format format) {
  session.context().out << table_as(format, table) << '\n';
}

}  // namespace

Task<int> perform(Session& session, ListNodes command) {
  // What programs read always has all that is known.
  const bool is_full = command.detail || command.format != Format::text;
  const model::NodeTable* nodes = co_await session.nodes();
  print(session,
        report::node_listing(*nodes, session.now(), is_full ? Detail::full : Detail::brief),
        command.format);
  // There is no record of a node that such a host stands for.
  const std::vector<model::HostReport> hosts = co_await model::read_host_reports(session.store());
  const std::string missing = report::hosts_out_of_order(hosts);
  if (!missing.empty()) session.context().err << "nodepool: " << missing << '\n';
  co_return 0;
}

Task<int> perform(Session& session, ListRequests command) {
  const model::RequestTable* requests = co_await session.requests();
  print(session, report::request_listing(*requests), command.format);
  co_return 0;
}

Task<int> perform(Session& session, ListLabels command) {
  const model::ComponentTable* components = co_await session.components();
  const model::NodeTable* nodes = co_await session.nodes();
  print(session, report::label_listing(components->pools(), *nodes), command.format);
  co_return 0;
}

Task<int> perform(Session& session, ListBuilds command) {
  const model::ImageTable* images = co_await session.images();
  const Table table =
      command.detail ? report::build_details(*images, session.now(), session.config().build_log_dir)
                     : report::build_listing(*images, session.now());
  print(session, table, command.format);
  co_return 0;
}

Task<int> perform(Session& session, ListUploads command) {
  const model::ImageTable* images = co_await session.images();
  const Table table = command.detail ? report::upload_details(*images, session.now())
                                     : report::upload_listing(*images, session.now());
  print(session, table, command.format);
  co_return 0;
}

Task<int> perform(Session& session, ImageStatus command) {
  const model::ImageTable* images = co_await session.images();
  print(session, report::image_status_listing(*images, session.now()), command.format);
  co_return 0;
}

Task<int> perform(Session& session, ProviderInfo command) {
  const model::ImageTable* images = co_await session.images();
  const model::NodeTable* nodes = co_await session.nodes();
  std::ostream& out = session.context().out;
  const Table uploads = report::provider_upload_listing(*images, command.provider);
  const Table servers = report::server_listing(*nodes, command.provider);
  if (command.format == Format::json) {
    out << "{\"images\": " << table_json(uploads) << ", \"nodes\": " << table_json(servers)
        << "}\n";
    co_return 0;
  }
  if (command.format == Format::yaml) {
    out << "images:\n" << table_yaml(uploads) << "\nnodes:\n" << table_yaml(servers) << '\n';
    co_return 0;
  }
  out << "ZooKeeper data for provider " << command.provider << "\n\nImage data:\n";
  print(session, uploads, Format::text);
  out << "\nNodes:\n";
  print(session, servers, Format::text);
  co_return 0;
}

}  // namespace nodepool::cli
