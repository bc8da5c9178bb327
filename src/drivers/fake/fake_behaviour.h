#pragma once

#include <map>
#include <string>
#include <string_view>

#include "async/task.h"
#include "config/schema.h"
#include "config/section.h"
#include "driver/resources.h"

namespace nodepool::drivers::fake {

// What the cloud is asked to do.
enum class CloudCall {
  create,        // of a machine
  remove,        // of a machine
  list,          // of machines
  limits,        // which the quota sets
  upload_image,  //
  remove_image,  //
  list_images,   //
};

// How the cloud behaves: the section `fake-cloud` of a provider.
struct FakeBehaviour {
  // How a creation fails, each with its probability from 0 to 1.
  struct CreateFailures {
    double error = 0;        // refused, for no good reason
    double no_capacity = 0;  // refused, because the cloud is full
    double lost_answer = 0;  // done or not, the caller does not learn it
    double broken = 0;       // the machine is made and does not come up
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
  double remove_failures = 0;  // probability that a deletion is not accepted
  double list_failures = 0;    // … that a listing is not answered
};

// The section's schema.
const config::Schema& fake_behaviour_schema();

// Reads the section. Throws config::ConfigError.
FakeBehaviour load_behaviour(const config::Section& section);

}  // namespace nodepool::drivers::fake
