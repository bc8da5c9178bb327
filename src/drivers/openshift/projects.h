#pragma once

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "async/backoff.h"
#include "async/runtime.h"
#include "drivers/kubernetes/spaces.h"
#include "telemetry/log.h"

namespace nodepool::drivers::openshift {

using kubernetes::Element;
using kubernetes::Json;
using kubernetes::KubeApi;

// The projects of OpenShift. Users who may not make namespaces can request projects, but cannot set
// labels: the tags are in the project's description.
class Projects final : public kubernetes::Spaces {
 public:
  // `api` outlives it.
  Projects(const async::Runtime& runtime, telemetry::Logger log, KubeApi& api)
      : runtime_(runtime), log_(std::move(log)), api_(api) {}

  std::string_view word() const override { return "project"; }
  async::Task<bool> make(std::string name, driver::Metadata attached) override;
  async::Task<std::optional<kubernetes::Space>> find(std::string name) override;
  async::Task<std::vector<kubernetes::Space>> list() override;
  async::Task<bool> remove(std::string name) override;
  async::Task<> grant(std::string name, bool has_pod) override;
  async::Task<kubernetes::PodList> pods(std::set<std::string> awaited) override;
  void follow(kubernetes::Watcher& watcher, std::function<void()> on_space,
              std::function<void()> on_pod) override;
  bool reports_pods() const override { return false; }
  bool reports_all_spaces() const override { return false; }

 private:
  struct Listings;

  struct Failing {
    async::Backoff backoff{std::chrono::seconds(2), std::chrono::seconds(30)};
    async::Clock::TimePoint next_attempt{};
  };

  bool is_due(const std::string& project) const;
  async::Task<> list_pods(std::string project, Listings& listings);
  void back_off(const std::string& project, const driver::CloudError& error);

  async::Runtime runtime_;
  telemetry::Logger log_;
  KubeApi& api_;
  std::map<std::string, Failing> failing_;  // awaited projects whose pods could not be listed
};

}  // namespace nodepool::drivers::openshift
