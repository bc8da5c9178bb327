#include "builder/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include "config/names.h"
#include "telemetry/log_errors.h"
#include "telemetry/version.h"

namespace nodepool::builder {

namespace {

// For blocking calls: checksums, files, name resolution.
constexpr std::size_t kThreads = 8;

model::Component builder_component(const NodePoolBuilder::Options& options) {
  model::Component component;
  component.kind = model::Component::Kind::builder;
  component.hostname = options.hostname;
  component.version = telemetry::version();
  options.state.describe(component);
  return component;
}

std::string images_dir(const config::Config& config) {
  const std::string directory = config.images_dir.value_or("");
  if (directory.empty()) {
    throw std::runtime_error(
        "`images-dir` is not set; configure a directory that only this builder uses");
  }
  return directory;
}

std::vector<gearman::Server> gearman_servers(const config::Config& config) {
  std::vector<gearman::Server> servers;
  servers.reserve(config.gearman_servers.size());
  for (const config::GearmanServer& server : config.gearman_servers) {
    servers.push_back({.host = server.host, .port = static_cast<std::uint16_t>(server.port)});
  }
  return servers;
}

Task<> nothing() {
  co_return;
}

// With dashes.
std::string uuid(async::Random& random) {
  return boost::uuids::to_string(boost::uuids::string_generator()(random.uuid_hex()));
}

}  // namespace

NodePoolBuilder::NodePoolBuilder(const async::Runtime& runtime, coordination::Store& store,
                                 std::shared_ptr<telemetry::Log> log,
                                 const driver::DriverRegistry& drivers,
                                 const config::Config& config, const Options& options,
                                 std::optional<ImageMakers> makers)
    : options_(options),
      log_(std::move(log), "nodepool.builder"),
      lock_sweeper_(runtime, store),
      records_(runtime, store, log_),
      threads_(kThreads, "blocking calls"),
      graceful_stop_(runtime, store, log_),
      image_records_(runtime, store, records_.images, graceful_stop_, log_),
      local_(ImageStore(images_dir(config)), options.fqdn, records_.images, threads_),
      installation_(runtime, store, log_),
      settled_(runtime.clock),
      context_{.runtime = runtime,
               .settled = settled_,
               .store = store,
               .nodes = records_.nodes,
               .images = records_.images,
               .threads = threads_,
               .log = log_,
               .metrics = options.metrics,
               .fqdn = options.fqdn,
               .graceful_stop = graceful_stop_,
               .records = image_records_,
               .local = local_,
               .settings = settings_,
               .providers = providers_,
               .in_progress = in_progress_,
               .installation = installation_.current()},
      makers_(makers ? *std::move(makers)
                     : make_image_makers({runtime, threads_, options.environment, options.grace},
                                         options.fake)),
      formats_(context_, *makers_.converter),
      builds_(context_),
      uploads_(context_),
      upload_worker_(context_, uploads_, formats_, options.environment, options.upload_workers),
      cleanup_(context_),
      gauges_(context_, builds_, uploads_),
      gearman_(context_, builds_, uploads_, cleanup_,
               {.build_workers = options.build_workers, .upload_workers = options.upload_workers}),
      registration_(runtime, store, log_, builder_component(options)),
      state_(options.state),
      provider_set_(drivers,
                    {runtime, store, records_.nodes, records_.images, threads_, log_,
                     options.metrics, installation_.current()},
                    log_, *this),
      tables_scope_(runtime, telemetry::log_errors(log_)),
      workers_scope_(runtime, telemetry::log_errors(log_)) {}

NodePoolBuilder::~NodePoolBuilder() = default;

Task<> NodePoolBuilder::start(config::Config config) {
  co_await local_.identify(uuid(context_.runtime.random));
  // Must come first: it checks whether the store has nodes already.
  co_await installation_.start();
  using Kind = model::Records::Kind;
  co_await records_.make_roots({Kind::components, Kind::images, Kind::nodes});
  tables_scope_.spawn("installation", installation_.run());
  records_.follow(tables_scope_, {Kind::images});
  co_await records_.until_ready();
  records_.follow(tables_scope_, {Kind::nodes});  // nothing waits for it but the clean-up
  co_await local_.start();
  co_await registration_.start();
  subscriptions_.push_back(
      records_.images.observe([this](const std::string& image) { enqueue(image); }));
  subscriptions_.push_back(records_.images.observe_readiness([this](bool ready) {
    if (ready) enqueue_all();
  }));
  subscriptions_.push_back(records_.nodes.observe_readiness([this](bool ready) {
    if (ready) cleanup_.enqueue_all();
  }));
  co_await provider_set_.apply(std::move(config));
  cleanup_.start();
  for (std::size_t i = 0; i < options_.build_workers; ++i) {
    build_workers_.push_back(std::make_unique<BuildWorker>(context_, builds_, makers_.builders));
    workers_scope_.spawn(fmt::format("BuildWorker {}", i), build_workers_.back()->run());
  }
  if (options_.upload_workers > 0) upload_worker_.start();
  tables_scope_.spawn("image gauges", gauges_.run());
  model::Component running = registration_.component();
  running.state = "running";
  registration_.update(std::move(running));
  log_.info("Serving {} image(s) and {} provider(s) as {}", settings_.diskimages.size(),
            providers_.size(), local_.builder_id());
}

void NodePoolBuilder::set_state(const model::DaemonState& state) {
  state_ = state;
  publish_state();
}

std::vector<std::string> NodePoolBuilder::problems() const {
  std::vector<std::string> problems;
  for (const auto& [provider, reason] : provider_set_.failures()) {
    problems.push_back(
        fmt::format("provider {} could not be started for images: {}", provider, reason));
  }
  for (const auto& [provider, reason] : provider_set_.outdated()) {
    problems.push_back(
        fmt::format("provider {} keeps its previous configuration: {}", provider, reason));
  }
  return problems;
}

void NodePoolBuilder::publish_state() {
  model::Component component = registration_.component();
  state_.describe(component);
  std::ranges::move(problems(), std::back_inserter(component.problems));
  registration_.update(std::move(component));
}

Task<> NodePoolBuilder::reconfigure(config::Config config) {
  co_await provider_set_.apply(std::move(config));
  log_.info("Configuration reloaded: {} image(s) and {} provider(s)", settings_.diskimages.size(),
            providers_.size());
}

bool NodePoolBuilder::wants(const driver::ProviderConfig& config) const {
  if (!config.managed_images()) return false;
  const std::string& format = config.managed_images()->format;
  const bool is_known = !format.empty() || !config.outside_problem();
  if (is_known && !config::is_part_of_path(format)) {
    throw std::runtime_error("provider " + config.name() + ": '" + format +
                             "' is not a valid image format");
  }
  return true;
}

void NodePoolBuilder::put_in_service(std::shared_ptr<driver::Provider> provider) {
  if (provider->images() == nullptr) {
    throw std::runtime_error("the provider does not support images");
  }
  const std::string& name = provider->config().name();
  providers_.emplace(name, std::move(provider));
  uploads_.reconfigured(name);
}

Task<> NodePoolBuilder::take_out_of_service(std::string name) {
  providers_.erase(name);
  return nothing();
}

Task<> NodePoolBuilder::adapt(const config::Config& config) {
  publish_state();
  update_settings(config);
  enqueue_all();
  gearman_.serve(gearman_servers(config));
  co_return;
}

void NodePoolBuilder::update_settings(const config::Config& config) {
  BuilderSettings settings{
      .diskimages = config.diskimages,
      .elements_dir = config.elements_dir,
      .logs = {.directory = config.build_log_dir,
               .retention = config.build_log_retention,
               .limit = static_cast<std::uint64_t>(config.build_log_limit) << 20}};
  for (const auto& [name, image] : config.diskimages) {
    settings.wanted_formats[name] = image.formats;
  }
  for (const auto& [name, provider] : provider_set_.wanted()) {
    const driver::ManagedImages& managed = *provider->managed_images();
    for (const auto& [image, use] : managed.images) {
      const auto known = settings.wanted_formats.find(image);
      const bool is_known = known != settings.wanted_formats.end() && !managed.format.empty();
      if (is_known) known->second.insert(managed.format);
    }
    settings.managed_images[name] = managed;
  }
  for (const auto& [name, image] : settings.diskimages) {
    const auto before = settings_.diskimages.find(name);
    const bool is_same = before != settings_.diskimages.end() && before->second == image &&
                         settings_.wanted_formats.at(name) == settings.wanted_formats.at(name) &&
                         settings_.elements_dir == settings.elements_dir;
    if (!is_same) builds_.reconfigured(name);
  }
  settings_ = std::move(settings);
}

void NodePoolBuilder::enqueue(const std::string& image) {
  builds_.images().enqueue(image);
  uploads_.enqueue_image(image);
  cleanup_.enqueue_image(image);
  gearman_.refresh();
}

void NodePoolBuilder::enqueue_all() {
  for (const auto& [name, image] : settings_.diskimages) {
    builds_.images().enqueue(name);
    uploads_.enqueue_image(name);
  }
  cleanup_.enqueue_all();
  gearman_.refresh();
}

void NodePoolBuilder::log_work_in_progress() const {
  for (const auto& [image, id] : in_progress_.builds) {
    log_.info("Waiting for build {} of image {}", id, image);
  }
  for (const auto& [image, id, provider] : in_progress_.uploads) {
    log_.info("Waiting for the upload of build {} of image {} to {}", id, image, provider);
  }
}

Task<> NodePoolBuilder::finish() {
  log_work_in_progress();
  tables_scope_.spawn("graceful stop", graceful_stop_.run());
  gearman_.close();
  builds_.close();
  uploads_.close();
  co_await workers_scope_.join();
  co_await upload_worker_.finish();
  co_await gearman_.finish();
}

Task<> NodePoolBuilder::stop() {
  log_.info("Stopping");
  co_await provider_set_.stop_retrying();
  co_await gearman_.stop();
  builds_.close();
  uploads_.close();
  co_await workers_scope_.stop();
  co_await upload_worker_.stop();
  subscriptions_.clear();
  co_await cleanup_.stop();
  co_await provider_set_.stop();
  co_await registration_.stop();
  co_await lock_sweeper_.stop();
  co_await tables_scope_.stop();
}

}  // namespace nodepool::builder
