#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/task.h"
#include "model/record.h"

namespace nodepool::driver {

// One attempt at making a machine, as the adapter's coroutine sees it. What is done in a step is
// written down in the node's record, so that the attempt goes on if the launcher dies: another one
// (or the same, started again) runs the coroutine anew, and finished steps return at once.
//
//   const Make make = [&]() -> Task<std::string> { … POST …; co_return id; };
//   const Find find = [&]() -> Task<std::optional<std::string>> { … by metadata … };
//   const std::string server = co_await machine.step("server", make, find);
//   machine.enter("waiting for the server");
//   … poll: repeatable, hence no step …
class LaunchSteps {
 public:
  virtual ~LaunchSteps() = default;

  using Make = std::function<async::Task<std::string>()>;
  using Find = std::function<async::Task<std::optional<std::string>>()>;

  // Does something that must not be done twice, and returns its result, usually an id.
  //
  // That it is about to be done is written before `make` is called, its result after that. If an
  // earlier run got as far as the former but not the latter, or if `make` throws
  // CloudError(unknown_outcome), `find` looks in the cloud for what may have been made; it is made
  // again only when it has not shown up for Adapter::consistency_delay(). A `find` that cannot look
  // throws: it is then called again, unless what it throws is CloudError(permanent), for nothing is
  // known. Nothing else than "it is not there" is said by returning nothing. `name` is unique
  // within the machine and the same in every run. Throws what they throw; StoreError if the node's
  // lock is lost.
  virtual async::Task<std::string> step(std::string name, Make make, Find find) = 0;

  // The id by which Adapter::remove() finds all that has been made, as soon as there is something:
  // within a step's `make` or `find`, so that it is written together with the step's result. It is
  // kept also if `make` throws after that.
  virtual void set_external_id(model::Json external_id) = 0;

  // The cloud has taken the order to delete it, which takes a while from now on. To be called by
  // Adapter::remove(), for metrics.
  virtual void removal_accepted() {}

  // What the machine is doing now, in words: for the log and for stack dumps.
  virtual void enter(std::string state) = 0;
};

}  // namespace nodepool::driver
