#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/cloud_error.h"
#include "driver/resources.h"
#include "driver/statemachine/adapter.h"
#include "driver/statemachine/instance.h"

namespace nodepool::driver {

// The operations of a cloud with a blocking client: what a simple driver implements besides its
// configuration. SimpleDriver does the rest.
//
// The functions are called on threads, one at a time (for calls that exceed the deadline, see
// TaskManager). They may block, for less than the deadline. They throw CloudError; any other
// exception counts as CloudError::failed.
class SimpleAdapter {
 public:
  virtual ~SimpleAdapter() = default;

  // Begins to make a machine with the tags spec.metadata, and returns its id without waiting until
  // it runs. Throws CloudError(unknown_outcome) if the machine may have been made: it is then
  // looked for in the listing.
  virtual std::string create_instance(const CreateSpec& spec) = 0;

  // Begins to delete a machine and all its resources, without waiting until they are gone. If the
  // machine does not exist, returns or throws CloudError(not_found).
  virtual void delete_instance(const std::string& id) = 0;

  // All machines that use the credentials' quota, not only those of this provider, with their
  // metadata and resources. The external_id is the text that create_instance() returned, as JSON
  // (model::json_string). Polled while machines come up or go, so it is called often.
  virtual std::vector<Machine> list_instances() = 0;

  // The quota for all machines together. By default, unlimited.
  virtual Limits quota_limits();

  // The resources that a machine with this label takes. By default, one instance.
  // CloudError(permanent): the label cannot be served until the configuration changes.
  virtual Resources quota_for_label(const std::string& pool, const std::string& label);

  // Why no machine can be made for the label: its image does not exist. Returns nothing if it can.
  virtual std::optional<std::string> label_problem(const std::string& pool,
                                                   const std::string& label);
};

}  // namespace nodepool::driver
