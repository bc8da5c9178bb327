#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "history/journal.h"
#include "history/journal_news.h"
#include "model/records.h"
#include "page/facts.h"
#include "page/row_changes.h"
#include "telemetry/log.h"

namespace nodepool::page {

// Keeps the rows of the page up to date while there are viewers. A change costs one rendering of
// the affected rows, at most a few times a second, regardless of the number of viewers. Without
// viewers it costs nothing.
class Feed {
 public:
  // All arguments outlive this. Without a journal, no failures are shown.
  Feed(const async::Runtime& runtime, model::Records& records, const telemetry::Logger& log,
       PageSources sources, std::optional<history::Journal> journal);
  ~Feed();

  // Starts the feed if it is not running, for at least a minute. Only while the records are
  // complete.
  void activate();

  // Keeps the feed running during its lifetime.
  class Viewer {
   public:
    explicit Viewer(Feed& feed) : feed_(feed) { ++feed_.viewers_; }
    ~Viewer() { --feed_.viewers_; }
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;

   private:
    Feed& feed_;
  };

  RowChanges::Text rows();
  std::optional<std::vector<RowChanges::Text>> since(const std::string& revision) const;
  std::string revision() const;

  // Returns when there are changes, the readiness of the records may have changed, or at
  // `deadline`. Throws Cancelled.
  async::Task<> wait_for_changes(async::Clock::TimePoint deadline);

  async::Task<> stop();

 private:
  using Ids = std::set<std::string, std::less<>>;

  // Ids of rows that have to be rendered again.
  struct Stale {
    Ids nodes = {};
    Ids requests = {};
    Ids images = {};
    Ids components = {};
    Ids hosts = {};
  };

  void begin();
  void end();
  void subscribe();
  async::Task<> run();
  async::Task<> follow();
  bool is_in_use() const;
  void render_stale();
  void render_node(const std::string& id);
  void render_request(const std::string& id);
  void render_host(const std::string& id);
  void render_problems();
  void publish_sources();
  void publish_images();
  async::Task<> follow_failures(std::shared_ptr<history::JournalNews> news);
  void add_reasons(std::vector<history::JournalEntry>& entries);
  void add_failures(std::vector<history::JournalEntry>& entries);

  async::Runtime runtime_;
  model::Records& records_;
  telemetry::Logger log_;
  PageSources sources_;
  std::optional<history::Journal> journal_;
  async::ThreadPool threads_;
  std::optional<RowChanges> changes_;  // while the feed runs
  Stale stale_;
  std::size_t problems_ = 0;  // number of rows
  Ids providers_;
  Ids configured_images_;
  std::shared_ptr<history::JournalNews> journal_news_;
  std::map<std::string, std::string, std::less<>> last_reasons_;  // of nodes and requests
  std::deque<std::string> failures_;                              // ids of their rows
  std::size_t viewers_ = 0;
  async::Clock::TimePoint last_activated_{};
  async::Event changed_{"records of the status page changed"};
  async::Event published_{"changes of the status page were published"};
  std::vector<coordination::Subscription> subscriptions_;
  async::TaskScope scope_;
};

}  // namespace nodepool::page
