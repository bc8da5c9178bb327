#include "drivers/fake/fake_behaviour.h"

namespace nodepool::drivers::fake {

namespace {

using namespace config;

async::Duration seconds_of(const Section& section, std::string_view key) {
  const double seconds = section.number(key);
  if (!(seconds >= 0)) throw section.error(key, "must be 0 or more seconds");
  return std::chrono::duration_cast<async::Duration>(std::chrono::duration<double>(seconds));
}

double probability_of(const Section& section, std::string_view key) {
  const double probability = section.number(key);
  if (!(probability >= 0 && probability <= 1)) {
    throw section.error(key, "must be a probability from 0 to 1");
  }
  return probability;
}

Field probability(std::string_view key, std::string_view description) {
  return {.key = key, .type = lenient_number(), .default_value = "0", .description = description};
}

Schema failures_schema() {
  return {.description = "Failure rates: probabilities from 0 to 1.",
          .fields = {
              probability("create-error", "Creating a machine fails."),
              probability("create-no-capacity", "Creating a machine fails for lack of capacity."),
              probability("create-lost-answer",
                          "The response to a create call is lost. The machine may exist or not."),
              probability("create-broken", "A machine is created, but does not come up."),
              probability("delete", "Deleting a machine fails."),
              probability("list", "Listing machines fails."),
          }};
}

}  // namespace

const Schema& fake_behaviour_schema() {
  static const Schema schema{
      .description = "Behavior of the simulated cloud.",
      .fields = {
          {.key = "name",
           .type = string(),
           .default_note = "provider's name",
           .description = "Name of the cloud. Providers of one launcher with the same name share "
                          "it; it behaves as the provider that was started last specifies."},
          {.key = "boot-time",
           .type = lenient_number(),
           .default_value = "0.1",
           .unit = "seconds",
           .description = "Boot time of a machine."},
          {.key = "delete-time",
           .type = lenient_number(),
           .default_value = "0",
           .unit = "seconds",
           .description = "Time to delete a machine."},
          {.key = "latency",
           .type = lenient_number(),
           .default_value = "0",
           .unit = "seconds",
           .description = "Duration of each call."},
          {.key = "limits",
           .type = mapping_of(integer()),
           .default_note = "20 `instances`, 100 `cores`, 1000000 `ram` (MiB), 100 `volumes`, "
                           "1000000 `volume-gb`",
           .description =
               "Quota of the project. Resources not listed keep their default. -1: unlimited."},
          {.key = "failures",
           .type = section(failures_schema()),
           .default_note = "none",
           .description = "Failure rates."},
      }};
  return schema;
}

FakeBehaviour load_behaviour(const Section& section) {
  FakeBehaviour behaviour;
  behaviour.boot_time = seconds_of(section, "boot-time");
  behaviour.delete_time = seconds_of(section, "delete-time");
  behaviour.latency = seconds_of(section, "latency");
  for (const auto& [resource, limit] : section.integer_map("limits")) {
    if (limit < 0) {
      behaviour.limits.erase(resource);
    } else {
      behaviour.limits[resource] = static_cast<double>(limit);
    }
  }
  if (const auto failures = section.section("failures")) {
    behaviour.create_failures = {.error = probability_of(*failures, "create-error"),
                                 .no_capacity = probability_of(*failures, "create-no-capacity"),
                                 .lost_answer = probability_of(*failures, "create-lost-answer"),
                                 .broken = probability_of(*failures, "create-broken")};
    behaviour.remove_failures = probability_of(*failures, "delete");
    behaviour.list_failures = probability_of(*failures, "list");
  }
  return behaviour;
}

}  // namespace nodepool::drivers::fake
