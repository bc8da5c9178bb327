#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/live_tasks.h"
#include "config/environment.h"
#include "driver/ownership.h"
#include "drivers/kubernetes/names.h"
#include "tests/drivers/contract/contract.h"
#include "tests/drivers/kubernetes/stand_in/stand_in.h"
#include "tests/support/temporary_directory.h"

namespace nodepool::drivers::contract {

// The stand-in as the contract sees it: machines are namespaces with a pod, projects, or pods.
class KubeFixture : public CloudFixture {
 public:
  using Json = kubernetes::StandIn::Json;

  // `machine`: what is asked for first, and what goes when a node goes.
  KubeFixture(harness::Installation& installation, std::string machine)
      : runtime_{loop_.executor(), installation.clock, installation.random},
        machine_(std::move(machine)),
        cluster_(runtime_) {}

  void provoke(Trouble trouble, std::size_t times) override {
    const auto fail = [&](const std::string& call, std::size_t calls, int status,
                          const char* message = "as the test wants it") {
      cluster_.fail(call, std::vector<int>(calls, status), message);
    };
    switch (trouble) {
      case Trouble::quota:
        return fail("POST " + machine_, times, 403, "forbidden: exceeded quota: q");
      case Trouble::creation_error:
        return fail("POST " + machine_, times, 400);
      case Trouble::no_capacity:
      case Trouble::broken_machine:
        cluster_.broken_pods = times;
        return;
      case Trouble::response_lost:
        return fail("POST " + machine_, times, -1);
      case Trouble::request_lost:
        return fail("POST " + machine_, times, 0);
      case Trouble::deletion_error:
        return fail("DELETE " + removed_, times, 400);
      case Trouble::listing_error:
        return fail("LIST " + removed_, times * kAttempts, 503);
      case Trouble::listing_failed:
        return fail(awaited_, times, 400);
      case Trouble::limits_error:
        return fail("LIST " + limits_, times * kAttempts, 503);
      case Trouble::image_error:
        return;  // there are none
      case Trouble::busy: {
        std::vector<int> statuses;
        for (std::size_t i = 0; i < times; ++i) statuses.push_back(i % 2 == 0 ? 429 : 503);
        return cluster_.fail_any(statuses);
      }
      case Trouble::token_expired:
        return cluster_.fail_any(std::vector<int>(times, 401));
    }
  }

  void set_boot_time(async::Duration time) override { cluster_.boot_time = time; }

  // How often a call is made until it has failed for the driver.
  static constexpr std::size_t kAttempts = 4;

  kubernetes::StandIn& cluster() { return cluster_; }

  // The wire is silent when every call that waits for an answer is one that is held back.
  bool wait_for_wire() override {
    const bool cluster_ran = loop_.poll();
    const auto tasks = async::live_tasks(launcher_);
    const auto calls = static_cast<std::size_t>(std::ranges::count_if(tasks, waits_for_answer));
    return cluster_ran || calls > cluster_.held_back();
  }

 protected:
  static bool waits_for_answer(const async::LiveTask& task) {
    return std::ranges::any_of(task.waits, [](const async::LiveTask::Wait& wait) {
      return wait.what.starts_with("http:");
    });
  }

  // A provider that finds a kubeconfig; the launcher that asked before is dead.
  template <typename Driver>
  std::unique_ptr<driver::Provider> make(driver::ProviderContext context,
                                         const std::string& configuration) {
    const config::Environment environment = {
        {"KUBECONFIG", directory_.write("kubeconfig",
                                        "current-context: one\n"
                                        "contexts: [{name: one, context: {cluster: c, user: u}}]\n"
                                        "clusters: [{name: c, cluster: {server: '" +
                                            cluster_.url() +
                                            "'}}]\n"
                                            "users: [{name: u, user: {token: t0ken}}]\n")}};
    launcher_ = context.runtime.executor;
    cluster_.end_watches();
    while (loop_.poll()) {
    }
    const Driver driver(environment);
    return driver.provider(read_provider(driver, configuration), std::move(context));
  }

  static Json labels_of(const driver::Metadata& metadata) {
    Json labels = Json::object();
    for (const auto& [key, value] : metadata) labels[key] = value;
    return labels;
  }

  // What the driver would have called it; the other name if it says of an earlier node when that
  // was made: the suite tells machines apart by their ids, which are names here.
  static std::string name_of(const std::string& prefix, const driver::Metadata& metadata,
                             int number) {
    const std::string node = driver::value_of(metadata, driver::kNodeIdKey);
    if (node.empty()) return "other-" + std::to_string(number);
    const bool is_marked = metadata.contains(driver::kNodeCreatedKey);
    return kubernetes::names_for(prefix, node, metadata).at(is_marked ? 1 : 0);
  }

  async::EventLoop loop_;
  async::Runtime runtime_;
  std::string machine_;
  std::string removed_ = machine_;
  std::string awaited_ = "LIST pods";  // what a launch polls
  std::string limits_ = "nodes";
  kubernetes::StandIn cluster_;
  test_support::TemporaryDirectory directory_;
  async::Executor launcher_;
  int others_ = 0;
};

}  // namespace nodepool::drivers::contract
