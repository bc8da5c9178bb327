#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "async/runtime.h"
#include "async/task.h"
#include "installation/installation.h"

namespace nodepool::cli {

using async::Task;
using installation::Installation;

// Prints why a request waits: for each change of the reason, one line, with the end of the first
// lease that is in its way, and one with the position in the queue. The first of the latter is an
// estimate with the usual wait instead, if that is known.
class ReasonFollower {
 public:
  using Print = std::function<void(const std::string& line)>;

  // Everything outlives the follower. `prints_advance`: it also prints the position when the
  // request has advanced in the queue.
  ReasonFollower(const async::Runtime& runtime, Installation& installation, Print print,
                 bool prints_advance);

  // Asks for the reason after a few seconds, or after half of `timeout` if that is less, then every
  // ten seconds, until it is cancelled; up to a minute apart if explanations take long or fail. A
  // failure to explain is ignored: the next explanation may succeed. `request_id` may change
  // meanwhile.
  Task<> follow(const std::string& request_id, async::Duration timeout);

  // Why the request waits, and what would help. Either may be empty: unknown.
  struct Reason {
    std::string text;
    std::string advice;
  };

  // The last reason.
  const Reason& reason() const { return reason_; }

 private:
  void show(const report::Explanation& explanation);

  async::Runtime runtime_;
  Installation& installation_;
  Print print_;
  bool prints_advance_;
  std::size_t place_ = 0;  // in the queue, when last known; 0: never
  Reason reason_;
};

// The text after the report of a timeout: the last reason, what would help, and the command that
// tells more.
std::string text_after_timeout(const ReasonFollower::Reason& last, const std::string& label);

}  // namespace nodepool::cli
