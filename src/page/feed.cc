#include "page/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>
#include <utility>
#include <variant>

#include "coordination/error.h"
#include "model/paths.h"
#include "page/row_text.h"
#include "page/rows.h"
#include "planning/reason.h"
#include "telemetry/log_errors.h"

namespace nodepool::page {

namespace {

using async::Task;

// Changes within this interval are published together. It grows with the number of viewers.
constexpr std::chrono::milliseconds kBatchInterval(400);
constexpr std::chrono::microseconds kBatchIntervalPerViewer(600);

// Interval of polling the launcher's state and the history.
constexpr auto kPollInterval = std::chrono::seconds(2);

// The feed keeps running this long without viewers.
constexpr auto kIdleTimeout = std::chrono::seconds(60);

constexpr std::size_t kMostFailures = 200;

// Nodes and requests whose last reasons are remembered.
constexpr std::size_t kMostReasons = 1000;

// The events that are failures, or have their reasons.
constexpr std::array kFailureEvents{"failed", "aborted", "declined", "launch", "reclaim-failed"};

// Only requests of `min-ready` fail when a pool is full: all others wait.
bool is_for_lack_of_capacity(const history::DeclinedByAll& failed) {
  return std::ranges::any_of(failed.declines, [](const history::Declined& decline) {
    return decline.reason == history::Declined::kPoolFull ||
           decline.reason == history::Declined::kProviderFull;
  });
}

bool is_failure(const history::JournalEntry& entry) {
  if (const auto* failed = std::get_if<history::DeclinedByAll>(&entry.facts)) {
    return !is_for_lack_of_capacity(*failed);
  }
  if (entry.event == "launch") return false;
  if (entry.event != "declined") return true;
  const auto* declined = std::get_if<history::Declined>(&entry.facts);
  if (declined != nullptr && !declined->reason.empty()) {
    return declined->reason == history::Declined::kLaunchFailed;
  }
  // Another launcher, or an earlier release, has left only the sentence.
  return planning::code_in_decline_entry(entry.details) == planning::Reason::Code::launch_failed;
}

template <typename Record>
std::set<std::string, std::less<>> ids_of(const std::map<std::string, Record, std::less<>>& all) {
  std::set<std::string, std::less<>> ids;
  for (const auto& [id, record] : all) ids.emplace_hint(ids.end(), id);
  return ids;
}

}  // namespace

Feed::Feed(const async::Runtime& runtime, model::Records& records, const telemetry::Logger& log,
           PageSources sources, std::optional<history::Journal> journal)
    : runtime_(runtime),
      records_(records),
      log_(log),
      sources_(std::move(sources)),
      journal_(std::move(journal)),
      threads_(1, "status page"),
      scope_(runtime, telemetry::log_errors(log)) {}

Feed::~Feed() = default;

void Feed::activate() {
  last_activated_ = runtime_.clock.now();
  if (!changes_) begin();
}

RowChanges::Text Feed::rows() {
  return changes_->rows(runtime_.clock.now());
}

std::optional<std::vector<RowChanges::Text>> Feed::since(const std::string& revision) const {
  return changes_ ? changes_->since(revision) : std::nullopt;
}

std::string Feed::revision() const {
  return changes_ ? changes_->revision() : std::string();
}

Task<> Feed::wait_for_changes(async::Clock::TimePoint deadline) {
  co_await published_.wait_until(runtime_.clock, deadline);
}

Task<> Feed::stop() {
  co_await scope_.stop();
  end();
}

// --- updating

void Feed::begin() {
  changes_.emplace(fmt::format("{:08x}", runtime_.random.below(std::uint64_t{1} << 32U)));
  subscribe();
  stale_ = {.nodes = ids_of(records_.nodes.all()),
            .requests = ids_of(records_.requests.all()),
            .images = records_.images.images(),
            .components = ids_of(records_.components.all()),
            .hosts = ids_of(records_.hosts.all())};
  render_stale();
  publish_sources();
  if (!sources_.dashboard_url.empty()) {
    changes_->set("dashboard", "dashboard",
                  RowText()
                      .text("id", std::string_view("dashboard"))
                      .text("url", sources_.dashboard_url)
                      .str());
  }
  changes_->commit(runtime_.clock.now());
  scope_.spawn("status page", run());
  if (!journal_) return;
  journal_news_ = std::make_shared<history::JournalNews>(
      *journal_, std::vector<std::string>(kFailureEvents.begin(), kFailureEvents.end()));
  scope_.spawn("failures for the status page", follow_failures(journal_news_));
}

void Feed::end() {
  subscriptions_.clear();
  changes_.reset();
  stale_ = {};
  problems_ = 0;
  providers_.clear();
  configured_images_.clear();
  failures_.clear();
  last_reasons_.clear();
  journal_news_.reset();
  published_.set();
}

void Feed::subscribe() {
  subscriptions_.push_back(records_.nodes.observe([this](const model::NodeTable::Change& change) {
    stale_.nodes.emplace(change.id);
    for (const model::Node* node : {change.before, change.after}) {
      if (node != nullptr && node->allocated_to) stale_.requests.emplace(*node->allocated_to);
    }
    changed_.set();
  }));
  subscriptions_.push_back(records_.nodes.observe_locks([this](const std::string& id) {
    stale_.nodes.emplace(id);
    changed_.set();
  }));
  subscriptions_.push_back(
      records_.requests.observe([this](const model::RequestTable::Change& change) {
        stale_.requests.emplace(change.id);
        changed_.set();
      }));
  subscriptions_.push_back(records_.images.observe([this](const std::string& image) {
    stale_.images.emplace(image);
    changed_.set();
  }));
  subscriptions_.push_back(
      records_.components.observe([this](const model::ComponentTable::Change& change) {
        stale_.components.emplace(change.id);
        changed_.set();
      }));
  subscriptions_.push_back(sources_.observe_opinions([this](const std::string& request) {
    stale_.requests.emplace(request);
    changed_.set();
  }));
  subscriptions_.push_back(records_.hosts.observe([this](const model::HostTable::Change& change) {
    stale_.hosts.emplace(change.id);
    changed_.set();
  }));
  subscriptions_.push_back(records_.observe_readiness([this](bool) { published_.set(); }));
}

bool Feed::is_in_use() const {
  return viewers_ > 0 || runtime_.clock.now() < last_activated_ + kIdleTimeout;
}

Task<> Feed::run() {
  try {
    co_await follow();
  } catch (const async::Cancelled&) {
    throw;
  } catch (const std::exception& error) {
    log_.error("Updating the status page failed, restarting the feed: {}", error.what());
  }
  end();
}

Task<> Feed::follow() {
  async::Clock::TimePoint poll_due = runtime_.clock.now();
  while (is_in_use()) {
    render_stale();
    if (runtime_.clock.now() >= poll_due) {
      publish_sources();
      poll_due = runtime_.clock.now() + kPollInterval;
    }
    if (changes_->commit(runtime_.clock.now())) published_.set();
    const auto interval =
        kBatchInterval + static_cast<std::int64_t>(viewers_) * kBatchIntervalPerViewer;
    co_await runtime_.clock.sleep_for(interval);
    co_await changed_.wait_until(runtime_.clock, poll_due);
  }
}

// --- rendering

void Feed::render_stale() {
  for (const std::string& id : std::exchange(stale_.nodes, {})) render_node(id);
  for (const std::string& id : std::exchange(stale_.requests, {})) render_request(id);
  for (const std::string& id : std::exchange(stale_.hosts, {})) render_host(id);
  for (const std::string& image : std::exchange(stale_.images, {})) {
    if (records_.images.images().contains(image)) {
      changes_->set("image", image, image_row(records_.images, image));
    } else {
      changes_->erase("image", image);
    }
  }
  for (const std::string& id : std::exchange(stale_.components, {})) {
    const model::Component* component = records_.components.find(id);
    if (component != nullptr) {
      changes_->set("component", id, component_row(id, *component));
    } else {
      changes_->erase("component", id);
    }
  }
}

void Feed::render_node(const std::string& id) {
  const model::Node* node = records_.nodes.find(id);
  if (node == nullptr) return changes_->erase("node", id);
  std::optional<double> requested;
  const model::NodeRequest* request =
      node->allocated_to ? records_.requests.find(*node->allocated_to) : nullptr;
  if (request != nullptr) requested = request->created_time;
  changes_->set("node", id, node_row(*node, records_.nodes.is_locked(id), requested));
}

void Feed::render_request(const std::string& id) {
  const model::NodeRequest* request = records_.requests.find(id);
  if (request == nullptr) return changes_->erase("request", id);
  changes_->set("request", id,
                request_row(*request, records_.nodes.allocated_to(id), sources_.opinions(id)));
}

void Feed::render_host(const std::string& id) {
  const model::HostReport* report = records_.hosts.find(id);
  if (report == nullptr) return changes_->erase("host", id);
  changes_->set("host", id, host_row(id, *report));
}

void Feed::publish_sources() {
  Ids gone = std::exchange(providers_, {});
  for (const ProviderView& provider : sources_.providers()) {
    gone.erase(provider.name);
    providers_.insert(provider.name);
    changes_->set("provider", provider.name, provider_row(provider));
  }
  for (const std::string& name : gone) changes_->erase("provider", name);
  publish_images();
  render_problems();
}

void Feed::publish_images() {
  Ids gone = std::exchange(configured_images_, {});
  for (const ConfiguredImage& image : sources_.images()) {
    gone.erase(image.name);
    configured_images_.insert(image.name);
    changes_->set("configured_image", image.name, configured_image_row(image));
  }
  for (const std::string& name : gone) changes_->erase("configured_image", name);
}

void Feed::render_problems() {
  const std::vector<PageProblem> problems = sources_.problems();
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const std::string id = std::to_string(i);
    changes_->set("problem", id, problem_row(id, problems[i]));
  }
  for (std::size_t i = problems.size(); i < problems_; ++i) {
    changes_->erase("problem", std::to_string(i));
  }
  problems_ = problems.size();
}

// A task of its own: a slow disk must not delay other rows.
Task<> Feed::follow_failures(std::shared_ptr<history::JournalNews> news) {
  while (true) {
    std::vector<history::JournalEntry> entries;
    try {
      auto read = [news] { return news->poll(); };
      entries = co_await threads_.run("reading the history", std::move(read));
    } catch (const std::system_error& error) {
      log_.debug("Reading the history for the status page failed: {}", error.what());
    }
    if (news != journal_news_) co_return;  // the feed was restarted
    add_failures(entries);
    co_await runtime_.clock.sleep_for(kPollInterval);
  }
}

// Adds the reasons of failed launches, which are in the entries of their last attempts, and of
// requests that an earlier release has failed: in those of their declines.
void Feed::add_reasons(std::vector<history::JournalEntry>& entries) {
  for (history::JournalEntry& entry : entries) {
    const auto* attempt = std::get_if<history::Attempted>(&entry.facts);
    if (attempt != nullptr && attempt->failure.empty()) continue;
    if (attempt != nullptr || entry.event == "declined") {
      if (last_reasons_.size() >= kMostReasons) last_reasons_.clear();
      const auto last = last_reasons_.try_emplace(entry.id, entry.details).first;
      const auto* declined = std::get_if<history::Declined>(&entry.facts);
      const bool is_bystander =
          declined != nullptr && declined->reason == history::Declined::kNotOffered;
      if (!is_bystander) last->second = entry.details;
    } else if (const auto last = last_reasons_.find(entry.id);
               entry.details.empty() && last != last_reasons_.end()) {
      entry.details = last->second;
    }
  }
}

void Feed::add_failures(std::vector<history::JournalEntry>& entries) {
  add_reasons(entries);
  std::erase_if(entries, [](const history::JournalEntry& entry) { return !is_failure(entry); });
  if (entries.empty()) return;
  const std::size_t skipped = entries.size() - std::min(entries.size(), kMostFailures);
  for (std::size_t i = skipped; i < entries.size(); ++i) {
    const history::JournalEntry& entry = entries[i];
    const std::string id = fmt::format("{:.3f}-{}-{}", entry.time, entry.id, entry.event);
    changes_->set("failure", id, failure_row(id, entry));
    failures_.push_back(id);
  }
  for (; failures_.size() > kMostFailures; failures_.pop_front()) {
    changes_->erase("failure", failures_.front());
  }
  changed_.set();
}

}  // namespace nodepool::page
