#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "async/task.h"
#include "driver/launch_trace.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::driver {

// An uploaded image that a machine can be made from.
struct UploadedImage {
  std::string record;       // path of the upload's record: the node's `image_id`
  std::string external_id;  // in the cloud
};

// The record of a node that a provider works on. The launcher holds the node's lock.
class NodeRecord {
 public:
  virtual ~NodeRecord() = default;

  virtual model::Node& node() = 0;

  // Writes the record as it is now: whatever must not be lost if this process dies, the machine's
  // id above all. Throws StoreError, also when the node's lock has been lost: then the work is
  // over.
  virtual async::Task<> save() = 0;

  // When it was given back, or its deletion ordered, in seconds since the epoch. Nothing: nobody
  // waits for it to go.
  virtual std::optional<double> released() const { return std::nullopt; }
};

// A node that is being made. The launcher has written its record, as `building`; the provider makes
// the machine and fills in what it learns. The node's label is `node().type.front()`.
class NodeLaunch : public NodeRecord {
 public:
  // The request that it is for, as it was when the launch was decided on.
  virtual const model::NodeRequest& request() const = 0;

  // The upload to make the machine from, whatever its record's state. Nothing: the newest one that
  // is ready, where the label has a diskimage.
  virtual std::optional<UploadedImage> image() const { return std::nullopt; }

  // An attempt has ended. By default nobody wants to know.
  virtual void attempt_ended(const LaunchTrace& /*account*/) {}
};

// A launch that came to nothing. Unless it is for want of room, this pool does not serve the
// request.
class LaunchError : public std::runtime_error {
 public:
  enum class Kind {
    quota,        // the provider refused it for want of room: to be tried again once there is some
    unreachable,  // the machine runs, and shows no host keys: its image may be to blame
    failed,       // anything else
  };

  LaunchError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace nodepool::driver
