#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nodepool::driver {

// What a cloud answers, or fails to answer. The kind says what the caller does about it.
class CloudError : public std::runtime_error {
 public:
  enum class Kind {
    quota,            // refused for want of quota: nothing is launched until that changes
    no_capacity,      // the cloud has no room left, whatever the quota says: another attempt may
                      // succeed
    not_found,        // the thing is not there; for whoever deletes it that is success
    auth,             // the credentials are not accepted
    unknown_outcome,  // a change may have happened: look for it before it is made again
    transient,        // no answer, or "later": the same call may succeed
    failed,           // the cloud tried and could not: another attempt may succeed
    permanent,        // it will not succeed until somebody changes the configuration or the cloud
  };

  // `launch_result`: how metrics call a launch that ends with it, a word of launch_metrics.h;
  // empty: as they call its kind.
  CloudError(Kind kind, const std::string& message, std::string_view launch_result = {})
      : std::runtime_error(message), kind_(kind), launch_result_(launch_result) {}

  Kind kind() const { return kind_; }
  std::string_view launch_result() const { return launch_result_; }

 private:
  Kind kind_;
  std::string_view launch_result_;
};

}  // namespace nodepool::driver
