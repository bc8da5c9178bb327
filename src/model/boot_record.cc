#include "model/boot_record.h"

#include <cmath>

#include "coordination/error.h"
#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "model/record_io.h"

namespace nodepool::model {

using coordination::StoreError;
using coordination::Task;

namespace {

// More are not read, and launchers do not write more.
constexpr std::size_t kMostTimes = 100;

std::vector<double> read_times(const record_io::OrderedJson& value) {
  std::vector<double> times;
  if (!value.is_array()) throw RecordError("boot times must be a list");
  for (const record_io::OrderedJson& entry : value) {
    const double time = entry.is_number() ? entry.get<double>() : -1;
    if (!std::isfinite(time) || time < 0)
      throw RecordError("a boot time must be a non-negative number");
    if (times.size() < kMostTimes) times.push_back(time);
  }
  return times;
}

BootRecord parse_boot_record(const std::string& data) {
  BootRecord record;
  for (const auto& [label, times] : record_io::parse_object(data)) {
    record.emplace(label, read_times(times));
  }
  return record;
}

std::string to_record(const BootRecord& record) {
  auto object = record_io::OrderedJson::object();
  for (const auto& [label, times] : record) object[label] = times;
  return record_io::dump(object);
}

}  // namespace

Task<BootRecord> read_boot_record(coordination::Store& store, std::string provider) {
  try {
    co_return parse_boot_record(
        (co_await store.get(coordination::join_path(kBootTimesRoot, provider))).data);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::no_node) throw;
  } catch (const RecordError&) {
  }
  co_return BootRecord{};
}

Task<> write_boot_record(coordination::Store& store, std::string provider, BootRecord record) {
  const std::string path = coordination::join_path(kBootTimesRoot, provider);
  const std::string data = to_record(record);
  co_await coordination::ensure_path(store, path);
  co_await store.set(path, data, coordination::kAnyVersion);
}

}  // namespace nodepool::model
