#pragma once

#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "async/runtime.h"
#include "async/thread_pool.h"
#include "cloud/endpoints.h"
#include "config/ca_bundle.h"
#include "config/environment.h"
#include "driver/statemachine/state_machine_driver.h"
#include "http/attempt_metrics.h"
#include "model/installation.h"
#include "telemetry/log.h"

namespace nodepool::cloud {

// What the adapter of a provider on an account needs.
struct AdapterContext {
  async::Runtime runtime;
  async::ThreadPool& threads;  // for blocking calls; outlives the adapter
  std::shared_ptr<const model::Installation> installation;
  telemetry::Logger log;
  http::Client::Observer on_attempt;  // called for every attempt of a call
};

// Base of drivers whose providers on one account share an endpoint. A driver implements name(),
// schema() and account_files(), and has three classes:
// * `Config(section, config, environment)`, with a function account();
// * `Shared(runtime, account, threads, log)`, see Endpoints;
// * `Adapter(context, config, endpoint)`, of an AdapterContext and shared pointers to the others.
template <typename Config, typename Shared, typename Adapter>
class AccountDriver : public driver::StateMachineDriver {
 public:
  // `environment`: for finding credentials and certificate authorities.
  explicit AccountDriver(config::Environment environment = config::process_environment())
      : environment_(std::move(environment)) {}

  std::shared_ptr<const driver::ProviderConfig> configure(
      const config::ProviderSection& section, const config::Config& config) const override {
    return std::make_shared<Config>(section, config, environment_);
  }
  std::set<std::string> files(const config::ProviderSection& section) const final {
    std::set<std::string> files = account_files(section);
    files.merge(config::ca_bundle_paths(environment_));
    return files;
  }

 protected:
  const config::Environment& environment() const { return environment_; }

 private:
  // As files(), without certificate authorities.
  virtual std::set<std::string> account_files(const config::ProviderSection& section) const = 0;

  using Account = std::remove_cvref_t<decltype(std::declval<const Config&>().account())>;

  std::unique_ptr<driver::Adapter> adapter(std::shared_ptr<const driver::ProviderConfig> config,
                                           driver::ProviderContext context) const final {
    auto ours = std::dynamic_pointer_cast<const Config>(std::move(config));
    const telemetry::Logger log = context.log.child("driver." + std::string(name()));
    auto endpoint = endpoints_->find(context.runtime, ours->account(), [&] {
      return std::make_shared<Shared>(context.runtime, ours->account(), context.threads, log);
    });
    const AdapterContext parts{context.runtime, context.threads, context.installation,
                               log.child(ours->name()),
                               http::attempt_metrics(context.metrics, ours->name())};
    return std::make_unique<Adapter>(parts, std::move(ours), std::move(endpoint));
  }

  config::Environment environment_;
  std::shared_ptr<Endpoints<Account, Shared>> endpoints_ =
      std::make_shared<Endpoints<Account, Shared>>();
};

}  // namespace nodepool::cloud
