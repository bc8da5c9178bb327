#pragma once

#include <functional>
#include <string>

#include "async/runtime.h"
#include "cli/explanations.h"

namespace nodepool::cli {

// Prints why a request waits: one line for each change of the reason, and after the first one how
// long such requests usually wait, if that is known.
class ReasonFollower {
 public:
  using Print = std::function<void(const std::string& line)>;

  // Everything outlives the follower.
  ReasonFollower(const async::Runtime& runtime, Explaining explain, Print print);

  // Asks for the reason after a few seconds, then at growing intervals of up to a minute, until it
  // is cancelled. A failure to explain is ignored: the next explanation may succeed.
  Task<> follow(std::string request_id);

  // The last reason; empty if none is known.
  const std::string& reason() const { return reason_; }

 private:
  async::Runtime runtime_;
  Explaining explain_;
  Print print_;
  std::string reason_;
};

// The text after the report of a timeout: the last reason, and the command that tells more.
std::string advice_after_timeout(const std::string& reason, const std::string& label);

}  // namespace nodepool::cli
