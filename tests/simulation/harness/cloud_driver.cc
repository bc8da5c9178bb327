#include "tests/simulation/harness/cloud_driver.h"

#include <algorithm>

#include "cloud/token_cache.h"
#include "config/nodepool_schema.h"
#include "driver/ownership.h"
#include "tests/simulation/harness/chance.h"
#include "tests/simulation/harness/topology.h"

namespace nodepool::simulation {

namespace {

using driver::CloudError;
using driver::CreateSpec;
using driver::Instance;
using driver::Limits;
using driver::Resource;

// How long a launch, or an attempt at it, may take.
constexpr auto kLaunchTimeout = std::chrono::minutes(10);

constexpr auto kConnectTimeout = std::chrono::seconds(5);
constexpr double kChanceOfRevocation = 0.2;
constexpr auto kUnreadable = "the answer of the cloud cannot be read";

class CloudConfig final : public driver::StateMachineConfig {
 public:
  CloudConfig(const config::ProviderSection& section, const config::Schema& schema,
              const config::Config& config)
      : StateMachineConfig(section) {
    launch_retries_ = 2;
    launch_timeout_ = kLaunchTimeout;
    const config::Section provider(section.value, schema, section.file, section.path);
    for (const config::Section& part : provider.sections("pools")) {
      driver::PoolConfig pool = driver::load_common_pool(part, section);
      driver::MachinePool machines;
      for (const std::string& label : part.texts("labels")) {
        pool.labels.insert(label);
        driver::MachineLabel& machine = machines.labels[label];
        const bool is_built = part.boolean("built-images") && label == kBuiltLabel;
        (is_built ? machine.diskimage : machine.cloud_image) = label;
        machine.host_key_checking = false;
        const auto image = config.diskimages.find(label);
        if (image == config.diskimages.end()) continue;
        machine.access.username = image->second.username;
        machine.access.python_path = image->second.python_path;
      }
      pool.ignore_provider_quota = part.boolean("ignore-provider-quota");
      machine_pools_.emplace(pool.name, std::move(machines));
      pools_.emplace(pool.name, std::move(pool));
    }
  }
};

struct Token {
  cloud::TokenLife life;
  async::Clock::TimePoint ends_at;  // as the cloud sees it: some are revoked
};

Instance instance_of(const std::string& id, const Clouds::Machine& machine) {
  Instance instance;
  instance.external_id = model::json_string(id);
  instance.metadata = machine.metadata;
  instance.resources = machine.resources;
  instance.interface_ip = "at-" + id;
  return instance;
}

class SimulatedAdapter final : public driver::Adapter {
 public:
  SimulatedAdapter(std::shared_ptr<const driver::ProviderConfig> config,
                   driver::ProviderContext context, CloudWorld world)
      : config_(std::move(config)),
        provider_(config_->name()),
        context_(std::move(context)),
        world_(world),
        tokens_(context_.runtime, "token", context_.log, [this] { return ask_token(); }) {}

  Task<> stop() override { co_await tokens_.stop(); }

  Task<Instance> create(CreateSpec spec, driver::LaunchSteps& steps) override {
    const driver::LaunchSteps::Make make = [this, &spec, &steps]() {
      return make_machine(spec, steps);
    };
    const driver::LaunchSteps::Find find = [this, &spec, &steps]() {
      return find_machine(spec, steps);
    };
    const std::string id = co_await steps.step("machine", make, find);
    steps.enter("booting");
    co_await sleep(world_.hardware.slowest_launch);
    if (draw(world_.hardware.launch_refused / 2)) refuse("after the machine was made");
    if (draw(world_.hardware.launch_fails)) fail("the machine does not boot");
    const auto found = world_.clouds.machines().find(id);
    if (found == world_.clouds.machines().end()) fail("the machine is gone");
    co_return instance_of(id, found->second);
  }

  Task<> remove(model::Json external_id, driver::LaunchSteps& /*steps*/) override {
    co_await remove(std::move(external_id));
  }

  Task<> remove(model::Json external_id) {
    world_.custody.check_removal(external_id.string_value());
    co_await reach_cloud();
    co_await sleep(world_.hardware.slowest_take_back);
    if (draw(world_.hardware.reclaim_fails)) {
      count("machine: take_back failed");
      throw CloudError(CloudError::Kind::transient, "the cloud does not delete the machine");
    }
    world_.clouds.remove(external_id.string_value());
    if (is_unreadable()) throw CloudError(CloudError::Kind::unknown_outcome, kUnreadable);
  }

  Task<driver::MachineList> list() override {
    co_await reach_cloud();
    co_await sleep(world_.hardware.slowest_answer);
    if (draw(world_.hardware.answer_fails)) {
      count("cloud: machines not listed");
      throw CloudError(CloudError::Kind::transient, "the cloud does not answer");
    }
    if (is_unreadable()) throw CloudError(CloudError::Kind::failed, kUnreadable);
    co_return driver::MachineList{.machines = list_machines(),
                                  .is_complete = world_.hardware.faults.cut <= 0};
  }

  Task<> remove_resource(Resource resource) override {
    count("machine: leaked");
    co_await remove(model::json_string(resource.id));
  }

  Task<driver::CloudDescription> describe(driver::CloudDescription::Purpose /*purpose*/) override {
    co_await reach_cloud();
    co_await sleep(world_.hardware.slowest_answer);
    if (draw(world_.hardware.answer_fails)) {
      count("cloud: limits not told");
      throw CloudError(CloudError::Kind::transient, "the cloud does not answer");
    }
    if (is_unreadable()) throw CloudError(CloudError::Kind::failed, kUnreadable);
    driver::CloudDescription described;
    described.limits = world_.clouds.limits(provider_);
    world_.known.provider_may_take(world_.world.actor->number(), provider_, described.limits);
    const driver::DescribeLabel describe = [](std::string /*pool*/,
                                              std::string label) -> Task<driver::LabelDescription> {
      co_return driver::LabelDescription{.need = label_resources(label)};
    };
    described.labels = co_await driver::describe_labels(*config_, describe);
    co_return described;
  }

  // No shorter than it may take to make a machine: the call of a dead launcher goes on. And then
  // listings have to show it.
  driver::CloudTraits traits() override {
    return {.consistency_delay =
                std::chrono::seconds(40) + seconds(world_.hardware.faults.most_stale)};
  }

 private:
  Task<std::string> make_machine(CreateSpec spec, driver::LaunchSteps& steps) {
    const driver::Resources need = label_resources(spec.label);
    co_await reach_cloud();
    co_await sleep(world_.hardware.slowest_launch);
    if (!spec.image_external_id.empty() && !world_.clouds.has_image(spec.image_external_id)) {
      fail("the image is gone");
    }
    if (!world_.clouds.has_room(provider_, need)) refuse("the cloud is full");
    if (draw(world_.hardware.launch_refused)) refuse("the cloud does not say why");
    if (draw(world_.hardware.launch_fails)) fail("it is not even begun");
    const std::string id = world_.clouds.make({provider_, need, spec.metadata});
    co_await sleep(world_.hardware.slowest_launch / 2);  // a launcher may die before it knows
    if (draw(world_.hardware.answer_fails)) {
      count("cloud: machine made, and not said");
      throw CloudError(CloudError::Kind::unknown_outcome, "the answer is lost");
    }
    if (is_unreadable()) throw CloudError(CloudError::Kind::unknown_outcome, kUnreadable);
    steps.set_external_id(model::json_string(id));
    co_return id;
  }

  Task<std::optional<std::string>> find_machine(CreateSpec spec, driver::LaunchSteps& steps) {
    const driver::MachineList listed = co_await list();
    for (const Instance& instance : listed.machines) {
      const bool is_there = world_.clouds.machines().contains(instance.external_id.string_value());
      if (!is_there || !driver::carries(instance.metadata, spec.metadata)) continue;
      count("machine: found again");
      steps.set_external_id(instance.external_id);
      co_return instance.external_id.string_value();
    }
    co_return std::nullopt;
  }

  // What a listing shows: all that is there now, unless it is an old one or lacks a page.
  std::vector<driver::Machine> list_machines() {
    const CloudFaults& faults = world_.hardware.faults;
    async::Random& random = context_.runtime.random;
    async::Clock::TimePoint when = context_.runtime.clock.now();
    if (befalls(faults.stale, "cloud: listing stale")) {
      when -= seconds_between(random, 0, faults.most_stale);
    }
    auto machines = world_.clouds.machines_of(provider_, when);
    if (!machines.empty() && befalls(faults.cut, "cloud: listing cut")) {
      const auto size = static_cast<std::int64_t>(machines.size());
      const auto begin = machines.begin() + between(random, 0, size - 1);
      const auto end = begin + between(random, 1, machines.end() - begin);
      for (auto lacking = begin; lacking != end; ++lacking) world_.clouds.hide(lacking->first);
      machines.erase(begin, end);
    }
    std::vector<driver::Machine> listed;
    for (const auto& [id, machine] : machines) {
      listed.emplace_back(instance_of(id, machine)).state = driver::Machine::State::running;
    }
    return listed;
  }

  // With a token that the cloud accepts, where it wants one: an expired one is replaced once.
  Task<> reach_cloud() {
    co_await connect();
    if (world_.hardware.faults.token_life <= 0) co_return;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto token = co_await tokens_.get();
      if (context_.runtime.clock.now() < token->ends_at) co_return;
      count("cloud: token refused");
      tokens_.refused(token);
    }
    throw CloudError(CloudError::Kind::auth, "the token has expired");
  }

  Task<> connect() {
    if (!world_.hardware.cloud_is_away) co_return;
    co_await context_.runtime.clock.sleep_for(kConnectTimeout);
    throw CloudError(CloudError::Kind::transient, "the cloud is out of reach");
  }

  // Some tokens are revoked before their time.
  Task<Token> ask_token() {
    const async::Clock::TimePoint asked_at = context_.runtime.clock.now();
    co_await connect();
    co_await sleep(world_.hardware.slowest_answer);
    if (world_.hardware.faults.refuses_credentials) {
      count("cloud: credentials refused");
      throw CloudError(CloudError::Kind::auth, "the credentials are not accepted");
    }
    count("cloud: token given");
    const double life = world_.hardware.faults.token_life;
    const double ends =
        draw(kChanceOfRevocation) ? life * context_.runtime.random.fraction() : life;
    co_return Token{.life = cloud::token_life(asked_at, std::chrono::duration<double>(life)),
                    .ends_at = asked_at + seconds(ends)};
  }

  bool is_unreadable() {
    return befalls(world_.hardware.faults.unreadable, "cloud: answer not readable");
  }

  // Draws only where there is something to draw, so that other runs are as they were.
  bool befalls(double probability, const std::string& what) {
    const bool does = probability > 0 && draw(probability);
    if (does) count(what);
    return does;
  }

  static async::Duration seconds(double seconds) {
    return std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(seconds));
  }

  bool draw(double probability) { return chance(context_.runtime.random, probability); }
  void count(const std::string& what) { world_.world.journal.count(what); }

  Task<> sleep(double most) {
    if (most <= 0) co_return;
    co_await context_.runtime.clock.sleep_for(seconds_between(context_.runtime.random, 0, most));
  }

  [[noreturn]] void refuse(const std::string& why) {
    count("cloud: launch refused");
    throw CloudError(CloudError::Kind::quota, "quota exceeded: " + why);
  }

  [[noreturn]] void fail(const std::string& why) {
    count("cloud: launch failed");
    throw CloudError(CloudError::Kind::failed, why);
  }

  std::shared_ptr<const driver::ProviderConfig> config_;
  std::string provider_;
  driver::ProviderContext context_;
  CloudWorld world_;
  cloud::TokenCache<Token> tokens_;
};

}  // namespace

const config::Schema& CloudDriver::schema() const {
  static const config::Schema pool{
      .description = "A pool.",
      .fields = config::joined(config::common_pool_fields(),
                               {{.key = "labels",
                                 .type = config::list_of(config::label_name()),
                                 .description = "Its labels."},
                                {.key = "built-images",
                                 .type = config::boolean(),
                                 .default_value = "false",
                                 .description = "Whether the builder makes one of its images."},
                                {.key = "ignore-provider-quota",
                                 .type = config::boolean(),
                                 .default_value = "false",
                                 .description = "Whether only its own limits count."}})};
  static const config::Schema schema{.description = "A simulated cloud.",
                                     .fields = {{.key = "pools",
                                                 .type = config::list_of(config::section(pool)),
                                                 .description = "Its pools."}}};
  return schema;
}

std::shared_ptr<const driver::ProviderConfig> CloudDriver::configure(
    const config::ProviderSection& section, const config::Config& config) const {
  static const config::Schema schema = config::provider_schema(this->schema());
  auto provider = std::make_shared<CloudConfig>(section, schema, config);
  world_.known.configured(world_.world.actor->number(), *provider);
  return provider;
}

std::unique_ptr<driver::Adapter> CloudDriver::adapter(
    std::shared_ptr<const driver::ProviderConfig> config, driver::ProviderContext context) const {
  return std::make_unique<SimulatedAdapter>(std::move(config), std::move(context), world_);
}

}  // namespace nodepool::simulation
