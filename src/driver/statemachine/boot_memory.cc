#include "driver/statemachine/boot_memory.h"

#include "coordination/error.h"
#include "driver/driver_metrics.h"
#include "model/boot_record.h"

namespace nodepool::driver {

namespace {

// Between two writes. Boot times that a crash loses are learned again.
constexpr auto kWriteInterval = std::chrono::minutes(5);

// In seconds, rounded to milliseconds.
std::vector<double> seconds_of(const BootTimes& times) {
  std::vector<double> seconds;
  for (const async::Duration taken : times.samples()) {
    const auto rounded = std::chrono::round<std::chrono::milliseconds>(taken);
    seconds.push_back(static_cast<double>(rounded.count()) / 1000);
  }
  return seconds;
}

}  // namespace

BootMemory::BootMemory(ProviderContext context, const ProviderConfig& config, telemetry::Logger log)
    : context_(std::move(context)), provider_(config.name()), log_(std::move(log)) {
  for (const auto& [name, pool] : config.pools()) {
    labels_.insert(pool.labels.begin(), pool.labels.end());
  }
}

BootTimes& BootMemory::of(const std::string& label) {
  return times_.try_emplace(label, [this, label](async::Duration taken) { learned(label, taken); })
      .first->second;
}

void BootMemory::learned(const std::string& label, async::Duration taken) {
  is_dirty_ = true;
  context_.metrics.time(telemetry::series<kBoots>(provider_, label), taken);
}

void BootMemory::take_over(const BootMemory& predecessor) {
  for (const auto& [label, times] : predecessor.times_) {
    if (labels_.contains(label)) of(label).restore(seconds_of(times));
  }
  is_restored_ = predecessor.is_restored_;
  is_dirty_ = predecessor.is_dirty_;
  written_at_ = predecessor.written_at_;
}

Task<> BootMemory::restore() {
  if (is_restored_) co_return;
  std::string failure;
  try {
    const model::BootRecord record = co_await model::read_boot_record(context_.store, provider_);
    for (const auto& [label, times] : record) {
      if (labels_.contains(label)) of(label).restore(times);
    }
    is_restored_ = true;
  } catch (const coordination::StoreError& error) {
    failure = error.what();
  }
  if (!failure.empty()) log_.warning("Error reading saved boot times: {}", failure);
}

Task<> BootMemory::save_if_due() {
  const auto now = context_.runtime.clock.now();
  const bool is_due = !written_at_ || now >= *written_at_ + kWriteInterval;
  if (!is_dirty_ || !is_due) co_return;
  written_at_ = now;
  is_dirty_ = false;
  co_await restore();
  std::string failure;
  try {
    co_await write();
  } catch (const coordination::StoreError& error) {
    failure = error.what();
    is_dirty_ = true;
  }
  if (!failure.empty()) log_.warning("Error saving boot times: {}", failure);
}

Task<> BootMemory::write() {
  model::BootRecord record;
  for (const auto& [label, times] : times_) record.emplace(label, seconds_of(times));
  co_await model::write_boot_record(context_.store, provider_, std::move(record));
}

}  // namespace nodepool::driver
