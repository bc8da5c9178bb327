#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "async/clock.h"
#include "coordination/store.h"
#include "telemetry/metrics.h"

namespace nodepool::program {

// A store that measures the time of its operations and counts those in progress. Everything else is
// passed to the inner store.
class MeasuredStore final : public coordination::Store {
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
  coordination::Subscription watch(std::string root, coordination::WatchHandler handler) override;
  coordination::Subscription on_session(coordination::SessionHandler handler) override;
  coordination::SessionState session_state() const override { return inner_.session_state(); }
  std::int64_t session_id() const override { return inner_.session_id(); }
  async::Task<> close() override;

 private:
  class Measurement;

  const async::Clock& clock_;
  coordination::Store& inner_;
  telemetry::Metrics metrics_;
  std::size_t under_way_ = 0;
};

}  // namespace nodepool::program
