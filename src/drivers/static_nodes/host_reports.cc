#include "drivers/static_nodes/host_reports.h"

#include <fmt/format.h>

#include <boost/asio/ip/host_name.hpp>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"
#include "telemetry/log_errors.h"

namespace nodepool::drivers::static_nodes {

namespace {

using async::Task;
using coordination::CreateMode;
using coordination::Store;
using coordination::StoreError;

// Before a failed write is retried.
constexpr auto kRetryInterval = std::chrono::seconds(2);

// Rethrows all errors except those of this kind.
void expect_kind(const StoreError& error, StoreError::Kind kind) {
  if (error.kind() != kind) throw StoreError(error);
}

Task<bool> replace(Store& store, std::string path, std::string text) {
  try {
    co_await store.set(std::move(path), std::move(text), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    expect_kind(error, StoreError::Kind::no_node);
    co_return false;
  }
  co_return true;
}

Task<> create(Store& store, std::string path, std::string text) {
  co_await coordination::ensure_path(store, std::string(model::kHostsRoot));
  co_await store.create(std::move(path), std::move(text), CreateMode::ephemeral);
}

Task<> remove(Store& store, std::string path) {
  try {
    co_await store.remove(std::move(path), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    expect_kind(error, StoreError::Kind::no_node);
  }
}

}  // namespace

HostReports::HostReports(const async::Runtime& runtime, Store& store, telemetry::Logger log)
    : runtime_(runtime),
      store_(store),
      log_(std::move(log)),
      scope_(runtime, telemetry::log_errors(log_)) {}

void HostReports::start() {
  session_ = store_.on_session([this](coordination::SessionState state) {
    if (state == coordination::SessionState::connected) changed_.set();
  });
  scope_.spawn("reports of hosts", run());
}

void HostReports::report(const HostKey& host, model::HostReport report) {
  report.launcher = boost::asio::ip::host_name();
  Record& record = records_[host];
  if (record.id.empty()) record.id = runtime_.random.uuid_hex();
  record.wanted = to_record(report);
  changed_.set();
}

void HostReports::clear(const HostKey& host) {
  const auto record = records_.find(host);
  if (record == records_.end()) return;
  record->second.wanted.clear();
  changed_.set();
}

Task<> HostReports::stop() {
  session_.reset();
  co_await scope_.stop();
  for (auto& [host, record] : records_) record.wanted.clear();
  try {
    co_await write_all();
  } catch (const StoreError& error) {
    log_.debug("Host reports not removed, they end with the session: {}", error.what());
  }
}

Task<> HostReports::run() {
  while (true) {
    co_await changed_.wait();
    bool failed = false;
    try {
      co_await write_all();
    } catch (const StoreError& error) {
      if (error.kind() == StoreError::Kind::closed) throw;
      log_.debug("Error writing host reports, retrying: {}", error.what());
      failed = true;
    }
    if (!failed) continue;
    co_await changed_.wait_until(runtime_.clock, runtime_.clock.now() + kRetryInterval);
    changed_.set();
  }
}

// Reports that arrive meanwhile set the event again; only this function erases records.
Task<> HostReports::write_all() {
  for (auto record = records_.begin(); record != records_.end();) {
    co_await write(record->second);
    const bool is_gone = record->second.wanted.empty() && record->second.written.empty();
    record = is_gone ? records_.erase(record) : std::next(record);
  }
}

// The path contains the session's id. A write with unknown outcome is repeated at the same path.
Task<> HostReports::write(Record& record) {
  std::string path = coordination::join_path(
      model::kHostsRoot, fmt::format("{:x}-{}", store_.session_id(), record.id));
  if (record.path != path) {
    // The old record ended with its session, unless that ended just before the write.
    if (!record.path.empty()) co_await remove(store_, record.path);
    record.path = std::move(path);
    record.written.clear();
    record.uncertain = false;
  }
  if (!record.uncertain && record.wanted == record.written) co_return;
  const std::string text = record.wanted;
  record.uncertain = true;
  if (text.empty()) {
    co_await remove(store_, record.path);
  } else if (!co_await replace(store_, record.path, text)) {
    co_await create(store_, record.path, text);
  }
  record.written = text;
  record.uncertain = false;
}

}  // namespace nodepool::drivers::static_nodes
