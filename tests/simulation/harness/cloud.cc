#include "tests/simulation/harness/cloud.h"

#include <fmt/format.h>

#include <utility>

namespace nodepool::simulation {

using driver::Limits;
using driver::Resources;

Resources label_resources(std::string_view label) {
  return Resources({{"instances", 1}, {"cores", label == "small" ? 1 : 2}});
}

void Clouds::set_limits(const std::string& provider, Limits limits) {
  std::string text;
  for (const auto& [name, limit] : limits) text += fmt::format(" {}={}", name, limit);
  journal_.note("cloud", fmt::format("{} allows{}", provider, text));
  limits_[provider] = std::move(limits);
}

const Limits& Clouds::limits(const std::string& provider) const {
  static const Limits kNone;
  const auto found = limits_.find(provider);
  return found == limits_.end() ? kNone : found->second;
}

bool Clouds::has_room(const std::string& provider, const Resources& need) const {
  Resources used;
  for (const auto& [id, machine] : machines_) {
    if (machine.provider == provider) used += machine.resources;
  }
  return !excess(limits(provider), used, need);
}

std::string Clouds::add_image(const std::string& provider) {
  std::string id = fmt::format("image-{}", ++uploaded_);
  journal_.note("cloud", fmt::format("{} has {}", provider, id));
  images_.insert(id);
  return id;
}

std::string Clouds::make(Machine machine) {
  std::string id = fmt::format("machine-{}", ++made_);
  journal_.count("machine: made");
  journal_.note("cloud", fmt::format("{} makes {}", machine.provider, id));
  machine.era = era_;
  machine.made_at = clock_.now();
  for (const auto& [other, made] : machines_) {
    if (made.metadata != machine.metadata || made.era != era_) continue;
    if (made.was_hidden) {
      journal_.count("machine: second one for a node, the first was not listed");
    } else {
      journal_.violation(fmt::format("{} and {} are for the same node", other, id));
    }
  }
  machines_.emplace(id, std::move(machine));
  return id;
}

void Clouds::remove(const std::string& id) {
  std::erase_if(gone_, [oldest = clock_.now() - kMostStale](const auto& entry) {
    return entry.second.gone_at < oldest;
  });
  auto machine = machines_.extract(id);
  if (machine.empty()) return;
  machine.mapped().gone_at = clock_.now();
  gone_.insert(std::move(machine));
}

std::vector<std::pair<std::string, Clouds::Machine>> Clouds::machines_of(
    const std::string& provider, async::Clock::TimePoint when) const {
  std::vector<std::pair<std::string, Machine>> found;
  for (const auto* machines : {&machines_, &gone_}) {
    for (const auto& [id, machine] : *machines) {
      const bool was_there = machine.made_at <= when && when < machine.gone_at;
      if (machine.provider == provider && was_there) found.emplace_back(id, machine);
    }
  }
  return found;
}

void Clouds::hide(const std::string& id) {
  const auto machine = machines_.find(id);
  if (machine != machines_.end()) machine->second.was_hidden = true;
}

}  // namespace nodepool::simulation
