#pragma once

#include "async/clock.h"
#include "async/random.h"
#include "async/task.h"

namespace nodepool::async {

// The runtime environment of a process or a simulated process. It outlives everything that uses it.
struct Runtime {
  Executor executor;
  Clock& clock;
  Random& random;
};

}  // namespace nodepool::async
