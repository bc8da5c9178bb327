#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace nodepool::driver {

// A failed call of a cloud. The kind decides how the caller handles it.
class CloudError : public std::runtime_error {
 public:
  enum class Kind {
    quota,            // quota exceeded: no launches until capacity is released
    no_capacity,      // the cloud is out of capacity, within the quota: another attempt may succeed
    not_found,        // the resource does not exist; a deletion counts this as success
    auth,             // the credentials are rejected
    unknown_outcome,  // a change may have happened: look for it before retrying
    transient,        // no response, or "try later": the same call may succeed
    failed,           // the cloud failed to carry it out: another attempt may succeed
    permanent,        // fails until the configuration or the cloud is changed
  };

  // `launch_result`: the metrics' result of a launch that ends with this error, a word of
  // launch_metrics.h; empty: derived from the kind. `code`: the cloud's own; empty: none.
  // `is_answer`: see is_answer().
  CloudError(Kind kind, const std::string& message, std::string_view launch_result = {},
             std::string code = {}, bool is_answer = false)
      : std::runtime_error(message),
        kind_(kind),
        launch_result_(launch_result),
        code_(std::move(code)),
        is_answer_(is_answer) {}

  Kind kind() const { return kind_; }
  std::string_view launch_result() const { return launch_result_; }
  // What the cloud calls the error: "InvalidAMIID.NotFound". Use it instead of searching the text.
  const std::string& code() const { return code_; }
  // Whether the cloud's API itself reports an error of its own: its outcome may be unknown, but
  // this is no outage, and longer patience hardly helps.
  bool is_answer() const { return is_answer_; }

 private:
  Kind kind_;
  std::string_view launch_result_;
  std::string code_;
  bool is_answer_ = false;
};

// Thrown by Adapter::remove() alone: the machine cannot be deleted at present, and is not in the
// way of another one for the same node. The launch of that node then makes another attempt,
// and the search for leaks deletes the abandoned machine. A deletion of the node is repeated, as
// after other errors.
class OutOfReach : public CloudError {
 public:
  explicit OutOfReach(const std::string& message) : CloudError(Kind::transient, message) {}
};

}  // namespace nodepool::driver
