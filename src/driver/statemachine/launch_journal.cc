#include "driver/statemachine/launch_journal.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace nodepool::driver {

bool LaunchJournal::is_uncertain() const {
  return std::ranges::any_of(steps, [](const auto& entry) { return !entry.second.result; });
}

namespace {

using Steps = std::map<std::string, LaunchJournal::Step>;

Steps read_steps(const nlohmann::json& value) {
  Steps steps;
  for (const auto& [name, entry] : value.items()) {
    LaunchJournal::Step step;
    entry.at("begun").get_to(step.begun);
    if (const auto result = entry.find("result"); result != entry.end()) {
      step.result = result->get<std::string>();
    }
    steps.emplace(name, std::move(step));
  }
  return steps;
}

nlohmann::ordered_json written(const Steps& steps) {
  auto list = nlohmann::ordered_json::object();
  for (const auto& [name, step] : steps) {
    list[name]["begun"] = step.begun;
    if (step.result) list[name]["result"] = *step.result;
  }
  return list;
}

}  // namespace

LaunchJournal LaunchJournal::parse(const model::Json& json) {
  LaunchJournal journal;
  if (json.is_null()) return journal;
  try {
    const auto value = nlohmann::json::parse(json.text);
    value.at("attempt").get_to(journal.attempt);
    value.at("undo").get_to(journal.undo);
    journal.steps = read_steps(value.at("steps"));
    if (value.contains("removal")) journal.removal = read_steps(value.at("removal"));
  } catch (const nlohmann::json::exception& error) {
    throw model::RecordError(std::string("invalid 'launch_journal': ") + error.what());
  }
  return journal;
}

model::Json LaunchJournal::to_json() const {
  nlohmann::ordered_json value{{"attempt", attempt}, {"undo", undo}};
  value["steps"] = written(steps);
  if (!removal.empty()) value["removal"] = written(removal);
  return model::Json::parse(value.dump());
}

}  // namespace nodepool::driver
