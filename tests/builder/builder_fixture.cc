#include "tests/builder/builder_fixture.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <thread>

#include "async/live_tasks.h"
#include "async/task_scope.h"
#include "config/load.h"
#include "coordination/forwarding_store.h"
#include "coordination/tree.h"
#include "model/image_paths.h"
#include "model/paths.h"
#include "tests/support/virtual_time.h"

namespace nodepool::builder {

using model::ImageBuild;
using model::ImageUpload;

namespace {

// A store that refuses some writes.
class RefusingWrites final : public coordination::ForwardingStore {
 public:
  // Throws if a write to the path is refused.
  using Check = std::function<void(const std::string& path)>;

  RefusingWrites(coordination::Store& inner, Check check)
      : ForwardingStore(inner), check_(std::move(check)) {}

  Task<std::string> create(std::string path, std::string data,
                           coordination::CreateMode mode) override {
    check_(path);
    return ForwardingStore::create(std::move(path), std::move(data), mode);
  }
  Task<coordination::Stat> set(std::string path, std::string data, std::int32_t expected) override {
    check_(path);
    return ForwardingStore::set(std::move(path), std::move(data), expected);
  }
  Task<> remove(std::string path, std::int32_t expected) override {
    check_(path);
    return ForwardingStore::remove(std::move(path), expected);
  }
  Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override {
    for (const auto& operation : transaction.operations()) check_(operation.path);
    return ForwardingStore::commit(std::move(transaction));
  }

 private:
  Check check_;
};

}  // namespace

struct BuilderFixture::Process {
  Process(BuilderFixture& fixture, const std::string& name, const config::Config& config)
      : runtime{loop.executor(), fixture.clock_, fixture.random_},
        threads(2, "test"),
        store(std::make_unique<coordination::MemoryStore>(fixture.server_, runtime)),
        writes(*store, [&fixture](const std::string& path) {
          const auto& refusal = fixture.refusal_;
          if (!refusal || !path.starts_with(refusal->root)) return;
          throw coordination::store_error(refusal->kind, path);
        }) {
    const auto log = telemetry::Log::to_consumer(
        [&fixture](telemetry::LogLevel level, std::string_view logger, std::string_view message) {
          const bool is_trouble = level >= telemetry::LogLevel::warning;
          (is_trouble ? fixture.log_ : fixture.news_)
              .push_back(std::string(logger) + ": " + std::string(message));
        },
        telemetry::LogLevel::info);
    NodePoolBuilder::Options options;
    options.hostname = name;
    options.fqdn = name + ".example";
    options.build_workers = 2;
    options.upload_workers = fixture.upload_workers_;
    options.environment = fixture.environment_;
    options.metrics = telemetry::Metrics(
        [&fixture](std::string_view datagram) { fixture.figures_.emplace_back(datagram); });
    options.metrics = options.metrics.also_to(registry);
    const ProgramContext site{runtime, threads, fixture.environment_};
    ImageMakers makers;
    makers.builders["diskimage-builder"] = std::make_unique<BuilderDouble>(site, fixture.workshop_);
    if (fixture.real_qemu_img_) {
      makers.converter = std::make_unique<FormatConverter>(site);
    } else {
      makers.converter = std::make_unique<ConverterDouble>(site, fixture.workshop_);
    }
    builder = std::make_unique<NodePoolBuilder>(runtime, writes, log, fixture.drivers_, config,
                                                options, std::move(makers));
  }

  // Whether a thread or a program works for it.
  bool waits_for_others(bool programs) {
    return std::ranges::any_of(async::live_tasks(loop.executor()), [programs](const auto& task) {
      return std::ranges::any_of(task.waits, [programs](const auto& wait) {
        return wait.what.starts_with("thread:") ||
               (programs && wait.what.starts_with("end of a program"));
      });
    });
  }

  async::EventLoop loop;
  async::Runtime runtime;
  async::ThreadPool threads;
  std::unique_ptr<coordination::MemoryStore> store;
  RefusingWrites writes;
  std::shared_ptr<telemetry::MetricsRegistry> registry =
      std::make_shared<telemetry::MetricsRegistry>();
  std::unique_ptr<NodePoolBuilder> builder;
  async::TaskScope finishing{runtime, [](const std::string&, const std::string& error) {
                               ADD_FAILURE() << "the graceful stop has failed: " << error;
                             }};
};

namespace {

driver::DriverRegistry make_drivers(std::shared_ptr<Sky> sky) {
  std::vector<std::unique_ptr<driver::Driver>> drivers;
  drivers.push_back(std::make_unique<SkyDriver>(std::move(sky)));
  return driver::DriverRegistry(std::move(drivers));
}

telemetry::Logger nowhere() {
  return {
      telemetry::Log::to_consumer([](telemetry::LogLevel, std::string_view, std::string_view) {}),
      "test"};
}

template <typename Record, typename State>
std::vector<Record> in_state(std::vector<Record> records, State state) {
  std::erase_if(records, [state](const Record& record) { return record.state != state; });
  return records;
}

}  // namespace

BuilderFixture::BuilderFixture()
    : people_(std::make_unique<coordination::MemoryStore>(server_, runtime_)),
      graceful_stop_(runtime_, *people_, nowhere()),
      images_(std::make_unique<model::ImageTable>(runtime_, *people_, nowhere())),
      records_(runtime_, *people_, *images_, graceful_stop_, nowhere()),
      drivers_(make_drivers(sky_)) {}

BuilderFixture::~BuilderFixture() {
  while (!processes_.empty()) kill(processes_.begin()->first);
}

std::string BuilderFixture::yaml(const std::string& images, const std::string& providers) {
  return "build-log-retention: 2\ndiskimages:\n" + images + "providers:\n" + providers;
}

namespace {

config::Config parse(const test_support::TemporaryDirectory& directory,
                     const driver::DriverRegistry& drivers, const std::string& yaml,
                     const std::string& name) {
  const std::string place = "images-dir: " + (directory.path() / name).string() +
                            "\nbuild-log-dir: " + (directory.path() / "logs").string() + "\n";
  config::LoadOptions options;
  options.path = directory.write("nodepool.yaml", place + yaml);
  options.drivers = drivers.schemas();
  return config::load(options).config;
}

}  // namespace

void BuilderFixture::start(const std::string& yaml, const std::string& name) {
  const config::Config config = parse(directory_, drivers_, yaml, name);
  auto process = std::make_unique<Process>(*this, name, config);
  process->loop.run(process->builder->start(config));
  processes_[name] = std::move(process);
  settle();
}

void BuilderFixture::reconfigure(const std::string& yaml) {
  Process& process = *processes_.at("nb1");
  async::TaskScope scope(process.runtime, [](const std::string&, const std::string& error) {
    ADD_FAILURE() << "the reload has failed: " << error;
  });
  scope.spawn("reload", process.builder->reconfigure(parse(directory_, drivers_, yaml, "nb1")));
  settle();
  while (!scope.empty()) pass(std::chrono::seconds(1));
}

void BuilderFixture::stop(const std::string& name) {
  Process& process = *processes_.at(name);
  process.loop.run(process.builder->stop());
  process.loop.run(process.finishing.join());
  process.loop.run(process.store->close());
  process.builder.reset();
  processes_.erase(name);
  settle();
}

bool BuilderFixture::finish(const std::string& name) {
  Process& process = *processes_.at(name);
  process.finishing.spawn("graceful stop", process.builder->finish());
  settle();
  return has_finished(name);
}

bool BuilderFixture::has_finished(const std::string& name) const {
  return processes_.at(name)->finishing.empty();
}

void BuilderFixture::kill(const std::string& name) {
  while (processes_.at(name)->waits_for_others(true)) settle();
  // Destroys its loop with all suspended tasks, without running them.
  processes_.at(name)->store->kill_for_tests();
  processes_.erase(name);
  settle();
}

coordination::MemoryStore& BuilderFixture::store_of(const std::string& name) {
  return *processes_.at(name)->store;
}

std::vector<std::string> BuilderFixture::problems(const std::string& name) const {
  return processes_.at(name)->builder->problems();
}

std::string BuilderFixture::scraped(const std::string& name) {
  const Process& process = *processes_.at(name);
  telemetry::MetricsRegistry all = *process.registry;
  process.builder->add_metrics(all);
  return all.prometheus_text();
}

void BuilderFixture::settle() {
  while (true) {
    bool ran = loop_.poll();
    for (const auto& [name, process] : processes_) ran = process->loop.poll() || ran;
    if (ran) continue;
    const bool waits = std::ranges::any_of(processes_, [this](const auto& entry) {
      return entry.second->waits_for_others(waits_for_programs_);
    });
    if (!waits) return;
    std::this_thread::yield();
  }
}

void BuilderFixture::pass(async::Duration duration) {
  test_support::pass(clock_, duration, [this] { settle(); });
}

void BuilderFixture::put(const std::string& path, const std::string& text) {
  loop_.run(coordination::ensure_path(*people_, path));
  loop_.run(people_->set(path, text, coordination::kAnyVersion));
  settle();
}

void BuilderFixture::remove(const std::string& path) {
  loop_.run(people_->remove(path, coordination::kAnyVersion));
  settle();
}

bool BuilderFixture::exists(const std::string& path) {
  return loop_.run(people_->exists(path)).has_value();
}

std::vector<ImageBuild> BuilderFixture::builds(const std::string& image) {
  std::vector<ImageBuild> found = loop_.run(records_.builds(image));
  std::ranges::sort(found, {}, &ImageBuild::state_time);
  return found;
}

std::vector<ImageBuild> BuilderFixture::builds(model::BuildState state, const std::string& image) {
  return in_state(builds(image), state);
}

std::vector<ImageUpload> BuilderFixture::uploads(const std::string& image) {
  std::vector<ImageUpload> found;
  for (const ImageBuild& build : builds(image)) {
    const std::string providers = model::build_providers_path(image, build.id);
    if (!exists(providers)) continue;
    for (const std::string& provider : loop_.run(people_->children(providers))) {
      for (ImageUpload& upload : loop_.run(records_.uploads(image, build.id, provider))) {
        found.push_back(std::move(upload));
      }
    }
  }
  std::ranges::sort(found, {}, &ImageUpload::state_time);
  return found;
}

std::vector<ImageUpload> BuilderFixture::uploads(model::UploadState state,
                                                 const std::string& image) {
  return in_state(uploads(image), state);
}

void BuilderFixture::write(const ImageBuild& build) {
  put(model::build_path(build.image, build.id), to_record(build));
}

void BuilderFixture::write(const ImageUpload& upload) {
  put(model::upload_path(upload.image, upload.build_id, upload.provider, upload.id),
      to_record(upload));
}

std::vector<std::string> BuilderFixture::files(const std::string& name) const {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / name)) {
    if (entry.path().filename() != "builder_id.txt") found.push_back(entry.path().filename());
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace nodepool::builder
