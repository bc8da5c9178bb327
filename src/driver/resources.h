#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/container/flat_map.hpp>

#include "model/record.h"

// The arithmetic of quotas: what nodes take, and what a provider, a pool or a tenant may take at
// most. Names are free; every driver knows "instances", "cores" and "ram" (MiB), clouds add others
// ("volumes", "volume-gb", …).
namespace nodepool::driver {

// Amounts of resources by name. One that is not listed is 0.
class Resources {
 public:
  // There are as many as nodes, with a few names each.
  using Amounts = boost::container::flat_map<std::string, double, std::less<>>;

  Resources() = default;
  explicit Resources(Amounts amounts) : amounts_(std::move(amounts)) {}

  // Reads the `resources` of a node's record: an object of numbers. Nothing for null; whatever is
  // not a number is left out.
  static std::optional<Resources> parse(const model::Json& json);

  // The form of a node's record: always with cores, instances and ram, which Zuul reads.
  model::Json to_json() const;

  const Amounts& amounts() const { return amounts_; }
  double amount(std::string_view name) const;
  bool empty() const { return amounts_.empty(); }

  Resources& operator+=(const Resources& other);
  Resources& operator-=(const Resources& other);
  friend Resources operator+(Resources left, const Resources& right) { return left += right; }
  friend bool operator==(const Resources&, const Resources&) = default;

 private:
  Amounts amounts_;  // no zeros
};

// The most that may be taken, by name. A resource that is not listed is not limited.
using Limits = std::map<std::string, double, std::less<>>;

// A limit that does not allow something.
struct LimitExceeded {
  std::string resource;
  double limit = 0;
  double used = 0;
  double needed = 0;

  friend bool operator==(const LimitExceeded&, const LimitExceeded&) = default;
};

// The first limit that `used` and `needed` together exceed; nothing if all is within the limits.
std::optional<LimitExceeded> excess(const Limits& limits, const Resources& used,
                                    const Resources& needed);

// "instances: 9 used + 2 needed, limit 10".
std::string to_string(const LimitExceeded& excess);

// The limits after `used` has been taken from them: what is left for others.
Limits remaining(Limits limits, const Resources& used);

}  // namespace nodepool::driver
