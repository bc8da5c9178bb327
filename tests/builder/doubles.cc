#include "tests/builder/doubles.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "config/nodepool_schema.h"
#include "driver/cloud_error.h"

namespace nodepool::builder {

namespace {

using driver::CloudError;

class SkyConfig final : public driver::ProviderConfig {
 public:
  SkyConfig(const config::ProviderSection& section, const config::Schema& schema)
      : ProviderConfig(section) {
    const config::Section provider(section.value, schema, section.file, section.path);
    driver::ManagedImages managed;
    managed.format = provider.text("image-format");
    managed.post_upload_hook = provider.optional_text("post-upload-hook").value_or("");
    for (const config::Section& entry : provider.sections("diskimages")) {
      driver::ProviderImage image;
      image.name = entry.text("name");
      image.pause = entry.boolean("pause");
      image.meta["owner"] = section.name;
      if (const auto validate = entry.section("validate")) {
        image.validation.emplace("main", "small", validate->optional_text("command").value_or(""),
                                 std::chrono::minutes(10));
      }
      managed.images.emplace(image.name, image);
    }
    managed_images_ = managed;
  }

  void lose_file() {
    managed_images_->format.clear();
    outside_problem_ = {.message = "no such file"};
  }
};

class SkyProvider final : public driver::LaunchingProvider, public driver::ImageSupport {
 public:
  SkyProvider(std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context,
              std::shared_ptr<Sky> sky)
      : config_(std::move(config)), context_(std::move(context)), sky_(std::move(sky)) {}

  const driver::ProviderConfig& config() const override { return *config_; }
  Task<> start() override {
    co_await context_.runtime.clock.sleep_for(sky_->start_time);
    if (sky_->cannot_start.contains(config_->name())) {
      throw CloudError(CloudError::Kind::transient, "there is no sky");
    }
  }
  void quiesce() override {}
  Task<> stop() override { co_return; }
  driver::ImageSupport* images() override { return this; }
  Task<> remove_leaks() override { co_return; }
  Task<std::vector<driver::Leak>> leaks() override { co_return std::vector<driver::Leak>{}; }
  Task<> remove_leak(driver::Leak /*leak*/) override { co_return; }
  Task<bool> is_usable(std::string /*node_id*/) override { co_return true; }
  Task<> launch(driver::NodeLaunch& launch) override {
    ++sky_->launches;
    model::Node& node = launch.node();
    sky_->machines[node.id] = launch.image()->external_id;
    node.external_id = model::json_string("machine of " + node.id);
    co_await launch.save();
    co_await context_.runtime.clock.sleep_for(sky_->launch_time);
    if (!sky_->launch_failures.empty()) {
      const driver::LaunchError failure = sky_->launch_failures.front();
      sky_->launch_failures.pop_front();
      throw failure;
    }
    node.interface_ip = "192.0.2.7";
    node.username = "ci";
    node.host_keys = {"ssh-ed25519 AAAA"};
  }
  Task<std::optional<model::Node>> reclaim(driver::NodeRecord& record) override {
    const model::Node node = record.node();
    if (sky_->cannot_take_back) throw CloudError(CloudError::Kind::transient, "it stays");
    sky_->machines.erase(node.id);
    co_return std::nullopt;
  }

  Task<std::string> upload(driver::ProviderImage /*image*/, std::string name,
                           driver::ImageFile file, driver::Metadata metadata,
                           Progress progress) override {
    // After a cancellation the image stays in the cloud: a cancelled task cannot wait for its
    // deletion.
    std::string id;
    for (const auto& [known, image] : sky_->images) {
      if (sky_->resumes && image.name == name && image.metadata == metadata) id = known;
    }
    if (id.empty()) id = "image-" + std::to_string(++sky_->uploads);
    sky_->images[id] = {std::move(name), file, std::move(metadata)};
    const async::Duration half = sky_->upload_time / 2;
    co_await context_.runtime.clock.sleep_for(half);
    progress(file.size / 2);
    co_await context_.runtime.clock.sleep_for(sky_->upload_time - half);
    if (sky_->broken.contains(config_->name())) {
      sky_->images.erase(id);
      throw CloudError(CloudError::Kind::transient, "the sky is cloudy");
    }
    progress(file.size);
    co_return id;
  }

  bool resumes_uploads() const override { return sky_->resumes; }

  Task<> remove(std::string /*name*/, std::string external_id) override {
    ++sky_->deletions;
    co_await context_.runtime.clock.sleep_for(sky_->deletion_time);
    if (sky_->cannot_delete) throw CloudError(CloudError::Kind::failed, "it is in use");
    sky_->images.erase(external_id);
  }

  Task<std::vector<driver::CloudImage>> list() override {
    std::vector<driver::CloudImage> found;
    for (const auto& [id, image] : sky_->images) found.emplace_back(id, image.name, image.metadata);
    co_return found;
  }

 private:
  std::shared_ptr<const driver::ProviderConfig> config_;
  driver::ProviderContext context_;
  std::shared_ptr<Sky> sky_;
};

}  // namespace

const config::Schema& SkyDriver::schema() const {
  static const config::Schema validation{
      .description = "A validation.",
      .fields = {{.key = "command", .type = config::string(), .description = "What is run."}}};
  static const config::Schema image{
      .description = "An image.",
      .fields = {
          {.key = "name", .type = config::diskimage_name(), .description = "Its name."},
          {.key = "pause",
           .type = config::boolean(),
           .default_value = "false",
           .description = "No uploads."},
          {.key = "validate",
           .type = config::section(validation),
           .description = "How it is tried out."},
      }};
  static const config::Schema schema{
      .description = "A cloud for tests.",
      .fields = {
          {.key = "image-format",
           .type = config::string(),
           .default_value = "qcow2",
           .description = "What it takes."},
          {.key = "post-upload-hook", .type = config::string(), .description = "A program."},
          {.key = "diskimages",
           .type = config::list_of(config::section(image)),
           .description = "Its images."},
      }};
  return schema;
}

std::shared_ptr<const driver::ProviderConfig> SkyDriver::configure(
    const config::ProviderSection& section, const config::Config& /*config*/) const {
  static const config::Schema schema = config::provider_schema(this->schema());
  auto config = std::make_shared<SkyConfig>(section, schema);
  if (sky_->without_file.contains(section.name)) config->lose_file();
  return config;
}

std::unique_ptr<driver::Provider> SkyDriver::provider(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<SkyProvider>(std::move(config), std::move(context), sky_);
}

Task<ProgramEnd> BuilderDouble::make(const BuildJob& job, const std::set<std::string>& formats,
                                     const BuildLog& log) {
  if (workshop_->cannot_start) throw std::runtime_error("no such program");
  workshop_->built.push_back(job.image.name);
  workshop_->most_under_way = std::max(workshop_->most_under_way, ++workshop_->under_way);
  for (const std::string& format : formats) {
    std::ofstream(job.output() + "." + format) << job.image.name << " as " << format;
  }
  log.write_line("making " + job.image.name);
  std::exception_ptr cancelled;
  try {
    co_await context().runtime.clock.sleep_for(workshop_->build_time);
  } catch (const async::Cancelled&) {
    cancelled = std::current_exception();
  }
  --workshop_->under_way;
  if (cancelled) std::rethrow_exception(cancelled);
  const auto code = workshop_->exit_codes.find(job.image.name);
  co_return ProgramEnd{code == workshop_->exit_codes.end() ? 0 : code->second};
}

Task<ProgramEnd> ConverterDouble::run(std::vector<std::string> arguments,
                                      std::int64_t /*build_timeout*/, const BuildLog& log) {
  workshop_->converted.push_back(std::filesystem::path(arguments.back()).filename());
  constexpr std::size_t kSize = 1000;
  std::ofstream(arguments.back()) << std::string(kSize, 'x');
  log.write_line("converting");
  co_await context().runtime.clock.sleep_for(workshop_->conversion_time);
  co_return ProgramEnd{workshop_->conversion_exit_code};
}

}  // namespace nodepool::builder
