#pragma once

#include <chrono>
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

// Why a call is refused: a status of HTTP, and a sentence for people.
class CallError : public std::runtime_error {
 public:
  CallError(unsigned status, const std::string& detail, std::vector<std::string> headers = {})
      : std::runtime_error(detail), status_(status), headers_(std::move(headers)) {}

  unsigned status() const { return status_; }
  // Names and values in turns.
  const std::vector<std::string>& headers() const { return headers_; }

 private:
  unsigned status_;
  std::vector<std::string> headers_;
};

// What calls work with. All outlives them.
struct ApiContext {
  // What explains a request, node, label or host; nothing if there is none of that name.
  using Explain =
      std::function<async::Task<std::optional<report::Explanation>>(std::string subject)>;

  async::Runtime runtime;
  coordination::Store& store;
  model::Records& records;
  LeaseIndex& lease_index;
  LeaseRequestWorker& keeper;
  async::ThreadPool& threads;
  std::optional<history::Journal> journal;
  Explain explain;
  // The longest lease that the site allows now; nothing: any.
  std::function<std::optional<std::chrono::seconds>()> max_lease;
  Authorizer& authorizer;
};

// One call. Lives until its answer is made.
struct Call {
  ApiContext& context;
  const Client& client;
  const web::Request& request;
  std::string id = {};       // what the path names
  std::string outcome = {};  // for the audit log
  View view =
      View(client, context.records, context.lease_index);  // the records that it may know of

  // The time that `?wait=` asks for; nothing if it does not. Throws CallError.
  std::optional<async::Duration> wait() const;
  // The whole number that a parameter is, between 1 and `most`. Throws CallError.
  std::size_t number(std::string_view name, std::size_t otherwise, std::size_t most) const;
};

// Of a label, holder, key or reason, in bytes. All are kept in the store, and shown on pages.
inline constexpr std::size_t kLongestText = 256;

// What a call says, as a JSON object: every key has to be asked for. All throw CallError.
class CallBody {
 public:
  explicit CallBody(const web::Request& request);
  ~CallBody();
  CallBody(const CallBody&) = delete;
  CallBody& operator=(const CallBody&) = delete;

  // At most kLongestText bytes, as each of texts().
  std::optional<std::string> text(const char* key);
  std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most);
  // Seconds as a number, or a text like "2h".
  std::optional<std::chrono::seconds> duration(const char* key);
  std::vector<std::string> texts(const char* key, std::size_t most);
  // That nothing else was said.
  void end() const;

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

inline constexpr std::string_view kJson = "application/json";

// An answer with a JSON value.
web::Response json_answer(unsigned status, std::string json);

// An error in the form of RFC 9457.
web::Response problem_answer(unsigned status, const std::string& detail);

}  // namespace nodepool::api
