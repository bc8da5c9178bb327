#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/clock.h"
#include "async/task.h"
#include "model/node.h"
#include "model/record.h"

namespace nodepool::driver {

// The steps of one attempt at making a machine. Each step is written to the node's record. If the
// launcher dies, another launcher, or the same one after a restart, runs the adapter's coroutine
// again: completed steps return their result at once.
//
//   const Make make = [&]() -> Task<std::string> { … POST …; co_return id; };
//   const Find find = [&]() -> Task<std::optional<std::string>> { … by metadata … };
//   const std::string server = co_await steps.step("server", make, find);
//   steps.enter("waiting for the server");
//   … poll: can be repeated, so it is not a step …
class LaunchSteps {
 public:
  virtual ~LaunchSteps() = default;

  using Make = std::function<async::Task<std::string>()>;
  using Find = std::function<async::Task<std::optional<std::string>>()>;

  // Does something that must not be done twice, and returns its result, usually an id. `name` is
  // unique within the attempt and the same in every run.
  //
  // The intent is written to the record before `make` is called, the result after it. If `make`
  // throws CloudError(unknown_outcome), or an earlier run was interrupted between the two writes,
  // `find` looks in the cloud for what `make` may have made. `make` is called again only if `find`
  // returns nothing for CloudTraits::consistency_delay. If its outcome has been unknown for ten
  // minutes of such calls, although `find` works, its last error is thrown as CloudError(failed);
  // after 30 seconds or three calls in a row if it is_answer().
  //
  // `find` returns nothing only if the cloud has confirmed that it does not exist. If it cannot ask
  // the cloud, it throws, and is called again, except after CloudError(permanent).
  //
  // Throws what `make` and `find` throw, and StoreError if the node's lock is lost.
  virtual async::Task<std::string> step(std::string name, Make make, Find find) = 0;

  // Whether this run of the attempt or an earlier one has begun the step, and it was not refused.
  virtual bool has_begun(const std::string& /*name*/) const { return false; }

  // Sets the id by which Adapter::remove() finds everything that was made. Call it as soon as
  // something exists, within `make` or `find`: it is then written together with the step's result.
  // It is kept if `make` throws afterwards.
  virtual void set_external_id(model::Json external_id) = 0;

  // The machine is up, `taken` after it was made. Adapter::create() calls it; the boot time counts
  // for CreateSpec::expected of later machines. Nothing: unknown, because an earlier launcher made
  // it.
  virtual void booted(std::optional<async::Duration> /*taken*/) {}

  // The cloud says that it has not made what this finished step has begun. If no other step is
  // finished, a deletion that does not find the machine is not repeated.
  virtual void retract(const std::string& /*name*/) {}

  // Whether the machine to delete has no public IPv4 address for certain: its launch has succeeded,
  // and its record has only a private one. Adapter::remove() then need not search for it.
  virtual bool is_known_private() const { return false; }

  // The cloud has accepted the deletion, but has not finished it. Adapter::remove() calls it, for
  // metrics.
  virtual void removal_accepted() {}

  // The node's record, for Adapter::remove(); nullptr: unknown. Invalid after a co_await.
  virtual const model::Node* node() const { return nullptr; }

  // Describes the current activity, for the log and for stack dumps: "waiting for the server".
  virtual void enter(std::string state) = 0;
};

}  // namespace nodepool::driver
