#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "async/task.h"
#include "driver/launch_trace.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::driver {

// An uploaded image to make a machine from.
struct UploadedImage {
  std::string record;       // path of the upload's record: the node's `image_id`
  std::string external_id;  // in the cloud
};

// The record of a node whose lock the launcher holds.
class NodeRecord {
 public:
  virtual ~NodeRecord() = default;

  virtual model::Node& node() = 0;

  // Writes node() to the store, so that it survives a crash: above all, the machine's id. Throws
  // StoreError, also if the node's lock has been lost: stop working on the node then.
  virtual async::Task<> save() = 0;

  // When the node was released or its deletion requested, in seconds since the epoch. Returns
  // nothing if it was not.
  virtual std::optional<double> released() const { return std::nullopt; }
};

// The launch of one node. The launcher has written its record as `building`; the provider makes the
// machine and fills in the record. The node's label is `node().type.front()`.
class NodeLaunch : public NodeRecord {
 public:
  // The request of the node, as it was when the launch was decided on.
  virtual const model::NodeRequest& request() const = 0;

  // The upload to make the machine from, regardless of its state. Returns nothing for the newest
  // ready upload of the label's diskimage.
  virtual std::optional<UploadedImage> image() const { return std::nullopt; }

  // Whether a pool of another provider may serve the request. If so, a launch ends with
  // LaunchError::Kind::unanswered if its cloud has not responded for long: during a step of unknown
  // outcome, or between attempts. While a machine boots, it does not.
  virtual bool may_be_left_to_others() const { return false; }

  // Called when an attempt has ended. By default, does nothing.
  virtual void attempt_ended(const LaunchTrace& /*trace*/) {}
};

// A failed launch. The pool declines the request, unless the kind says otherwise.
class LaunchError : public std::runtime_error {
 public:
  enum class Kind {
    quota,        // quota exceeded: the launcher retries once there is capacity
    unanswered,   // the cloud did not respond, perhaps until the timeout, or refused the
                  // credentials: while it does so, the request waits
    replaced,     // the cloud did not respond, or refused the credentials, and the provider was
                  // replaced: its successor can resume the launch
    unreachable,  // the machine runs but has shown no host keys: its image may be broken
    failed,       // any other failure
  };

  LaunchError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace nodepool::driver
