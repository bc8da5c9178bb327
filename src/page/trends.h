#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "async/clock.h"

namespace nodepool::page {

// Numbers of requests and nodes over the last hours, one sample a minute, of the whole installation
// and for each label and provider. A minute without a sample is unknown, not 0.
//
// Size: 7.2 kB a series. With 100 labels and 10 providers, 111 series have 0.8 MB; at most, 801
// series have 5.8 MB.
class Trends {
 public:
  using TimePoint = async::Clock::TimePoint;

  static constexpr std::size_t kSamples = 360;
  static constexpr auto kInterval = std::chrono::minutes(1);
  // Of labels, and of providers.
  static constexpr std::size_t kMostSeries = 400;

  struct Counts {
    std::uint32_t waiting = 0;  // requests
    std::uint32_t in_use = 0;   // nodes
    std::uint32_t ready = 0;
    std::uint32_t launching = 0;
    std::uint32_t failed = 0;  // nodes that have failed since the last sample
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  enum class Kind { all, provider, label };

  // The counts that are not 0. `all` has one name, the empty one.
  using Sample = std::map<Kind, std::map<std::string, Counts, std::less<>>>;

  // Adds the sample of the minute of `now`. Times do not decrease.
  void add(TimePoint now, const Sample& sample);

  // A series as JSON, with a value for each minute since the first sample. Unknown ones are null:
  //   {"begin":1700000000.00,"first":1700000000.00,"steps":3,"step":60,
  //    "series":[{"name":"debian","waiting":[0,null,2],…}]}
  // "begin" is the time of the first of so many values, "first" the time of the oldest sample that
  // is kept. A series whose counts were all 0 is missing. So is one above kMostSeries, with
  // "incomplete":true. `wall_seconds` is the present time.
  std::string one(Kind kind, const std::string& name, TimePoint now, double wall_seconds) const;

  // The same for all series of a kind, with a value for every ten minutes: the highest number of
  // waiting requests, the last numbers of nodes, the sum of the failures. The last step ends with
  // the newest sample; the first one may begin before the oldest sample.
  std::string all(Kind kind, TimePoint now, double wall_seconds) const;

 private:
  // Minutes since the clock's epoch. The values of a minute have the index `minute % kSamples`.
  using Minute = std::int64_t;

  struct Series {
    std::vector<Counts> values = std::vector<Counts>(kSamples);
    Minute last_used = 0;  // newest minute with a count that is not 0
  };

  struct Field;
  static const std::vector<Field>& fields();

  using Names = std::map<std::string, Series, std::less<>>;

  static std::size_t index(Minute minute) { return static_cast<std::size_t>(minute) % kSamples; }
  Minute first_kept() const { return newest_ - static_cast<Minute>(kSamples) + 1; }
  void advance_to(Minute minute);
  void set(Names& names, const std::string& name, const Counts& counts);
  std::string json(Kind kind, const std::string* name, Minute step, double clock_offset) const;
  std::string values(const Series& series, const Field& field, Minute begin, Minute step) const;

  std::map<Kind, Names> series_;
  std::vector<bool> is_known_ = std::vector<bool>(kSamples);
  Minute newest_ = -1;  // negative: no sample yet
  Minute first_ = 0;
  Minute refused_ = -1;  // newest minute in which there were too many series
};

}  // namespace nodepool::page
