#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/task.h"
#include "async/task_scope.h"
#include "config/config.h"
#include "driver/driver.h"
#include "lifecycle/provider_start_retrier.h"
#include "telemetry/log.h"

namespace nodepool::lifecycle {

using async::Task;

// The providers of a daemon. Applies configurations to them: starts new ones, replaces changed
// ones, retires removed ones, and keeps the others. Retries in the background what cannot start.
// A problem of a file that one provider needs concerns no other provider.
class ProviderSet {
 public:
  // The daemon. It puts providers into service, and takes them out of it.
  class User {
   public:
    virtual ~User() = default;

    // Whether the daemon uses a provider with this configuration. Throws if the configuration is
    // invalid for it.
    virtual bool wants(const driver::ProviderConfig& /*config*/) const { return true; }

    // Puts a provider, which has started, into service. It is stopped when it is out of service and
    // all copies of `provider` are gone: a caller keeps one until its last call has ended.
    // Throws if it cannot serve, like a start that fails.
    virtual void put_in_service(std::shared_ptr<driver::Provider> provider) = 0;

    // Takes a provider out of service, at once. The returned task ends what runs for it.
    virtual Task<> take_out_of_service(std::string name) = 0;

    // Adapts everything else to the configuration and to the providers in service. Called when
    // these have changed; replaced and removed providers are stopped after that. Throws StoreError
    // to be called again.
    virtual Task<> adapt(const config::Config& config) = 0;
  };

  using Configs = std::map<std::string, std::shared_ptr<const driver::ProviderConfig>>;

  // The arguments outlive this.
  ProviderSet(const driver::DriverRegistry& drivers, driver::ProviderContext context,
              const telemetry::Logger& log, User& user);

  // Applies a configuration, and logs its new config_warnings(); waits while the store is
  // unreachable. Not during another call. Throws config::ConfigError and what User::wants() throws,
  // before anything has changed; StoreError (closed), Cancelled.
  Task<> apply(config::Config config);

  // The providers that the daemon wants, in service or not. Those of outdated() have the
  // configuration that is in effect.
  const Configs& wanted() const { return wanted_; }

  // Those that could not start, each with the reason.
  const std::map<std::string, std::string>& failures() const { return retrier_.failures(); }

  // Those in service that keep an earlier configuration, because the new one has an
  // outside_problem(): the reason.
  const std::map<std::string, std::string>& outdated() const { return outdated_; }

  // Stops retrying to start providers, for a daemon that is about to stop.
  Task<> stop_retrying() { return retrier_.stop(); }

  // Stops all providers. Before: stop_retrying().
  Task<> stop();

 private:
  // A provider that has started.
  struct Started {
    std::shared_ptr<driver::Provider> provider = {};
    // The daemon's pointer to it, and the event that its last copy is gone.
    std::weak_ptr<driver::Provider> in_use = {};
    std::shared_ptr<async::Event> unused = {};
  };

  // A provider that is out of service, and what ends it.
  struct Replaced {
    std::shared_ptr<driver::Provider> provider;
    Task<> stop;
  };

  static Task<> stop_after(Task<> end_of_service, Started started);

  Configs configure(const config::Config& config) const;
  void want(Configs wanted);
  void log_new_warnings(const Configs& previous) const;
  void take_replaced_out_of_service();
  Task<bool> start_missing();
  Task<> start(const config::ProviderSection& section);
  Task<std::optional<std::string>> try_to_start(const config::ProviderSection& section,
                                                Started& started);
  std::shared_ptr<driver::Provider> create(const config::ProviderSection& section) const;
  Task<> start_and_put_in_service(Started& started);
  bool is_complete() const { return started_.size() == wanted_.size(); }
  Task<bool> retry();
  void stop_replaced();
  Task<> retire(Started started);

  const driver::DriverRegistry& drivers_;
  driver::ProviderContext context_;
  telemetry::Logger log_;
  User& user_;
  config::Config config_;  // in effect, or being applied
  Configs wanted_;         // its providers
  std::map<std::string, std::string> outdated_;
  std::map<std::string, Started> started_;
  std::map<std::string, Replaced> replaced_;  // or removed, by the configuration being applied
  ProviderStartRetrier retrier_;
  async::TaskScope stopping_;  // replaced providers, each until it is not in use any more
};

}  // namespace nodepool::lifecycle
