#include "page/trends.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "page/row_text.h"

namespace nodepool::page {

namespace {

constexpr std::int64_t kLongStep = 10;  // minutes

std::int64_t minute_of(Trends::TimePoint time) {
  return std::chrono::floor<std::chrono::minutes>(time.time_since_epoch()).count();
}

// The offset of the wall time from the clock's time, in seconds.
double offset(Trends::TimePoint now, double wall_seconds) {
  return wall_seconds - std::chrono::duration<double>(now.time_since_epoch()).count();
}

}  // namespace

struct Trends::Field {
  // The value of a step of several minutes. Numbers of nodes have to be of the same minute, because
  // they are added.
  enum class Summary { highest, last, sum };

  std::string_view name;
  std::uint32_t Counts::* count;
  Summary summary;

  std::uint32_t combine(std::uint32_t before, std::uint32_t next) const {
    if (summary == Summary::highest) return std::max(before, next);
    return summary == Summary::sum ? before + next : next;
  }
};

const std::vector<Trends::Field>& Trends::fields() {
  using Summary = Field::Summary;
  static const std::vector<Field> kFields{{"waiting", &Counts::waiting, Summary::highest},
                                          {"in_use", &Counts::in_use, Summary::last},
                                          {"ready", &Counts::ready, Summary::last},
                                          {"launching", &Counts::launching, Summary::last},
                                          {"failed", &Counts::failed, Summary::sum}};
  return kFields;
}

void Trends::add(TimePoint now, const Sample& sample) {
  advance_to(minute_of(now));
  is_known_[index(newest_)] = true;
  for (const auto& [kind, names] : sample) {
    for (const auto& [name, counts] : names) set(series_[kind], name, counts);
  }
}

// Clears the values of the minutes since the newest one, and removes the series without values.
void Trends::advance_to(Minute minute) {
  if (newest_ < 0) first_ = minute;
  const Minute begin = std::max(newest_ + 1, minute - static_cast<Minute>(kSamples) + 1);
  newest_ = minute;
  for (auto& [kind, names] : series_) {
    std::erase_if(names, [this](const auto& each) { return each.second.last_used < first_kept(); });
  }
  for (Minute each = std::max<Minute>(begin, 0); each <= minute; ++each) {
    is_known_[index(each)] = false;
    for (auto& [kind, names] : series_) {
      for (auto& [name, series] : names) series.values[index(each)] = {};
    }
  }
}

void Trends::set(Names& names, const std::string& name, const Counts& counts) {
  if (counts == Counts()) return;
  if (names.size() >= kMostSeries && !names.contains(name)) {
    refused_ = newest_;
    return;
  }
  Series& series = names[name];
  series.values[index(newest_)] = counts;
  series.last_used = newest_;
}

std::string Trends::one(Kind kind, const std::string& name, TimePoint now,
                        double wall_seconds) const {
  return json(kind, &name, 1, offset(now, wall_seconds));
}

std::string Trends::all(Kind kind, TimePoint now, double wall_seconds) const {
  return json(kind, nullptr, kLongStep, offset(now, wall_seconds));
}

std::string Trends::json(Kind kind, const std::string* name, Minute step,
                         double clock_offset) const {
  const Minute oldest = std::max(first_, first_kept());
  const Minute steps = newest_ < 0 ? 0 : (newest_ - oldest + step) / step;
  const Minute begin = newest_ - steps * step + 1;
  const auto time_of = [clock_offset](Minute minute) {
    return std::chrono::duration<double>(std::chrono::minutes(minute)).count() + clock_offset;
  };
  std::string list = "[";
  const auto names = series_.find(kind);
  if (names != series_.end()) {
    for (const auto& [each, series] : names->second) {
      if (name != nullptr && each != *name) continue;
      RowText row;
      row.text("name", each);
      for (const Field& field : fields()) {
        row.json(field.name, {.text = values(series, field, begin, step)});
      }
      list += (list.size() > 1 ? "," : "") + row.str();
    }
  }
  RowText text;
  text.time("begin", time_of(begin)).time("first", time_of(oldest));
  text.number("steps", static_cast<double>(steps));
  text.number("step", std::chrono::duration<double>(std::chrono::minutes(step)).count());
  text.json("series", {.text = list + "]"});
  text.truth("incomplete", refused_ >= 0 && refused_ >= first_kept());
  return text.str() + "\n";
}

std::string Trends::values(const Series& series, const Field& field, Minute begin,
                           Minute step) const {
  std::string text = "[";
  for (Minute minute = begin; minute <= newest_; minute += step) {
    std::optional<std::uint32_t> value;
    for (Minute each = std::max({minute, first_, first_kept()}); each < minute + step; ++each) {
      if (!is_known_[index(each)]) continue;
      const std::uint32_t count = series.values[index(each)].*field.count;
      value = field.combine(value.value_or(0), count);
    }
    if (minute != begin) text += ',';
    text += value ? fmt::format("{}", *value) : "null";
  }
  return text + "]";
}

}  // namespace nodepool::page
