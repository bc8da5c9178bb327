#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/clock.h"
#include "coordination/forwarding_store.h"
#include "telemetry/metrics.h"

namespace nodepool::program {

// A store that measures the time of its operations and counts those in progress.
class MeasuredStore final : public coordination::ForwardingStore {
 public:
  // `inner` and `clock` outlive it.
  MeasuredStore(const async::Clock& clock, coordination::Store& inner, telemetry::Metrics metrics);

  // The number of operations in progress.
  std::size_t under_way() const { return under_way_; }

  async::Task<std::string> create(std::string path, std::string data,
                                  coordination::CreateMode mode) override;
  async::Task<coordination::Entry> get(std::string path) override;
  async::Task<std::optional<coordination::Stat>> exists(std::string path) override;
  async::Task<coordination::Stat> set(std::string path, std::string data,
                                      std::int32_t expected) override;
  async::Task<> remove(std::string path, std::int32_t expected) override;
  async::Task<std::vector<std::string>> children(std::string path) override;
  async::Task<std::vector<coordination::OperationResult>> commit(
      coordination::Transaction transaction) override;

 private:
  class Measurement;

  const async::Clock& clock_;
  telemetry::Metrics metrics_;
  std::size_t under_way_ = 0;
};

}  // namespace nodepool::program
