#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/cloud_error.h"
#include "driver/resources.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/instance.h"

namespace nodepool::driver {

// A machine as a listing of a simple cloud shows it. Its external_id is the text that
// create_instance() returned, as JSON (model::json_string).
struct SimpleInstance : Instance {
  enum class State {
    building,
    ready,    // runs, and its addresses are in this entry
    failed,   // will never run
    deleted,  // is only listed: counts as if it were not there
  };

  State state = State::building;
  std::string failure;  // the cloud's words for State::failed
};

// What a cloud with a blocking client can do: all that the author of a simple driver writes besides
// its configuration. SimpleDriver does the rest; see there.
//
// The functions are called on threads, one at a time (but see TaskManager about calls that do not
// return in time). They may block, for less than their deadline, and throw CloudError; any other
// exception counts as CloudError::failed.
class SimpleAdapter {
 public:
  virtual ~SimpleAdapter() = default;

  // Begins to make a machine with spec.metadata attached to it, and returns its id; does not wait
  // until it runs. Throws CloudError(unknown_outcome) if it may have been made all the same: it is
  // then looked for in the listing.
  virtual std::string create_instance(const CreateSpec& spec) = 0;

  // Begins to delete a machine with all that belongs to it; does not wait until it is gone. One
  // that is not there: CloudError(not_found), or nothing.
  virtual void delete_instance(const std::string& id) = 0;

  // All machines that the credentials show, not only ours, each with its metadata and what it takes
  // of the quota. This is how it is learned that machines run and are gone, so it is called often.
  virtual std::vector<SimpleInstance> list_instances() = 0;

  // The most that all machines may take together. By default there is no limit.
  virtual Limits quota_limits();

  // What a machine with this label takes. By default one instance. CloudError(permanent): the label
  // cannot be served until the configuration changes.
  virtual Resources quota_for_label(const std::string& pool, const std::string& label);

  // Why no machine can be made for the label for now: its image is not there. Nothing if it can.
  virtual std::optional<std::string> label_problem(const std::string& pool,
                                                   const std::string& label);
};

}  // namespace nodepool::driver
