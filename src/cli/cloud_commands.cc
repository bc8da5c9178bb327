#include <exception>
#include <ostream>
#include <set>

#include "cli/commands.h"
#include "cli/own_provider.h"
#include "cli/show.h"
#include "report/image_listings.h"

namespace nodepool::cli {

namespace {

// The ids of the provider's ready uploads.
std::set<std::string> ids_in_use(const model::ImageTable& images, const std::string& provider) {
  std::set<std::string> ids;
  for (const model::ImageUpload* upload : images.uploads_to(provider)) {
    if (upload->state == model::UploadState::ready) ids.insert(upload->external_id.string_value());
  }
  return ids;
}

// Adds images with Nodepool's metadata that have no ready upload.
Task<> list_aliens_of(driver::Provider& provider, const model::ImageTable& images,
                      report::Table& table) {
  driver::ImageSupport* support = provider.images();
  if (support == nullptr) co_return;
  const std::string& name = provider.config().name();
  const std::set<std::string> known = ids_in_use(images, name);
  const std::vector<driver::CloudImage> found = co_await support->list();
  for (const driver::CloudImage& image : found) {
    if (!image.metadata.contains(driver::kBuildIdKey) || known.contains(image.id)) continue;
    report::add_alien(table, name, image.name, image.id);
  }
}

Task<> list_aliens(Session& session, const config::ProviderSection& section, report::Table& table) {
  const model::ImageTable* images = co_await session.images();
  const std::function<Task<>(driver::Provider&)> list = [&](driver::Provider& provider) {
    return list_aliens_of(provider, *images, table);
  };
  Task<> listing = with_own_provider(session, section, list);
  co_await std::move(listing);
}

Task<> find_missing(driver::Provider& provider, std::vector<std::string>& missing) {
  missing = co_await provider.missing_in_cloud();
}

Task<bool> check_provider(Session& session, const config::ProviderSection& section,
                          const telemetry::Logger& log) {
  std::vector<std::string> missing;
  std::string failure;
  const std::function<Task<>(driver::Provider&)> ask = [&missing](driver::Provider& provider) {
    return find_missing(provider, missing);
  };
  try {
    Task<> asking = with_own_provider(session, section, ask);
    co_await std::move(asking);
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  for (const std::string& problem : missing) {
    log.error("Provider {}: {}", section.name, problem);
  }
  if (!failure.empty()) log.error("Provider {} cannot be queried: {}", section.name, failure);
  if (!failure.empty() || !missing.empty()) co_return false;
  log.info("Provider {}: nothing is missing", section.name);
  co_return true;
}

}  // namespace

Task<int> perform(Session& session, ListAlienImages command) {
  const telemetry::Logger log = session.logger("nodepool.NodePoolCmd");
  report::Table table = report::alien_image_columns();
  for (const config::ProviderSection& section : session.config().providers) {
    if (!command.provider.empty() && section.name != command.provider) continue;
    std::string failure;
    try {
      co_await list_aliens(session, section, table);
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (!failure.empty()) {
      log.warning("Exception listing images for {}: {}", section.name, failure);
    }
  }
  print(session.context(), table, command.listing);
  co_return 0;
}

Task<int> perform(Session& session, CheckClouds /*command*/) {
  const telemetry::Logger log = session.logger("nodepool.config_validator");
  bool good = true;
  for (const config::ProviderSection& section : session.config().providers) {
    good = co_await check_provider(session, section, log) && good;
  }
  co_return good ? 0 : 1;
}

}  // namespace nodepool::cli
