#pragma once

#include <cstdint>
#include <functional>
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
#include "driver/statemachine/cloud_description.h"
#include "driver/statemachine/instance.h"
#include "driver/statemachine/launch_steps.h"
#include "model/node.h"
#include "model/node_request.h"

namespace nodepool::driver {

using async::Task;

// The machine to make.
struct CreateSpec {
  std::string node_id;
  // The number of the attempt, from 1. A resumed attempt keeps its number. Together with the node's
  // id, it makes an idempotency token for the cloud's calls.
  std::int64_t attempt = 1;
  std::string hostname;  // "np<node id>": short enough for Windows
  std::string pool;
  std::string label;
  // The uploaded image's id in the cloud; empty: the label has a cloud image.
  std::string image_external_id;
  std::string image_name;         // of the diskimage or cloud image, for metadata
  std::optional<std::string> az;  // nothing: the cloud chooses
  // The owner tags to attach to the machine: they override tags from the configuration.
  Metadata metadata;
  model::NodeRequest request;  // for settings with substituted fields (driver/request_template.h)
  // When the machine is expected to be up, from the boot times of others with this label, to
  // schedule polls (driver/statemachine/shared_poller.h). Nothing: unknown.
  std::optional<Expectation> expected;
};

// What a cloud can do besides making machines.
struct CloudTraits {
  // Of the provider. nullptr: the driver does not upload images. Lives as long as the adapter.
  ImageSupport* images = nullptr;
  // How long the cloud's listings may omit something that was just made (eventual consistency).
  // LaunchSteps::Find is called for this long.
  async::Duration consistency_delay = std::chrono::seconds(30);
};

// The operations of a cloud: what a state machine driver implements besides its configuration.
// StateMachineProvider does the rest: locks, retries, rollback, timeouts, host keys, console logs,
// quota and leaks.
//
// There is one adapter for each provider. When the provider's configuration changes, it is replaced
// once all its calls have returned. All functions run on the event loop, many concurrently, and can
// be cancelled while they wait. They throw CloudError; any other exception counts as
// CloudError::failed.
class Adapter {
 public:
  virtual ~Adapter() = default;

  // Called before all other functions. If it throws, the provider is out of service, and a new
  // adapter is started later. Do not throw because the cloud cannot be reached. Call `changed`
  // until stop() has returned, if the cloud reports that machines have ended: earlier listings are
  // forgotten.
  virtual Task<> start(std::function<void()> changed);

  // Called after all other functions have returned.
  virtual Task<> stop();

  // Makes a machine, and returns when it runs and its addresses are known. Each call that must not
  // be made twice is a step; see LaunchSteps. If it throws, remove() deletes what it has made.
  virtual Task<Instance> create(CreateSpec spec, LaunchSteps& steps) = 0;

  // Deletes a machine and all its resources, and returns when they are gone. The machine may be
  // incomplete or partly deleted. If there is nothing to delete, succeeds, or throws
  // CloudError(not_found) if the cloud may not know a machine yet that was just made: this is then
  // called once more after CloudTraits::consistency_delay. Needs `steps` only for calls that must
  // not be made twice or whose result must survive a crash. May throw OutOfReach.
  virtual Task<> remove(model::Json external_id, LaunchSteps& steps) = 0;

  // All machines that use the credentials' quota, not only those of this provider, in a listing
  // that was sent at most kListingAge ago: providers of one account share it. Throws if it has not
  // got all pages. The framework asks once for all its questions: which machines run, have ended,
  // are leaks, and what others use.
  virtual Task<MachineList> list() = 0;
  static constexpr async::Duration kListingAge = std::chrono::seconds(2);

  // Whether a machine that listings lack does not exist: listings of some clouds are eventually
  // consistent. Reads the machine itself; only if the cloud does not find it, the node is taken out
  // of service. By default, the listings decide.
  virtual Task<bool> is_absent(model::Json external_id);

  // The machines that have the names which create(spec) gives them, also those of others. Asked for
  // beside an incomplete list(), to delete what an interrupted launch may have made. By default,
  // none: for clouds whose names are not unique.
  virtual Task<std::vector<Machine>> find_by_name(CreateSpec spec);

  // All other resources with owner tags, and the leftovers of the cloud: the search for leaks uses
  // them. Called every minute. By default, none.
  virtual Task<std::vector<Resource>> other_resources();

  // Deletes a leaked machine or another resource. Throws CloudError(permanent) for a type that the
  // listings do not have: its id may be the id of something else. By default, supports no type.
  virtual Task<> remove_resource(Resource resource);

  // Limits, labels and zones. Throws if the cloud cannot be asked. Called every few minutes: answer
  // from caches what changes rarely. By default, unlimited, and each label takes one instance.
  virtual Task<CloudDescription> describe(CloudDescription::Purpose purpose);

  // Called when no host keys could be read from a machine. Returns its console log, if the label's
  // configuration wants it and the cloud has it. By default, returns nothing.
  virtual Task<std::optional<std::string>> diagnose(model::Json external_id, bool wants_console);

  virtual CloudTraits traits() { return {}; }
};

}  // namespace nodepool::driver
