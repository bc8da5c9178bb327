#pragma once

#include <optional>
#include <string>

#include "async/thread_pool.h"
#include "page/feed.h"
#include "web/message.h"

namespace nodepool::page {

// The status page: its files, and what it shows. Those who only want JSON are answered by others.
//
//   /                  the page, to whoever accepts HTML; /page/<file>: what belongs to it
//   /page/rows         all that there is, as JSON (page/change_log.h)
//   /page/changes      what has changed since `?after=REVISION`, as a stream of events: `changes`,
//                      or `behind` where the rows have to be taken again
//   /page/build-log    the end of the log of `?image=NAME&build=ID`, from the byte `?from=N` on, if
//                      this host has it
class StatusPage {
 public:
  struct Options {
    Sources sources;
    std::optional<history::Journal> journal = {};
    std::string build_logs = {};  // directory
  };

  // All outlive this.
  StatusPage(const async::Runtime& runtime, model::Records& records, const telemetry::Logger& log,
             Options options);

  // Whether the path is one of those above, and whether what it gives says something of the site:
  // then only those may have it who may read.
  enum class Part { none, file, data };
  static Part part_of(const web::Request& request);

  // Whether it is a request for what a build prints, which can have more in it than records.
  static bool is_build_log(const web::Request& request);

  // Answers a request for one of them. Throws Cancelled.
  async::Task<web::Response> answer(web::Request request);

  async::Task<> stop();

 private:
  async::Task<web::Response> show_rows();
  async::Task<web::Response> show_changes(web::Request request);
  async::Task<> stream_changes(std::string revision, web::StreamSink& sink);
  async::Task<web::Response> show_build_log(web::Request request);

  async::Runtime runtime_;
  model::Records& records_;
  std::string build_logs_;
  async::ThreadPool threads_;
  Feed feed_;
};

}  // namespace nodepool::page
