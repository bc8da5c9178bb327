#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace nodepool::gearman {

// Maximum length of a result, of data and of a reason, in bytes.
inline constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;

// The outcome of a job.
struct Complete {
  std::string result;  // at most kLongestAnswer
};
struct Failed {
  std::string reason;  // sent as a WORK_WARNING before WORK_FAIL, unless it is empty
};
using JobResult = std::variant<Complete, Failed>;

// A job from a server, created by a GearmanWorker. Used on the event loop, except for the updates,
// which the thread of the connection takes.
class Job {
 public:
  struct Request {
    std::string function;
    std::string unique;  // id by the client or, by default, the server; not empty
    std::string payload;
  };

  // Progress of a job: `done` of `all`.
  struct Status {
    std::uint32_t done = 0;
    std::uint32_t all = 0;
  };

  // Messages for the client, in this order.
  struct Updates {
    std::vector<std::string> data;
    std::vector<std::string> warnings;
    std::optional<Status> status;
    std::optional<JobResult> result;
    bool given_back = false;  // to the server, which assigns it to another worker

    bool empty() const {
      return data.empty() && warnings.empty() && !status && !result && !given_back;
    }
  };

  // `on_update` is called after each update, on the event loop.
  Job(Request request, std::function<void()> on_update)
      : request_(std::move(request)), on_update_(std::move(on_update)) {}

  const std::string& function() const { return request_.function; }
  const std::string& unique() const { return request_.unique; }
  const std::string& payload() const { return request_.payload; }

  // WORK_STATUS. Only the latest one is sent if they are faster than the connection.
  void status(Status status);

  // WORK_DATA (parts of a result) and WORK_WARNING. Truncated to kLongestAnswer.
  void data(std::string_view text);
  void warning(std::string_view text);

  // For the worker: ends the job, and takes the updates to send.
  void end(JobResult result);
  void give_back();
  Updates take_updates();
  bool has_updates() const;
  // Discards all updates: the connection is lost.
  void close();

 private:
  template <typename Change>
  void post(Change change);

  Request request_;
  std::function<void()> on_update_;
  mutable std::mutex mutex_;  // for the members below
  Updates updates_;
  bool closed_ = false;
};

}  // namespace nodepool::gearman
