#include <optional>
#include <ostream>
#include <utility>

#include "cli/commands.h"
#include "cli/show.h"
#include "report/explanation/hosts.h"
#include "report/filter.h"
#include "report/image_listings.h"
#include "report/listings.h"
#include "report/rendering/table_text.h"

namespace nodepool::cli {

namespace {

using report::Detail;
using report::Format;
using report::Table;

Task<Table> build_table(Session& session) {
  const model::ImageTable* images = co_await session.images();
  co_return report::build_details(*images, session.now(), session.config().build_log_dir);
}

Task<Table> upload_table(Session& session) {
  const model::ImageTable* images = co_await session.images();
  co_return report::upload_details(*images, session.now());
}

Task<Table> image_table(Session& session) {
  const model::ImageTable* images = co_await session.images();
  co_return report::image_status_listing(*images, session.now());
}

Detail full_if(bool detail) {
  return detail ? Detail::full : Detail::brief;
}

}  // namespace

Task<int> perform(Context& context, Installation& installation, ListNodes command) {
  const Source source = [&installation] { return installation.nodes(); };
  const int status =
      co_await show(context, installation, command.listing, full_if(command.detail), source);
  if (command.listing.watch) co_return status;
  // The nodes of unhealthy static hosts have no records.
  const std::vector<model::HostReport> hosts = co_await installation.host_reports();
  const std::string missing = report::unhealthy_hosts(hosts);
  if (!missing.empty()) context.err << "nodepool: " << missing << '\n';
  co_return status;
}

Task<int> perform(Context& context, Installation& installation, ListRequests command) {
  const Source source = [&installation] { return installation.requests(); };
  return show(context, installation, std::move(command.listing), Detail::brief, source);
}

Task<int> perform(Context& context, Installation& installation, ListLabels command) {
  const Source source = [&installation] { return installation.labels(); };
  return show(context, installation, std::move(command.listing), Detail::brief, source);
}

Task<int> perform(Session& session, ListBuilds command) {
  const Source source = [&session] { return build_table(session); };
  return show(session, std::move(command.listing), full_if(command.detail), source);
}

Task<int> perform(Session& session, ListUploads command) {
  const Source source = [&session] { return upload_table(session); };
  return show(session, std::move(command.listing), full_if(command.detail), source);
}

Task<int> perform(Session& session, ImageStatus command) {
  const Source source = [&session] { return image_table(session); };
  return show(session, std::move(command.listing), Detail::brief, source);
}

Task<int> perform(Session& session, ProviderInfo command) {
  const model::ImageTable* images = co_await session.images();
  const model::NodeTable* nodes = co_await session.nodes();
  Context& context = session.context();
  const Table uploads = report::provider_upload_listing(*images, command.provider);
  const Table servers = report::server_listing(*nodes, command.provider);
  switch (command.listing.format) {
    case Format::json:
      context.out << "{\"images\": " << report::table_json(uploads)
                  << ", \"nodes\": " << report::table_json(servers) << "}\n";
      break;
    case Format::yaml:
      context.out << "images:\n"
                  << report::table_yaml(uploads) << "\nnodes:\n"
                  << report::table_yaml(servers) << '\n';
      break;
    case Format::names:
      print(context, servers, command.listing);
      break;
    case Format::text:
    case Format::wide:
      context.out << "ZooKeeper data for provider " << command.provider << "\n\nImage data:\n";
      print(context, uploads, command.listing);
      context.out << "\nNodes:\n";
      print(context, servers, command.listing);
      break;
  }
  co_return 0;
}

}  // namespace nodepool::cli
