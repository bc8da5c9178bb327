#include "drivers/static_nodes/host_reports.h"

#include <fmt/format.h>

#include <boost/asio/ip/host_name.hpp>

#include "coordination/path.h"
#include "coordination/tree.h"
#include "model/paths.h"

namespace nodepool::drivers::static_nodes {

namespace {

using async::Task;
using coordination::CreateMode;
using coordination::Store;
using coordination::StoreError;

// Before another attempt when the store could not be written.
constexpr auto kWriteAgain = std::chrono::seconds(2);

// Whether the answer was the one that is expected here.
bool is(const StoreError& error, StoreError::Kind kind) {
  if (error.kind() != kind) throw StoreError(error);
  return true;
}

Task<bool> replace(Store& store, std::string path, std::string text) {
  try {
    co_await store.set(std::move(path), std::move(text), coordination::kAnyVersion);
  } catch (const StoreError& error) {
    co_return !is(error, StoreError::Kind::no_node);
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
    is(error, StoreError::Kind::no_node);
  }
}

}  // namespace

HostReports::HostReports(const async::Runtime& runtime, Store& store, telemetry::Logger log)
    : runtime_(runtime),
      store_(store),
      log_(std::move(log)),
      scope_(runtime, [this](const std::string& name, const std::string& error) {
        log_.error("{}: {}", name, error);
      }) {}

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
    log_.debug("Reports of hosts are left to the end of the session: {}", error.what());
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
      log_.debug("Reports of hosts are not written yet: {}", error.what());
      failed = true;
    }
    if (!failed) continue;
    co_await changed_.wait_until(runtime_.clock, runtime_.clock.now() + kWriteAgain);
    changed_.set();
  }
}

// Reports that come meanwhile set the event again; none is erased by anybody else.
Task<> HostReports::write_all() {
  for (auto record = records_.begin(); record != records_.end();) {
    co_await write(record->second);
    const bool is_gone = record->second.wanted.empty() && record->second.written.empty();
    record = is_gone ? records_.erase(record) : std::next(record);
  }
}

// The name says which session has written the record: what became of a write without an answer does
// not matter then, it is written again in the same place.
Task<> HostReports::write(Record& record) {
  std::string path = coordination::join_path(
      model::kHostsRoot, fmt::format("{:x}-{}", store_.session_id(), record.id));
  if (record.path != path) {
    // It went with its session, unless that ended just before the write.
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
