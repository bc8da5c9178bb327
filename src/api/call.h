#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "api/authorizer.h"
#include "api/client.h"
#include "api/lease_index.h"
#include "api/lease_request_worker.h"
#include "api/view.h"
#include "async/runtime.h"
#include "async/thread_pool.h"
#include "coordination/store.h"
#include "history/journal.h"
#include "model/records.h"
#include "report/explanation/statement.h"
#include "telemetry/log.h"
#include "web/message.h"

namespace nodepool::api {

// The error response to a call: an HTTP status, a detail text for people, and further headers.
class CallError : public std::runtime_error {
 public:
  CallError(unsigned status, const std::string& detail, web::Headers headers = {})
      : std::runtime_error(detail), status_(status), headers_(std::move(headers)) {}

  unsigned status() const { return status_; }
  const web::Headers& headers() const { return headers_; }

 private:
  unsigned status_;
  web::Headers headers_;
};

// What the handlers of calls work with. It outlives them.
struct ApiContext {
  // Explains a request, node, label or host, and names other requests and nodes as `may_name`
  // permits. Returns nothing if there is none of that name.
  using Explain = std::function<async::Task<std::optional<report::Explanation>>(
      std::string subject, report::MayName may_name)>;

  async::Runtime runtime;
  coordination::Store& store;
  model::Records& records;
  LeaseIndex& lease_index;
  LeaseRequestWorker& worker;
  async::ThreadPool& threads;
  std::optional<history::Journal> journal;
  Explain explain;
  // The longest lease that the configuration allows now. Returns nothing if there is no limit.
  std::function<std::optional<std::chrono::seconds>()> max_lease;
  // Whether the configuration pauses an image. Returns nothing if it does not have the image.
  std::function<std::optional<bool>(const std::string& image)> configured_pause;
  Authorizer& authorizer;
  telemetry::Logger audit;
  std::size_t anonymous_readings = 0;  // of the history, in progress
};

// One call. Lives until its response is complete.
struct Call {
  ApiContext& context;
  const Client& client;
  const web::Request& request;
  std::string id = {};       // from the path
  std::string outcome = {};  // what has been changed, for the audit log
  bool is_audited = false;
  View view =
      View(client, context.records, context.lease_index);  // the records that the client may see

  // The value of `?wait=`, at most 60 seconds. Returns nothing if it is missing or 0. Throws
  // CallError.
  std::optional<async::Duration> wait() const;
  // A parameter as an integer from 1 to `most`; `otherwise` if it is missing. Throws CallError.
  std::size_t number(std::string_view name, std::size_t otherwise, std::size_t most) const;
};

// Records a call that changes something in the audit log, unless it is there already: the client,
// the call, the outcome. `status` is the response's; empty: there is none.
void audit(Call& call, std::optional<unsigned> status);

// Throws CallError (503) unless the records are complete.
void require_ready(const model::Records& records);

// Maximum length of a label, holder, key or reason, in bytes.
inline constexpr std::size_t kLongestText = 256;

// The JSON object in the body of a call. Every key has to be read. All functions throw CallError.
class CallBody {
 public:
  explicit CallBody(const web::Request& request);
  ~CallBody();
  CallBody(const CallBody&) = delete;
  CallBody& operator=(const CallBody&) = delete;

  // At most kLongestText bytes, as each of texts().
  std::optional<std::string> text(const char* key);
  std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most);
  // Seconds as a number, or a string like "2h".
  std::optional<std::chrono::seconds> duration(const char* key);
  std::vector<std::string> texts(const char* key, std::size_t most);
  // Throws if the body has a key that was not read.
  void end() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

inline constexpr std::string_view kJson = "application/json";

// A response with a JSON value.
web::Response json_response(unsigned status, std::string json);

// An error response as of RFC 9457 (problem details).
web::Response problem_response(unsigned status, const std::string& detail);

}  // namespace nodepool::api
