#include "driver/launch_trace.h"

#include <fmt/format.h>

#include <cmath>

#include "json/json.h"

namespace nodepool::driver {

namespace {

using json::Json;
using EventKind = TraceEvent::Kind;

// To 3 decimal places.
double rounded(double value) {
  constexpr double kThousandths = 1000;
  return std::round(value * kThousandths) / kThousandths;
}

const char* name_of(EventKind kind) {
  switch (kind) {
    case EventKind::step:
      return "step";
    case EventKind::call:
      return "call";
    case EventKind::poll:
      return "look";
    case EventKind::connection:
      break;
  }
  return "connection";
}

Json json_of_event(const TraceEvent& event) {
  Json json{{"after", rounded(event.after)}, {name_of(event.kind), event.what}};
  if (!event.method.empty()) {
    json["method"] = event.method;
    json["path"] = event.path;
    json["status"] = event.status;
  }
  if (!event.id.empty()) json["id"] = event.id;
  if (event.kind == EventKind::call) json["milliseconds"] = rounded(event.milliseconds);
  if (!event.outcome.empty()) json["outcome"] = event.outcome;
  if (event.times > 1) {
    json["times"] = event.times;
    json["until"] = rounded(event.until);
  }
  return json;
}

}  // namespace

std::string summary(const LaunchTrace& trace) {
  std::string text = fmt::format(
      "attempt {} of {} {} after {:.1f} s, {} cloud call(s)", trace.attempt, trace.attempts,
      trace.failure.empty() ? "succeeded" : "failed", trace.seconds, trace.calls);
  if (trace.resumed) text += ", begun by another launcher (its part of the trace is lost)";
  if (!trace.failure.empty()) text += ": " + trace.failure;
  return text;
}

std::string to_json(const LaunchTrace& trace) {
  Json json{{"attempt", trace.attempt},          {"attempts", trace.attempts},
            {"resumed", trace.resumed},          {"result", trace.result},
            {"seconds", rounded(trace.seconds)}, {"calls", trace.calls}};
  if (!trace.failure.empty()) {
    json["failure"] = trace.failure;
    Json& events = json["notes"] = Json::array();
    for (const TraceEvent& event : trace.events) events.push_back(json_of_event(event));
    json["left_out"] = trace.left_out;
    if (!trace.console.empty()) json["console"] = trace.console;
  }
  return json::to_text(json);
}

}  // namespace nodepool::driver
