#pragma once

#include "async/clock.h"
#include "async/random.h"
#include "async/task.h"

namespace nodepool::async {

// What a process (or, in a simulation, one of many simulated processes) runs on. It outlives
// everything that is made with it.
struct Runtime {
  Executor executor;
  Clock& clock;
  Random& random;
};

}  // namespace nodepool::async
