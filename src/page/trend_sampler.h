#pragma once

#include "async/runtime.h"
#include "async/task_scope.h"
#include "model/records.h"
#include "page/trends.h"
#include "telemetry/log.h"

namespace nodepool::page {

// Samples the records for the trends every minute, while they are known.
class TrendSampler {
 public:
  // All arguments outlive this.
  TrendSampler(const async::Runtime& runtime, model::Records& records,
               const telemetry::Logger& log);

  void start();
  async::Task<> stop();

  const Trends& trends() const { return trends_; }

 private:
  async::Task<> run();
  void on_change(const model::NodeTable::Change& change);
  void sample();

  async::Runtime runtime_;
  model::Records& records_;
  Trends trends_;
  Trends::Sample failures_;  // since the last sample
  async::TaskScope scope_;
};

}  // namespace nodepool::page
