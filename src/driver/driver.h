#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "config/config.h"
#include "config/schema.h"
#include "config/section.h"
#include "coordination/store.h"
#include "driver/images.h"
#include "driver/launch.h"
#include "driver/offer.h"
#include "driver/resources.h"
#include "model/image_table.h"
#include "model/installation.h"
#include "model/node.h"
#include "model/node_table.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

// The driver interface: what the launcher and the commands call, and what a driver implements.
namespace nodepool::driver {

using async::Task;

// The settings that pools of all drivers have.
struct PoolConfig {
  std::string name;
  std::set<std::string, std::less<>> labels;
  std::optional<std::int64_t> max_servers;  // nothing: unlimited; 0 or less: declines all requests
  Limits limits;                            // max-servers as "instances", and the driver's limits
  bool ignore_provider_quota = false;       // only `limits` apply
  std::int64_t priority = 100;              // lower is preferred
  model::Json node_attributes;              // copied to each node's `attributes`

  friend bool operator==(const PoolConfig&, const PoolConfig&) = default;
};

// Reads the settings that all pools have, except the labels, which the driver reads. The schema of
// `section` must include common_pool_fields(). Throws config::ConfigError.
PoolConfig load_common_pool(const config::Section& section,
                            const config::ProviderSection& provider);

// The configuration of one provider. Drivers derive from it.
class ProviderConfig {
 public:
  virtual ~ProviderConfig() = default;

  const std::string& name() const { return section_.name; }
  // Concurrent launches over all pools; negative: unlimited; 0: the provider accepts no request.
  std::int64_t max_concurrency() const { return section_.max_concurrency; }
  const std::map<std::string, PoolConfig>& pools() const { return pools_; }
  // Whether the cloud's own limits count for a pool.
  bool uses_cloud_quota() const;
  // The images that the builder uploads; nothing: the provider takes no images.
  const std::optional<ManagedImages>& managed_images() const { return managed_images_; }

  // What is wrong with another file that the section refers to, such as one with credentials;
  // nothing if all of them can be used. With a problem, the account is unknown, and possibly the
  // format of images; everything else is as usual.
  const std::optional<config::Problem>& outside_problem() const { return outside_problem_; }
  // Throws config::OutsideError if there is an outside_problem(): no provider can be created.
  void require_files() const;

  // What a provider offers as far as the configuration tells. By default, all labels of the pools,
  // with one instance each.
  virtual Offer offer() const;

  // Settings that are valid but probably mistakes, for `config-validate` and the daemons' logs.
  const std::vector<config::Problem>& config_warnings() const { return config_warnings_; }
  // The same for `config-validate` alone: settings that are right if another daemon's file has what
  // this one lacks.
  const std::vector<config::Problem>& validation_warnings() const { return validation_warnings_; }

  // Whether both configurations are equal: a reload then keeps the running provider. Includes the
  // settings taken from the top level, such as a diskimage's username. A driver that reads other
  // files overrides this and compares their contents as well.
  virtual bool same_as(const ProviderConfig& other) const {
    return section_ == other.section_ && pools_ == other.pools_ &&
           managed_images_ == other.managed_images_;
  }

 protected:
  explicit ProviderConfig(config::ProviderSection section) : section_(std::move(section)) {}
  std::map<std::string, PoolConfig> pools_;
  std::optional<ManagedImages> managed_images_;
  std::vector<config::Problem> config_warnings_;
  std::vector<config::Problem> validation_warnings_;
  std::optional<config::Problem> outside_problem_;

 private:
  config::ProviderSection section_;
};

// The dependencies of a provider. All of them outlive it.
struct ProviderContext {
  async::Runtime runtime;
  coordination::Store& store;
  model::NodeTable& nodes;
  model::ImageTable& images;
  async::ThreadPool& threads;  // for blocking calls
  telemetry::Logger log;
  telemetry::Metrics metrics = {};
  // The current installation. It changes when the store is replaced.
  std::shared_ptr<const model::Installation> installation =
      std::make_shared<const model::Installation>();
  // Whether the provider may begin work of its own: not in a command, which uses it once. A state
  // machine provider has one of its own, which ends when it is quiesced; its adapter shares it.
  std::shared_ptr<bool> is_serving = std::make_shared<bool>(true);
};

// A cloud resource that is tagged with the provider's name and has no record in the store.
struct Leak {
  std::string type;  // "instance", "volume", "image", …
  std::string id;
  Metadata metadata;
  bool is_ours = false;      // made by this installation for certain: the launcher deletes it
  std::string reason;        // why it is a leak, or why its owner is unknown
  bool is_leftover = false;  // known for certain: deleted when it is found once

  friend bool operator==(const Leak&, const Leak&) = default;
};

class LaunchingProvider;

// Supplies nodes: one object for each provider of the configuration. All functions run on the event
// loop. The caller cancels coroutines that take too long.
class Provider {
 public:
  virtual ~Provider() = default;

  virtual const ProviderConfig& config() const = 0;

  // Starts the provider and its background work. If it throws, the provider is out of service; the
  // launcher starts a new object later, or when the configuration changes.
  virtual Task<> start() = 0;

  // Stops the work that would conflict with a successor, which is about to start with a new
  // configuration.
  virtual void quiesce() = 0;

  // Transfers state, such as slots, watches and boot times, from the provider of the same name that
  // this one replaces. `predecessor` is quiesced, and its running calls continue. This provider has
  // not been started. By default, does nothing.
  virtual void take_over(Provider& /*predecessor*/) {}

  // Stops all work and releases all locks. No other call is in progress or follows.
  virtual Task<> stop() = 0;

  // This provider, if it launches nodes for requests. nullptr: it only hands out the nodes that it
  // has registered.
  virtual LaunchingProvider* launching() { return nullptr; }

  // What it offers now. Another call may return another object. By default, what the configuration
  // tells. Called for every decision: override it if that takes long.
  virtual std::shared_ptr<const Offer> offer() const;

  // --- providers that launch

  // The capacity for all nodes of this provider: the cloud's quota less the usage by others. May
  // take long. Throws if the cloud cannot be asked. By default, unlimited. Also refreshes offer().
  // The launcher caches the result, and launches nothing before the first one.
  virtual Task<Limits> available();

  // The flavors, images, networks, zones, … that the configuration names and the cloud does not
  // have, a sentence each. Throws if the cloud cannot be asked.
  virtual Task<std::vector<std::string>> missing_in_cloud();

  // nullptr: the provider takes no images.
  virtual ImageSupport* images() { return nullptr; }

  // --- all providers

  // Whether a ready node, which the caller has locked and is about to hand out, is healthy; one
  // without a record in ProviderContext::nodes is not. If not, the provider takes it out of service
  // once the caller has unlocked it.
  virtual Task<bool> is_usable(std::string node_id) = 0;

  // The nodes whose machines the cloud has terminated, and why, as one sentence for the node's
  // record: for example, a spot instance was reclaimed. May include nodes that are being deleted.
  // Called every minute. Throws if the cloud cannot be asked. By default, returns none.
  virtual Task<std::map<std::string, std::string>> terminated();

  // Deletes the machine of a node, or makes it ready again. The caller has locked the node and set
  // it to `deleting`. What is saved to `record` is there at the next attempt, in any launcher.
  // Returns the record that replaces the node's, if any; the caller then removes the node's record.
  // If it throws, the caller retries.
  virtual Task<std::optional<model::Node>> reclaim(NodeRecord& record) = 0;
};

// A provider that launches nodes for requests.
class LaunchingProvider : public Provider {
 public:
  LaunchingProvider* launching() final { return this; }
  std::shared_ptr<const Offer> offer() const override;

  // Makes the machine of a node, or resumes a launch that another launcher, or this one before a
  // restart, has begun. Returns when the node can be handed out: the launcher then sets its record
  // to `ready`. Throws LaunchError; any other exception counts as LaunchError::failed. After a
  // failure, the launcher calls reclaim(), which deletes what was made.
  virtual Task<> launch(NodeLaunch& launch) = 0;

  // Deletes the leaks: resources of nodes and uploads that have no record. Called every minute; may
  // take long. Logs failures and continues.
  virtual Task<> remove_leaks() = 0;

  // The leaks at present. Unlike remove_leaks(), includes those seen for the first time. Throws
  // CloudError.
  virtual Task<std::vector<Leak>> leaks() = 0;

  // Deletes a leak that leaks() has returned, at an operator's request. Throws CloudError.
  virtual Task<> remove_leak(Leak leak) = 0;
};

// A type of provider: one object for each `driver:` name, listed in drivers/registry.cc.
class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string_view name() const = 0;

  // The keys of a provider section, except those that all providers have.
  virtual const config::Schema& schema() const = 0;

  // Reads a provider section. Throws config::ConfigError. A problem of another file is no error:
  // see ProviderConfig::outside_problem().
  virtual std::shared_ptr<const ProviderConfig> configure(const config::ProviderSection& section,
                                                          const config::Config& config) const = 0;

  // The files besides nodepool.yaml that configure() reads for the section, including files that do
  // not exist yet. A change to one of them reloads the configuration.
  virtual std::set<std::string> files(const config::ProviderSection& section) const;

  // Creates a provider without starting it. `config` has no outside_problem().
  virtual std::unique_ptr<Provider> provider(std::shared_ptr<const ProviderConfig> config,
                                             ProviderContext context) const = 0;
};

// The drivers of a program, by name.
class DriverRegistry {
 public:
  explicit DriverRegistry(std::vector<std::unique_ptr<Driver>> drivers);

  // Throws std::out_of_range for an unknown name. Loading the configuration has checked it.
  const Driver& driver(std::string_view name) const;

  // Driver::files() of all providers of the configuration.
  std::set<std::string> files(const config::Config& config) const;

  // The schemas of all drivers.
  config::DriverSchemas schemas() const;

 private:
  std::map<std::string, std::unique_ptr<Driver>, std::less<>> drivers_;
};

}  // namespace nodepool::driver
