#pragma once

#include <map>
#include <string>
#include <string_view>

#include "async/task.h"
#include "config/schema.h"
#include "config/section.h"
#include "driver/resources.h"

namespace nodepool::drivers::fake {

// The calls of the cloud.
enum class CloudCall {
  create,  // a machine
  remove,  // a machine
  list,    // machines
  limits,  // the quota
  upload_image,
  remove_image,
  list_images,
};

// How the cloud behaves: the section `fake-cloud` of a provider.
struct FakeBehaviour {
  // How a creation fails, each with its probability from 0 to 1.
  struct CreateFailures {
    double error = 0;        // refused
    double no_capacity = 0;  // refused for lack of capacity
    double lost_answer = 0;  // no response; done or not
    double broken = 0;       // the machine is made, but does not come up
  };

  async::Duration boot_time = std::chrono::milliseconds(100);
  async::Duration delete_time{};
  async::Duration latency{};  // of each call
  driver::Limits limits{{"instances", 20},
                        {"cores", 100},
                        {"ram", 1'000'000},
                        {"volumes", 100},
                        {"volume-gb", 1'000'000}};
  CreateFailures create_failures;
  double remove_failures = 0;  // probability that a deletion is refused
  double list_failures = 0;    // probability that a listing gets no response
};

// The section's schema.
const config::Schema& fake_behaviour_schema();

// Reads the section. Throws config::ConfigError.
FakeBehaviour load_behaviour(const config::Section& section);

}  // namespace nodepool::drivers::fake
