#include "driver/resources.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace nodepool::driver {

namespace {

constexpr std::string_view kAlwaysWritten[] = {"cores", "instances", "ram"};
constexpr double kExact = 9007199254740992.0;  // 2^53: up to here a double holds every integer

nlohmann::json number(double value) {
  if (value == std::floor(value) && std::abs(value) < kExact)
    return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

std::optional<Resources> Resources::parse(const model::Json& json) {
  if (json.is_null()) return std::nullopt;
  const nlohmann::json value =
      nlohmann::json::parse(json.text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object()) return std::nullopt;
  Resources resources;
  for (const auto& [name, amount] : value.items()) {
    if (amount.is_number() && amount.get<double>() != 0) {
      resources.amounts_[name] = amount.get<double>();
    }
  }
  return resources;
}

model::Json Resources::to_json() const {
  nlohmann::json value = nlohmann::json::object();
  for (const std::string_view name : kAlwaysWritten) value[std::string(name)] = 0;
  for (const auto& [name, amount] : amounts_) value[name] = number(amount);
  return model::Json::parse(value.dump());
}

double Resources::amount(std::string_view name) const {
  const auto found = amounts_.find(name);
  return found == amounts_.end() ? 0 : found->second;
}

Resources& Resources::operator+=(const Resources& other) {
  for (const auto& [name, amount] : other.amounts_) {
    const auto entry = amounts_.try_emplace(name, 0).first;
    entry->second += amount;
    if (entry->second == 0) amounts_.erase(entry);
  }
  return *this;
}

Resources& Resources::operator-=(const Resources& other) {
  for (const auto& [name, amount] : other.amounts_) {
    const auto entry = amounts_.try_emplace(name, 0).first;
    entry->second -= amount;
    if (entry->second == 0) amounts_.erase(entry);
  }
  return *this;
}

std::optional<LimitExceeded> excess(const Limits& limits, const Resources& used,
                                    const Resources& needed) {
  for (const auto& [name, limit] : limits) {
    const double uses = used.amount(name);
    const double needs = needed.amount(name);
    if (uses + needs > limit) return LimitExceeded{name, limit, uses, needs};
  }
  return std::nullopt;
}

std::string to_string(const LimitExceeded& excess) {
  return fmt::format("{}: {:g} used + {:g} needed, limit {:g}", excess.resource, excess.used,
                     excess.needed, excess.limit);
}

Limits remaining(Limits limits, const Resources& used) {
  for (auto& [name, limit] : limits) limit -= used.amount(name);
  return limits;
}

}  // namespace nodepool::driver
