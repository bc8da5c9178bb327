#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/container/flat_map.hpp>

#include "model/record.h"

// Resources that nodes take, and limits of a provider, a pool or a tenant. All drivers use
// "instances", "cores" and "ram" (MiB); some add others ("volumes", "volume-gb", …).
namespace nodepool::driver {

// Amounts of resources by name. The amount of an unlisted resource is 0.
class Resources {
 public:
  // A flat map: there is one object for each node, with a few names.
  using Amounts = boost::container::flat_map<std::string, double, std::less<>>;

  Resources() = default;
  explicit Resources(Amounts amounts) : amounts_(std::move(amounts)) {}

  // Reads the `resources` of a node's record, an object of numbers. Ignores values that are not
  // numbers. Returns nothing for null, or if it is no object.
  static std::optional<Resources> parse(const model::Json& json);

  // The `resources` of a node's record. Always has cores, instances and ram, which Zuul reads.
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

// Upper limits by name. An unlisted resource is unlimited.
using Limits = std::map<std::string, double, std::less<>>;

// A limit that would be exceeded.
struct LimitExceeded {
  std::string resource;
  double limit = 0;
  double used = 0;
  double needed = 0;

  friend bool operator==(const LimitExceeded&, const LimitExceeded&) = default;
};

// The first limit that `used` plus `needed` exceeds; nothing if none is exceeded.
std::optional<LimitExceeded> excess(const Limits& limits, const Resources& used,
                                    const Resources& needed);

// "instances: 9 used + 2 needed, limit 10".
std::string to_string(const LimitExceeded& excess);

// The limits less `used`.
Limits remaining(Limits limits, const Resources& used);

}  // namespace nodepool::driver
