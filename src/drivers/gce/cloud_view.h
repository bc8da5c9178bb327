#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/shared_result.h"
#include "cloud/by_id.h"
#include "cloud/use_by_others.h"
#include "driver/resources.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/shared_poller.h"
#include "drivers/gce/api/compute_engine.h"

namespace nodepool::drivers::gce {

// Between two polls of the list of instances.
inline constexpr async::Duration kPollInterval = std::chrono::seconds(2);

// A shared cache of what a zone has. All functions throw CloudError.
class CloudView {
 public:
  // The references outlive it.
  CloudView(const async::Runtime& runtime, ComputeEngine& compute);

  using InstanceList = cloud::ById<ComputeInstance, &ComputeInstance::name>;
  using Instances = driver::SharedPoller<InstanceList>;
  // Launches and deletions wait for changes in it.
  Instances& instances() { return instances_; }
  // How long instances take to go, to schedule polls.
  driver::BootTimes& removal_times() { return removal_times_; }

  // Nothing if the zone had no such type at most five minutes ago.
  async::Task<std::optional<MachineType>> machine_type(std::string name);
  // The `sourceImage` of new disks; nothing if there is no such image.
  async::Task<std::optional<std::string>> image(ImageReference reference);
  // What an instance of the type takes, also of the region's quotas by metric.
  async::Task<driver::Resources> taken_by(std::string machine_type);
  // The quotas of the region, less what is used in other zones; nothing if there is no such region.
  async::Task<std::optional<driver::Limits>> quotas();

  // Drop what is cached.
  void forget_images();
  void forget_quotas() { quotas_.drop(); }

  // Call it after the last call of the other functions.
  async::Task<> stop();

 private:
  using Image = std::optional<std::string>;
  struct KnownType {
    std::optional<MachineType> type;  // nothing: the zone had no such type
    async::Clock::TimePoint asked_at;
  };

  async::Task<Image> ask_image(ImageReference reference);
  async::Task<std::optional<driver::Limits>> ask_quotas();
  async::Task<driver::Resources> counted_for_zone();

  async::Runtime runtime_;
  ComputeEngine& compute_;
  Instances instances_;
  driver::BootTimes removal_times_;
  async::SharedResult<std::optional<driver::Limits>> quotas_;
  cloud::UseByOthers use_by_others_;
  // Only references of the configurations.
  std::map<ImageReference, std::unique_ptr<async::SharedResult<Image>>> images_;
  std::map<std::string, KnownType> types_;
};

}  // namespace nodepool::drivers::gce
