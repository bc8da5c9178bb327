#include <filesystem>
#include <ostream>
#include <system_error>

#include "cli/commands.h"
#include "coordination/sqlite/free_space.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "report/rendering/status_text.h"
#include "report/status.h"

namespace nodepool::cli {

namespace {

// The size of the file and of SQLite's write-ahead log, in bytes.
std::int64_t size_of(const std::string& path) {
  std::int64_t sum = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const auto size = std::filesystem::file_size(path + suffix, error);
    if (!error) sum += static_cast<std::int64_t>(size);
  }
  return sum;
}

report::StoreDescription describe_store(Session& session) {
  const config::StoreChoice& choice = session.config().store;
  if (choice.kind == config::StoreChoice::Kind::sqlite) {
    return {.kind = "sqlite",
            .place = choice.sqlite_path,
            .size = size_of(choice.sqlite_path),
            .problem = coordination::sqlite::space_problem(choice.sqlite_path)};
  }
  const auto* store =
      dynamic_cast<const coordination::zookeeper::ZooKeeperStore*>(&session.store());
  return {.kind = "zookeeper",
          .place = store == nullptr ? std::string() : store->server(),
          .size = std::nullopt};
}

}  // namespace

Task<int> perform(Session& session, ShowStatus command) {
  const model::ComponentTable* components = co_await session.components();
  const model::NodeTable* nodes = co_await session.nodes();
  const model::RequestTable* requests = co_await session.requests();
  const model::ImageTable* images = co_await session.images();
  report::StatusSources sources{.nodes = *nodes,
                                .requests = *requests,
                                .components = *components,
                                .images = *images,
                                .hosts = {},
                                .store = describe_store(session),
                                .providers = {},
                                .diskimages = {},
                                .now = session.now(),
                                .wait_limit = static_cast<double>(command.waiting.count())};
  sources.hosts = co_await model::read_host_reports(session.store());
  sources.providers = config::provider_names(session.config());
  sources.diskimages = config::images_to_build(session.config());
  const report::Status status = report::status_of(sources);
  session.context().out << report::status_as(command.listing.format, status,
                                             {.headers = command.listing.headers});
  switch (status.level) {
    case report::StatusLevel::fine:
      break;
    case report::StatusLevel::attention:
      co_return kNeedsAttention;
    case report::StatusLevel::critical:
      co_return kCritical;
  }
  co_return 0;
}

}  // namespace nodepool::cli
