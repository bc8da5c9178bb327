#pragma once

#include <optional>
#include <string>

#include "async/thread_pool.h"
#include "page/feed.h"
#include "page/trend_sampler.h"
#include "web/message.h"

namespace nodepool::page {

// Serves the status page: its static files and its data.
//
//   /                  the page, for clients that accept HTML; /page/<file>: its static files
//   /page/rows         all rows, as JSON (page/row_changes.h)
//   /page/changes      changes since `?after=REVISION`, as a stream of events: `changes`, `behind`
//                      if all rows have to be loaded again, `stale` with a reason while the
//                      launcher has lost its store, `current` when it has read all records again
//   /page/trends       the last hours, as JSON (page/trends.h): `?of=all`, `?of=label&name=NAME` or
//                      `?of=provider&name=NAME`; without a name, all labels or providers
//   /page/build-log    the end of the log of `?image=NAME&build=ID`, from byte `?from=N` on, if
//   this
//                      host has it
class StatusPage {
 public:
  struct Options {
    PageSources sources;
    std::optional<history::Journal> journal = {};
    std::string build_logs = {};  // directory
  };

  // All arguments outlive this.
  StatusPage(const async::Runtime& runtime, model::Records& records, const telemetry::Logger& log,
             Options options);

  // What the request is for: `none` if its path is not one of those above. `data` requires the
  // right to read, `file` does not.
  enum class Part { none, file, data };
  static Part part_of(const web::Request& request);

  // Whether it is a request for a build log, which may contain more than the records.
  static bool is_build_log(const web::Request& request);

  // Handles a request for one of them. Waits until the records are complete, at most
  // web::kRecordsTimeout. Throws Cancelled.
  async::Task<web::Response> answer(web::Request request);

  // Starts the background tasks.
  void start();
  async::Task<> stop();

 private:
  web::Response show_changes(const web::Request& request);
  async::Task<> stream_changes(std::string revision, web::StreamSink& sink);
  web::Response show_trends(const web::Request& request);
  async::Task<web::Response> show_build_log(web::Request request);

  async::Runtime runtime_;
  model::Records& records_;
  std::string build_logs_;
  async::ThreadPool threads_;
  Feed feed_;
  TrendSampler trend_sampler_;
};

}  // namespace nodepool::page
