#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/runtime.h"
#include "async/task_scope.h"
#include "async/thread_pool.h"
#include "history/journal.h"
#include "model/records.h"
#include "page/trends.h"
#include "telemetry/log.h"

namespace nodepool::page {

// Samples the records for the trends every minute, while they are known. Continues with the samples
// of earlier processes.
class TrendSampler {
 public:
  // `history`: the trends are kept in its directory (page/trend_file.h); nothing: in memory only.
  // All other arguments outlive this.
  TrendSampler(const async::Runtime& runtime, model::Records& records, async::ThreadPool& threads,
               const telemetry::Logger& log, const std::optional<history::Journal>& history);

  void start();
  async::Task<> stop();

  const Trends& trends() const { return trends_; }

  // Trends::all() of a kind, as JSON. Rendered once for each sample.
  std::shared_ptr<const std::string> all(Trends::Kind kind);

  // The present time of the trends' clock. It runs as evenly as the process's clock, and
  // continues the trends' clock of earlier processes.
  Trends::TimePoint now() const { return runtime_.clock.now() + ahead_; }

 private:
  async::Task<> run();
  async::Task<> read();
  async::Task<> write(std::string line);
  void on_change(const model::NodeTable::Change& change);
  Trends::Sample sample();

  async::Runtime runtime_;
  model::Records& records_;
  async::ThreadPool& threads_;
  telemetry::Logger log_;
  std::optional<history::Journal> file_;
  async::Duration ahead_;  // so that the clock shows the wall time of the start
  bool is_failing_ = false;
  Trends trends_;
  std::map<Trends::Kind, std::shared_ptr<const std::string>> rendered_;  // since the last sample
  Trends::Sample failures_;                                              // since the last sample
  async::TaskScope scope_;
};

}  // namespace nodepool::page
