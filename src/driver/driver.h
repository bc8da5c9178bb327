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
#include "driver/resources.h"
#include "model/image_table.h"
#include "model/installation.h"
#include "model/node.h"
#include "model/node_table.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

// What the launcher and the commands know of a driver, and all that a driver's author implements.
namespace nodepool::driver {

using async::Task;

// What every pool has, whatever its driver.
struct PoolConfig {
  std::string name;
  std::set<std::string, std::less<>> labels;
  std::optional<std::int64_t> max_servers;  // nothing: unlimited; 0 or less: the pool declines all
  Limits limits;                            // max-servers as "instances", and what the driver adds
  bool ignore_provider_quota = false;       // only `limits` count
  std::int64_t priority = 100;              // lower is preferred
  model::Json node_attributes;              // copied to each node's `attributes`

  friend bool operator==(const PoolConfig&, const PoolConfig&) = default;
};

// Reads the keys that all pools have; `section` was made with common_pool_fields() among its
// fields. The labels are left for the driver. Throws config::ConfigError.
PoolConfig load_common_pool(const config::Section& section,
                            const config::ProviderSection& provider);

// One provider of nodepool.yaml as its driver understands it.
class ProviderConfig {
 public:
  virtual ~ProviderConfig() = default;

  const std::string& name() const { return section_.name; }
  // Launches at a time over all pools; negative: unlimited; 0: the provider accepts nothing.
  std::int64_t max_concurrency() const { return section_.max_concurrency; }
  const std::map<std::string, PoolConfig>& pools() const { return pools_; }
  // What the builder uploads to it; nothing: it takes no images.
  const std::optional<ManagedImages>& managed_images() const { return managed_images_; }

  // What works, or did with the Python Nodepool, and is hardly meant. `config-validate` says it.
  const std::vector<config::Problem>& config_warnings() const { return config_warnings_; }

  // Whether an operator has changed nothing: then a reload keeps the running provider. What was
  // taken from elsewhere counts, too: from the top level (how machines of a diskimage are used), or
  // from other files, for which the driver adds to this.
  virtual bool same_as(const ProviderConfig& other) const {
    return section_ == other.section_ && pools_ == other.pools_ &&
           managed_images_ == other.managed_images_;
  }

 protected:
  explicit ProviderConfig(config::ProviderSection section) : section_(std::move(section)) {}
  std::map<std::string, PoolConfig> pools_;
  std::optional<ManagedImages> managed_images_;
  std::vector<config::Problem> config_warnings_;

 private:
  config::ProviderSection section_;
};

// What a provider works with. Everything outlives it.
struct ProviderContext {
  async::Runtime runtime;
  coordination::Store& store;
  model::NodeTable& nodes;
  model::ImageTable& images;
  async::ThreadPool& threads;  // for calls that block
  telemetry::Logger log;
  telemetry::Metrics metrics = {};
  // As it is now: it is another one when the store is.
  std::shared_ptr<const model::Installation> installation =
      std::make_shared<const model::Installation>();
};

// Something in the cloud that says that it is the provider's, and that no record knows.
struct Leak {
  std::string type;  // "instance", "volume", "image", …
  std::string id;
  Metadata metadata;
  bool is_ours = false;  // certainly made by this installation: the launcher deletes it
  std::string reason;    // why it is one, or why nobody can tell

  friend bool operator==(const Leak&, const Leak&) = default;
};

// The labels of each node that a pool has when all are in good order.
using Inventory = std::vector<std::vector<std::string>>;

class LaunchingProvider;

// A running source of nodes: one for each provider of the configuration. All functions run on the
// loop; a slow one is cancelled by its caller's scope.
class Provider {
 public:
  virtual ~Provider() = default;

  virtual const ProviderConfig& config() const = 0;

  // Begins to serve. Background work goes on after it returns. Throws: the provider is then out of
  // service, and another object is started in its place later, or when the configuration changes.
  virtual Task<> start() = 0;

  // Ends what would conflict with a successor that is about to start with a new configuration.
  virtual void quiesce() = 0;

  // This provider, which has not been started, replaces `predecessor` of the same name, which is
  // quiesce(), and whose calls that are under way go on. It may take from it what it knows: slots,
  // watches, what was learned. By default nothing.
  virtual void take_over(Provider& /*predecessor*/) {}

  // Ends all work, having released every lock.
  virtual Task<> stop() = 0;

  // The same provider, if it makes nodes for requests. nullptr: it only hands out those that it has
  // registered.
  virtual LaunchingProvider* launching() { return nullptr; }
  virtual bool launches() const { return false; }

  // --- providers that launch

  // What one node with this label of this pool takes. By default one instance.
  virtual Resources need(std::string_view pool, std::string_view label) const;

  // Why the label cannot be served for now: its image is missing, or its flavor. Nothing if it can.
  virtual std::optional<std::string> label_problem(std::string_view pool,
                                                   std::string_view label) const;

  // The zones that machines of the pool may be made in: the nodes of one request share one. Empty:
  // the provider chooses.
  virtual std::vector<std::string> zones(std::string_view pool) const;

  // The most that all nodes of this provider may take together: what the cloud allows, less what
  // it is used for by others. May take long; throws if it cannot be found out. By default there is
  // no limit. The launcher asks when it needs to know, and remembers the answer. What need(),
  // label_problem() and zones() say of the cloud is refreshed with it: before the first answer
  // nothing is launched.
  virtual Task<Limits> available();

  // What the configuration names and the cloud does not have, a sentence each: flavors, images,
  // networks, zones. Throws if the cloud cannot be asked.
  virtual Task<std::vector<std::string>> missing_in_cloud();

  // --- providers that only hand out

  // How many nodes with this label the pool has when all are in good order; requests for more can
  // never be served by it. Nothing: no such bound.
  virtual std::optional<std::int64_t> capacity(std::string_view pool, std::string_view label) const;

  // What the pool has when all its nodes are in good order: a request for labels that these cannot
  // carry all at once can never be served by it. Empty: the driver does not say.
  virtual const Inventory& inventory(std::string_view pool) const;

  // nullptr: the provider takes no images.
  virtual ImageSupport* images() { return nullptr; }

  // --- all providers

  // Looks whether a ready node that is about to be handed out, and is locked by the caller, is in
  // working order. If not, the provider takes it out of service once the caller has unlocked it.
  virtual Task<bool> is_usable(model::Node node) = 0;

  // Why the node's machine has ended though nobody has asked for that: the cloud has taken it away,
  // say. Nothing if it has not, or nobody knows. Told from what is listed for all nodes alike:
  // every minute it is asked about each of them. One sentence, for the node's record. Throws if the
  // cloud cannot be asked. By default nobody knows.
  virtual Task<std::optional<std::string>> termination_reason(model::Node node);

  // Takes back the machine of a node, which the caller has locked and set to `deleting`: deletes
  // it, or makes it ready again. What it saves is there when it is tried again, by whomever.
  // Returns the record to register in place of the node's, if any; the caller then removes the
  // node's record. Throws if it failed: the caller will try again.
  virtual Task<std::optional<model::Node>> reclaim(NodeRecord& record) = 0;

  // --- what providers are told, if they want to know

  // A node that was ready is handed out by this launcher.
  virtual void node_reused(const model::Node& /*node*/) {}

  // The record of a node has been removed by this launcher, once its machine was taken back.
  virtual void node_deleted(const model::Node& /*node*/) {}
};

// A provider that makes the nodes that requests ask for.
class LaunchingProvider : public Provider {
 public:
  LaunchingProvider* launching() final { return this; }
  bool launches() const final { return true; }

  // Makes the machine of a node, or goes on with it: a node that is already `building` was left by
  // a launcher that died (see resumes()). Returns when the node can be handed out: its record then
  // becomes `ready`. Throws LaunchError; any other exception counts as LaunchError::failed. What
  // has been made is deleted by reclaim() after that.
  virtual Task<> launch(NodeLaunch& launch) = 0;

  // All nodes that are made for a request: called once for them, while the launches of the single
  // ones wait for its end. For clouds that make them as a whole; what is learned goes to their
  // records, by which launch() then goes on. What it throws, each launch has failed with. By
  // default nothing. `launches` outlive it.
  virtual Task<> launch_together(std::vector<NodeLaunch*> launches);

  // Whether launch() can go on with what another launcher, or this one before it was restarted, has
  // begun. Otherwise its node is taken back.
  virtual bool resumes() const { return false; }

  // Deletes what belongs to nodes and uploads that are gone. Called every minute; may take long.
  // What fails is logged, and keeps nothing else.
  virtual Task<> remove_leaks() = 0;

  // What a search finds now, at its first look. Throws what the cloud's failure
  // is.
  virtual Task<std::vector<Leak>> leaks() = 0;

  // Deletes something that leaks() has shown, on an operator's word. Throws what the cloud's
  // failure is.
  virtual Task<> remove_leak(Leak leak) = 0;
};

// Whether the provider can go on with launches that another one has begun.
bool resumes(Provider& provider);

// A kind of provider: one object for each `driver:` name, listed in drivers/registry.cc.
class Driver {
 public:
  virtual ~Driver() = default;

  virtual std::string_view name() const = 0;

  // The keys of its provider section without those that every provider has.
  virtual const config::Schema& schema() const = 0;

  // Reads a provider section. Throws config::ConfigError.
  virtual std::shared_ptr<const ProviderConfig> configure(const config::ProviderSection& section,
                                                          const config::Config& config) const = 0;

  // The files that configure() reads for the section beside nodepool.yaml, or would read if they
  // existed: a change of one of them is a change of the configuration.
  virtual std::set<std::string> files(const config::ProviderSection& section) const;

  // Makes a provider that has not been started.
  virtual std::unique_ptr<Provider> provider(std::shared_ptr<const ProviderConfig> config,
                                             ProviderContext context) const = 0;
};

// All drivers of a program by name.
class DriverRegistry {
 public:
  explicit DriverRegistry(std::vector<std::unique_ptr<Driver>> drivers);

  // Throws std::out_of_range for a name that is not registered: the configuration has checked it.
  const Driver& driver(std::string_view name) const;

  // Driver::files() of all providers of the configuration.
  std::set<std::string> files(const config::Config& config) const;

  // The drivers as the configuration sees them, with the names of those that only the Python
  // Nodepool has.
  config::DriverSchemas schemas() const;

 private:
  std::map<std::string, std::unique_ptr<Driver>, std::less<>> drivers_;
};

}  // namespace nodepool::driver
