#include "page/trend_file.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "json/json.h"

namespace nodepool::page {

namespace {

using json::Json;
using Kind = Trends::Kind;
using Counts = Trends::Counts;

constexpr std::array kKinds = {std::pair("all", Kind::all), std::pair("label", Kind::label),
                               std::pair("provider", Kind::provider)};

constexpr std::array kCounts = {&Counts::waiting, &Counts::in_use, &Counts::ready,
                                &Counts::launching, &Counts::failed};

// Of each of the two files, in bytes: six hours with 400 labels and 400 providers.
constexpr std::int64_t kMaxSize = 8 << 20;

Counts counts_of(const Json& json) {
  Counts counts;
  for (std::size_t i = 0; i < kCounts.size(); ++i) json.at(i).get_to(counts.*kCounts.at(i));
  return counts;
}

struct TimedSample {
  double time = 0;
  Trends::Sample sample;
};

std::optional<TimedSample> parse_sample(std::string_view line) {
  try {
    const Json json = json::parse(line);
    TimedSample timed;
    json.at("time").get_to(timed.time);
    for (const auto& [name, kind] : kKinds) {
      if (!json.contains(name)) continue;
      for (const auto& [each, counts] : json.at(name).items()) {
        timed.sample[kind].emplace(each, counts_of(counts));
      }
    }
    return timed;
  } catch (const json::ParseError&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

history::Journal trend_file(const history::Journal& history) {
  return {.directory = history.directory, .name = "trends", .max_size = kMaxSize};
}

std::string to_line(double time, const Trends::Sample& sample) {
  Json line{{"time", time}};
  for (const auto& [name, kind] : kKinds) {
    const auto names = sample.find(kind);
    if (names == sample.end()) continue;
    for (const auto& [each, counts] : names->second) {
      Json& values = line[name][each];
      for (const auto count : kCounts) values.push_back(counts.*count);
    }
  }
  return json::to_text(line) + "\n";
}

Trends read_trends(const history::Journal& file, Trends::TimePoint now, double wall_seconds) {
  const std::chrono::duration<double> kept(Trends::kInterval * Trends::kSamples);
  std::map<double, Trends::Sample> samples;
  history::read_lines(file, [&](std::string_view line) {
    std::optional<TimedSample> timed = parse_sample(line);
    if (!timed) return;
    const double age = wall_seconds - timed->time;
    if (age >= 0 && age < kept.count()) samples[timed->time] = std::move(timed->sample);
  });
  Trends trends;
  for (const auto& [time, sample] : samples) {
    const std::chrono::duration<double> age(wall_seconds - time);
    trends.add(now - std::chrono::duration_cast<async::Duration>(age), sample);
  }
  return trends;
}

}  // namespace nodepool::page
