#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/clock.h"
#include "coordination/forwarding_store.h"
#include "telemetry/metrics.h"

namespace nodepool::program {

// A store that measures the time of its operations, counts those in progress, and reports whether
// the store accepts writes.
class MeasuredStore final : public coordination::ForwardingStore {
 public:
  // Called after a write: with "" if it succeeded, with the error if the store is broken or full,
  // or the embedded store's lock is held by another process. Not called after other failures, which
  // do not show whether it accepts writes: of ZooKeeper, the session's state shows an outage.
  using WriteHandler = std::function<void(const std::string& refusal)>;

  // `inner` and `clock` outlive it. `is_embedded` is the kind of `inner`.
  MeasuredStore(const async::Clock& clock, coordination::Store& inner, bool is_embedded,
                telemetry::Metrics metrics, WriteHandler on_write);

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

  template <typename Result>
  async::Task<Result> reported(async::Task<Result> write);

  const async::Clock& clock_;
  bool is_embedded_;
  telemetry::Metrics metrics_;
  WriteHandler on_write_;
  std::size_t under_way_ = 0;
};

}  // namespace nodepool::program
