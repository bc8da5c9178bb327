#include "bench/counting_store.h"

#include <utility>

namespace nodepool::bench {

using async::Task;

void CountingStore::count_write(std::size_t operations) {
  ++counts_.transactions;
  counts_.operations += operations;
}

Task<std::string> CountingStore::create(std::string path, std::string data,
                                        coordination::CreateMode mode) {
  count_write(1);
  co_await clock_.sleep_for(round_trip_);
  co_return co_await ForwardingStore::create(std::move(path), std::move(data), mode);
}

Task<coordination::Entry> CountingStore::get(std::string path) {
  ++counts_.reads;
  co_await clock_.sleep_for(round_trip_);
  co_return co_await ForwardingStore::get(std::move(path));
}

Task<std::optional<coordination::Stat>> CountingStore::exists(std::string path) {
  ++counts_.reads;
  co_await clock_.sleep_for(round_trip_);
  co_return co_await ForwardingStore::exists(std::move(path));
}

Task<coordination::Stat> CountingStore::set(std::string path, std::string data,
                                            std::int32_t expected) {
  count_write(1);
  co_await clock_.sleep_for(round_trip_);
  co_return co_await ForwardingStore::set(std::move(path), std::move(data), expected);
}

Task<> CountingStore::remove(std::string path, std::int32_t expected) {
  count_write(1);
  co_await clock_.sleep_for(round_trip_);
  co_await ForwardingStore::remove(std::move(path), expected);
}

Task<std::vector<std::string>> CountingStore::children(std::string path) {
  ++counts_.reads;
  co_await clock_.sleep_for(round_trip_);
  co_return co_await ForwardingStore::children(std::move(path));
}

Task<std::vector<coordination::OperationResult>> CountingStore::commit(
    coordination::Transaction transaction) {
  count_write(transaction.size());
  co_await clock_.sleep_for(round_trip_);
  co_return co_await ForwardingStore::commit(std::move(transaction));
}

}  // namespace nodepool::bench
