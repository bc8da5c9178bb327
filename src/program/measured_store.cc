#include "program/measured_store.h"

#include <string_view>
#include <type_traits>
#include <utility>

#include "telemetry/process_metrics.h"

namespace nodepool::program {

using async::Task;
using coordination::StoreError;

// Measures the time of an operation, also of a failed one.
class MeasuredStore::Measurement {
 public:
  Measurement(MeasuredStore& store, std::string_view operation)
      : store_(store), operation_(operation), begun_(store.clock_.now()) {
    ++store_.under_way_;
  }
  ~Measurement() {
    --store_.under_way_;
    store_.metrics_.time(telemetry::series<telemetry::kStoreCalls>(operation_),
                         store_.clock_.now() - begun_);
  }
  Measurement(const Measurement&) = delete;
  Measurement& operator=(const Measurement&) = delete;

 private:
  MeasuredStore& store_;
  std::string_view operation_;
  async::Clock::TimePoint begun_;
};

MeasuredStore::MeasuredStore(const async::Clock& clock, coordination::Store& inner,
                             bool is_embedded, telemetry::Metrics metrics, WriteHandler on_write)
    : ForwardingStore(inner),
      clock_(clock),
      is_embedded_(is_embedded),
      metrics_(std::move(metrics)),
      on_write_(std::move(on_write)) {}

// Reports the outcome of a write.
template <typename Result>
Task<Result> MeasuredStore::reported(Task<Result> write) {
  try {
    if constexpr (std::is_void_v<Result>) {
      co_await std::move(write);
      on_write_({});
    } else {
      Result result = co_await std::move(write);
      on_write_({});
      co_return result;
    }
  } catch (const StoreError& error) {
    using Kind = StoreError::Kind;
    const bool is_locked = is_embedded_ && error.kind() == Kind::disconnected;
    const bool is_broken = error.kind() == Kind::storage || error.kind() == Kind::no_space;
    if (is_broken || is_locked) on_write_(error.what());
    throw;
  }
}

Task<std::string> MeasuredStore::create(std::string path, std::string data,
                                        coordination::CreateMode mode) {
  const Measurement measurement(*this, "create");
  co_return co_await reported(ForwardingStore::create(std::move(path), std::move(data), mode));
}

Task<coordination::Entry> MeasuredStore::get(std::string path) {
  const Measurement measurement(*this, "get");
  co_return co_await ForwardingStore::get(std::move(path));
}

Task<std::optional<coordination::Stat>> MeasuredStore::exists(std::string path) {
  const Measurement measurement(*this, "exists");
  co_return co_await ForwardingStore::exists(std::move(path));
}

Task<coordination::Stat> MeasuredStore::set(std::string path, std::string data,
                                            std::int32_t expected) {
  const Measurement measurement(*this, "set");
  co_return co_await reported(ForwardingStore::set(std::move(path), std::move(data), expected));
}

Task<> MeasuredStore::remove(std::string path, std::int32_t expected) {
  const Measurement measurement(*this, "remove");
  co_await reported(ForwardingStore::remove(std::move(path), expected));
}

Task<std::vector<std::string>> MeasuredStore::children(std::string path) {
  const Measurement measurement(*this, "children");
  co_return co_await ForwardingStore::children(std::move(path));
}

Task<std::vector<coordination::OperationResult>> MeasuredStore::commit(
    coordination::Transaction transaction) {
  const Measurement measurement(*this, "commit");
  co_return co_await reported(ForwardingStore::commit(std::move(transaction)));
}

}  // namespace nodepool::program
