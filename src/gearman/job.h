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

// The longest text that is sent: of a result, of data and of reasons. Bytes.
inline constexpr std::size_t kLongestAnswer = std::size_t{64} << 10;

// How a job has ended.
struct Complete {
  std::string result;  // at most kLongestAnswer
};
struct Failed {
  std::string reason;  // sent as a WORK_WARNING before WORK_FAIL, unless it is empty
};
using JobResult = std::variant<Complete, Failed>;

// A job that a server has given us. Made by a GearmanWorker; the loop's, but for the mail, which
// the thread that has the connection takes.
class Job {
 public:
  struct Request {
    std::string function;
    std::string unique;  // what the client calls it; never empty, servers make one up
    std::string payload;
  };

  // How far a job is: `done` of `all`.
  struct Status {
    std::uint32_t done = 0;
    std::uint32_t all = 0;
  };

  // What is for the client, in this order.
  struct Updates {
    std::vector<std::string> data;
    std::vector<std::string> warnings;
    std::optional<Status> status;
    std::optional<JobResult> result;
    bool given_back = false;  // to the server, which gives it to somebody else

    bool empty() const {
      return data.empty() && warnings.empty() && !status && !result && !given_back;
    }
  };

  // `mail_came` is called whenever there is some; it may be called on the loop only.
  Job(Request request, std::function<void()> mail_came)
      : request_(std::move(request)), mail_came_(std::move(mail_came)) {}

  const std::string& function() const { return request_.function; }
  const std::string& unique() const { return request_.unique; }
  const std::string& payload() const { return request_.payload; }

  // WORK_STATUS: if the client is slower than these, it gets the last one.
  void status(Status status);

  // WORK_DATA and WORK_WARNING: parts of a result, and what the client should know. Cut after
  // kLongestAnswer.
  void data(std::string_view text);
  void warning(std::string_view text);

  // For the worker: the end of the job, and what the connection's thread takes to send.
  void end(JobResult result);
  void give_back();
  Updates take_updates();
  bool has_updates() const;
  // Nobody will take any more mail: the connection is lost.
  void close();

 private:
  template <typename Change>
  void post(Change change);

  Request request_;
  std::function<void()> mail_came_;
  mutable std::mutex mutex_;  // for what is below
  Updates mail_;
  bool closed_ = false;
};

}  // namespace nodepool::gearman
