#include "program/daemon_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "coordination/outage.h"
#include "coordination/sqlite/free_space.h"
#include "coordination/zookeeper/watch_probe.h"
#include "model/paths.h"
#include "program/open_store.h"

namespace nodepool::program {

namespace zk = coordination::zookeeper;
using async::Task;
using coordination::SessionState;
using coordination::StoreError;

namespace {

constexpr auto kFirstRetryInterval = std::chrono::milliseconds(250);
constexpr auto kLongestRetryInterval = std::chrono::seconds(4);
constexpr auto kWarningInterval = std::chrono::seconds(10);

// How long a refused write counts as a problem if no other write follows. Those that matter are
// retried every second. Also the interval of its warnings: a nearly full store may accept some
// writes.
constexpr auto kRefusalTime = std::chrono::minutes(1);

bool uses_zookeeper(const config::StoreChoice& choice) {
  return choice.kind == config::StoreChoice::Kind::zookeeper;
}

double seconds(async::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string kept_connection(const std::string& unusable_files) {
  return "ZooKeeper keeps its previous servers and certificates: " + unusable_files;
}

}  // namespace

Task<> DaemonStore::open(const config::Config& config, async::Event& changed,
                         const std::function<void(const std::string&)>& on_waiting) {
  warn_of_plaintext(config);
  std::optional<async::Clock::TimePoint> warned;
  async::Duration interval = kFirstRetryInterval;
  while (true) {
    choice_ = config.store;
    settings_ = config.zookeeper;
    try {
      Task<std::unique_ptr<coordination::Store>> opening =
          open_store(runtime_, choice_, settings_, coordination::StoreUse::create);
      std::unique_ptr<coordination::Store> store = co_await std::move(opening);
      if (uses_zookeeper(choice_)) {
        co_await zk::require_recursive_watches(*store, std::string(model::kRoot));
      }
      opened_.store = std::move(store);
      break;
    } catch (const StoreError& error) {
      if (!coordination::is_openable_later(error)) throw;
      const async::Clock::TimePoint now = runtime_.clock.now();
      waiting_ = error.what();
      if (!warned) on_waiting(std::string("waiting for the store: ") + error.what());
      if (!warned || now - *warned >= kWarningInterval) {
        log_.warning("Waiting for the store: {}", error.what());
        warned = now;
      }
    }
    const bool is_changed =
        co_await changed.wait_until(runtime_.clock, runtime_.clock.now() + interval);
    interval = is_changed ? kFirstRetryInterval
                          : std::min<async::Duration>(2 * interval, kLongestRetryInterval);
  }
  if (warned) log_.info("The store is reachable");
  waiting_.clear();
  zookeeper_ = dynamic_cast<zk::ZooKeeperStore*>(opened_.store.get());
  coordination::Store* used = opened_.store.get();
  if (zookeeper_ != nullptr) {
    opened_.grouping = std::make_unique<coordination::GroupCommit>(runtime_, *opened_.store);
    used = opened_.grouping.get();
  }
  refused_at_.reset();
  away_since_.reset();
  const bool is_embedded = zookeeper_ == nullptr;
  opened_.measured =
      std::make_unique<MeasuredStore>(runtime_.clock, *used, is_embedded, metrics_,
                                      [this](const std::string& refusal) { on_write(refusal); });
  if (!is_embedded) warn_of_name();
  session_ = opened_.store->on_session([this, is_embedded](SessionState state) {
    if (is_embedded) {
      on_embedded_session(state);
    } else {
      on_zookeeper_session(state);
    }
  });
}

void DaemonStore::warn_of_plaintext(const config::Config& config) const {
  if (!uses_zookeeper(config.store) || !config.zookeeper.tls.insecure_plaintext) return;
  log_.warning(
      "zookeeper-tls: insecure-plaintext is set: anyone on the network can read and change "
      "everything in ZooKeeper");
}

// Logs the mismatch once for each server.
void DaemonStore::warn_of_name() {
  if (zookeeper_->name_mismatch().empty() || !misnamed_.insert(zookeeper_->server()).second) return;
  log_.warning("{}: `verify-hostname: true` in zookeeper-tls would refuse this server",
               zookeeper_->name_mismatch());
}

// Logs it once for each change of the servers.
void DaemonStore::warn_of_kept_server() {
  const std::string& problem = zookeeper_->kept_server_problem();
  if (problem.empty() || std::exchange(is_kept_server_logged_, true)) return;
  log_.warning("ZooKeeper: {}", problem);
}

std::vector<std::string> DaemonStore::warnings() {
  std::vector<std::string> warnings;
  if (zookeeper_ == nullptr) {
    std::string space;
    if (is_open()) space = coordination::sqlite::space_problem(choice_.sqlite_path);
    if (!space.empty()) warnings.push_back(std::move(space));
    return warnings;
  }
  if (!zookeeper_->name_mismatch().empty()) {
    warnings.push_back("ZooKeeper: " + zookeeper_->name_mismatch());
  }
  if (!unusable_files_.empty()) warnings.push_back(kept_connection(unusable_files_));
  warn_of_kept_server();
  if (!zookeeper_->kept_server_problem().empty()) {
    warnings.push_back("ZooKeeper: " + zookeeper_->kept_server_problem());
  }
  return warnings;
}

std::vector<std::string> DaemonStore::reconfigure(const config::Config& config) {
  if (config.store != choice_) return {"store"};
  if (zookeeper_ == nullptr) return {};
  const std::string known_problem = std::exchange(unusable_files_, {});
  config::ZooKeeper wanted = config.zookeeper;
  std::vector<std::string> fixed;
  const auto keep = [&fixed](auto& value, const auto& used, const char* key) {
    if (value == used) return;
    value = used;
    fixed.emplace_back(key);
  };
  const bool has_tls_changed = wanted.tls.insecure_plaintext != settings_.tls.insecure_plaintext;
  if (has_tls_changed || wanted.chroot != settings_.chroot) {
    // The new servers may serve only clients with the new values.
    keep(wanted.servers, settings_.servers, "zookeeper-servers");
  }
  keep(wanted.chroot, settings_.chroot, "chroot of zookeeper-servers");
  keep(wanted.timeout, settings_.timeout, "zookeeper-timeout");
  keep(wanted.auth, settings_.auth, "zookeeper-auth");
  if (has_tls_changed) {
    fixed.emplace_back("insecure-plaintext of zookeeper-tls");
    return fixed;  // the files in use may be gone
  }
  // The files are read again even if their paths are unchanged.
  const zk::ZooKeeperOptions options = zookeeper_options(wanted);
  try {
    zookeeper_->reconfigure(options);
  } catch (const StoreError& error) {
    if (error.kind() != StoreError::Kind::storage) throw;
    unusable_files_ = error.what();
    if (unusable_files_ != known_problem) log_.warning("{}", kept_connection(unusable_files_));
    return fixed;
  }
  if (wanted.servers != settings_.servers) {
    is_kept_server_logged_ = false;
    log_.info("Now using {} ZooKeeper servers", wanted.servers.size());
  }
  settings_ = std::move(wanted);
  return fixed;
}

void DaemonStore::on_embedded_session(SessionState state) {
  const async::Clock::TimePoint now = runtime_.clock.now();
  switch (state) {
    case SessionState::suspended:
      away_since_ = now;
      log_.warning("The store cannot be used: {}", opened_.store->problem());
      break;
    case SessionState::expired:
      away_since_ = away_since_.value_or(now);
      log_.warning("Locks and registrations in the store are lost; registering again: {}",
                   opened_.store->problem());
      break;
    case SessionState::connected:
      log_.info("The store can be used again, after {:.1f} s",
                seconds(now - away_since_.value_or(now)));
      away_since_.reset();
      break;
    case SessionState::closed:
      break;
  }
}

void DaemonStore::on_zookeeper_session(SessionState state) {
  const async::Clock::TimePoint now = runtime_.clock.now();
  const double away = away_since_ ? seconds(now - *away_since_) : 0;
  switch (state) {
    case SessionState::suspended:
      away_since_ = now;
      log_.warning("Lost the connection to ZooKeeper: {}", zookeeper_->problem());
      break;
    case SessionState::expired:
      has_new_session_ = true;
      log_.warning(
          "The ZooKeeper session expired after {:.1f} s without a connection: its locks and "
          "registrations are lost; registering again",
          away);
      break;
    case SessionState::connected:
      log_.info("Reconnected to ZooKeeper ({}) after {:.1f} s with {} session",
                zookeeper_->server(), away,
                std::exchange(has_new_session_, false) ? "a new" : "the same");
      away_since_.reset();
      warn_of_name();
      break;
    case SessionState::closed:
      break;
  }
}

void DaemonStore::on_write(const std::string& refusal) {
  if (refusal.empty()) {
    refused_at_.reset();
    if (std::exchange(is_refusal_logged_, false)) log_.info("The store accepts writes again");
    return;
  }
  const async::Clock::TimePoint now = runtime_.clock.now();
  refused_at_ = now;
  refusal_ = refusal;
  if (is_refusal_logged_ || now < next_refusal_log_) return;
  is_refusal_logged_ = true;
  next_refusal_log_ = now + kRefusalTime;
  log_.warning("The store refuses writes: {}", refusal);
}

std::string DaemonStore::problem() const {
  if (!is_open()) {
    return waiting_.empty() ? "the store is not open yet" : "waiting for the store: " + waiting_;
  }
  const async::Clock::TimePoint now = runtime_.clock.now();
  if (away_since_) {
    return fmt::format("{} for {:.0f} s: {}", away_text(), seconds(now - *away_since_),
                       opened_.store->problem());
  }
  const bool is_refusing = refused_at_ && now < *refused_at_ + kRefusalTime;
  return is_refusing ? "the store refuses writes: " + refusal_ : std::string();
}

std::string DaemonStore::cause() const {
  if (!is_open() || !away_since_) return problem();
  return fmt::format("{}: {}", away_text(), opened_.store->problem());
}

std::string DaemonStore::away_text() const {
  return zookeeper_ == nullptr ? "the store has been unusable" : "no connection to ZooKeeper";
}

Task<> DaemonStore::close() {
  session_.reset();
  try {
    co_await opened_.store->close();
  } catch (const StoreError& error) {
    // The session's locks end with its timeout.
    log_.warning("The session could not be closed, and will time out: {}", error.what());
  }
  zookeeper_ = nullptr;
  closed_.measured.reset();  // uses the others
  closed_.grouping.reset();  // uses the store
  closed_ = std::move(opened_);
}

}  // namespace nodepool::program
