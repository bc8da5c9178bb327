#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "async/clock.h"
#include "async/task.h"
#include "driver/cloud_error.h"
#include "driver/images.h"
#include "driver/resources.h"
#include "driver/statemachine/boot_times.h"
#include "driver/statemachine/instance.h"
#include "driver/statemachine/launch_steps.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::driver {

using async::Task;

// What machine is to be made.
struct CreateSpec {
  std::string node_id;
  // Which attempt at the node's machine this is, from 1 on: the same in every run of it, so that
  // clouds whose calls are carried out once by a token can be given one made of both.
  std::int64_t attempt = 1;
  std::string hostname;  // "np<node id>": short, for the sake of Windows
  std::string pool;
  std::string label;
  // The uploaded image's id in the cloud; empty: the label has a cloud image.
  std::string image_external_id;
  std::string image_name;         // of the diskimage or cloud image, for metadata
  std::optional<std::string> az;  // nothing: the cloud chooses
  // To be attached to the machine, over all that the configuration says: it is found by this.
  Metadata metadata;
  model::NodeRequest request;  // for keys that are made of its fields
  // How long machines with this label take to come up, to look at them when they are expected
  // (driver/statemachine/shared_poller.h), and to be told of it. nullptr: nobody wants to know.
  // Outlives create().
  BootTimes* boot_times = nullptr;

  std::optional<Expectation> expectation() const {
    return boot_times == nullptr ? std::nullopt : boot_times->expectation();
  }
  void learn(std::optional<async::Duration> taken) const {
    if (boot_times != nullptr && taken) boot_times->learn(*taken);
  }
};

// What a cloud can do: all that the author of a driver on state machines writes besides its
// configuration. StateMachineProvider does the rest: locks, attempts and undoing, time limits, host
// keys, console logs, quota, leaks.
//
// One for each provider; replaced when the provider's configuration changes, once all its calls
// have ended. All functions run on the event loop, many at a time. They throw CloudError; any other
// exception counts as CloudError::failed. Waits inside them can be cancelled.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // Before the first call. Throws: the provider is out of service, and started anew with another
  // object later. A cloud that is out of reach is no reason to throw.
  virtual Task<> start();

  // After the last call.
  virtual Task<> stop();

  // Makes a machine; returns when it runs and its addresses are known. See LaunchSteps for how.
  // What it has made when it throws is deleted by remove().
  virtual Task<Instance> create(CreateSpec spec, LaunchSteps& machine) = 0;

  // Deletes a machine, also one that is half made or half deleted, with all that belongs to it.
  // Returns when it is gone, at once if it was not there. Where deleting something twice does harm,
  // or begins something whose id has to be known, its steps are written down as those of create()
  // are; elsewhere `machine` is not needed.
  virtual Task<> remove(model::Json external_id, LaunchSteps& machine) = 0;

  // All machines that the credentials show, not only ours: whatever takes quota.
  virtual Task<std::vector<Instance>> instances() = 0;

  // Everything that may be left over of nodes: what carries our metadata, machines included. By
  // default, nothing.
  virtual Task<std::vector<Resource>> resources();

  // Whether something that resources() shows, and that carries the node's metadata, may be the
  // node's: what certainly is not is a leak. By default an instance is compared by its id.
  virtual bool may_be_of(const Resource& resource, const model::Node& node) const;

  // Deletes something that resources() showed. What is of another type than the driver shows is
  // refused, as by this function itself: CloudError(permanent). Its id may be that of something
  // else.
  virtual Task<> remove_resource(Resource resource);

  // Called every minute: deletes what the cloud leaves behind and nobody's mark is on. Returns how
  // much of each type it has deleted, for metrics. What cannot be deleted keeps nothing else, and
  // is logged. By default, nothing.
  virtual Task<std::map<std::string, std::int64_t>> remove_leftovers();

  // The most that all machines may take together. By default there is no limit.
  virtual Task<Limits> limits();

  // What a machine with this label takes. By default one instance. CloudError::permanent: the label
  // cannot be served until the configuration changes.
  virtual Task<Resources> need(std::string pool, std::string label);

  // The zones to choose from for a pool whose configuration names none. Empty: the cloud chooses.
  virtual Task<std::vector<std::string>> zones(std::string pool);

  // Why no machine can be made for a label with a cloud image: the image is not there. Nothing if
  // it can. Called before a request is accepted and at times after that; to be answered from what
  // is known for some seconds at least.
  virtual Task<std::optional<std::string>> label_problem(std::string pool, std::string label);

  // What the configuration names and the cloud does not have, a sentence each, besides flavors and
  // images, which need() and label_problem() find missing: networks, zones, key pairs, …
  virtual Task<std::vector<std::string>> missing();

  // What a machine that did not come up has written to its console. Called where the label's
  // configuration asks for it. By default nothing.
  virtual Task<std::optional<std::string>> console_log(model::Json external_id);

  // Whether the machine of a ready node that is about to be handed out is in working order. If not,
  // it is deleted. By default it is.
  virtual Task<bool> is_usable(model::Node node);

  // See Provider. To be answered from a listing that all nodes share, seconds old at most.
  virtual Task<std::optional<std::string>> termination_reason(model::Node node);

  // No host keys could be read from the machine.
  virtual void nodescan_failed(const model::Json& external_id);

  // See Provider.
  virtual void node_reused(const model::Node& /*node*/) {}
  virtual void node_deleted(const model::Node& /*node*/) {}

  // How long after the call something that was made may not show up yet in what `find` of a step
  // looks at.
  virtual async::Duration consistency_delay() const { return std::chrono::seconds(30); }

  // nullptr: the driver uploads no images.
  virtual ImageSupport* images() { return nullptr; }
};

}  // namespace nodepool::driver
