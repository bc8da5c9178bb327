#include "driver/launch_account.h"

#include <fmt/format.h>

#include <cmath>

#include "json/json.h"

namespace nodepool::driver {

namespace {

using json::Json;
using NoteKind = LaunchNote::Kind;

// What nobody needs more digits of.
double rounded(double value) {
  constexpr double kThousandths = 1000;
  return std::round(value * kThousandths) / kThousandths;
}

const char* name_of(NoteKind kind) {
  switch (kind) {
    case NoteKind::step:
      return "step";
    case NoteKind::call:
      return "call";
    case NoteKind::look:
      return "look";
    case NoteKind::connection:
      break;
  }
  return "connection";
}

Json json_of_note(const LaunchNote& note) {
  Json json{{"after", rounded(note.after)}, {name_of(note.kind), note.what}};
  if (!note.method.empty()) {
    json["method"] = note.method;
    json["path"] = note.path;
    json["status"] = note.status;
  }
  if (!note.id.empty()) json["id"] = note.id;
  if (note.kind == NoteKind::call) json["milliseconds"] = rounded(note.milliseconds);
  if (!note.outcome.empty()) json["outcome"] = note.outcome;
  if (note.times > 1) {
    json["times"] = note.times;
    json["until"] = rounded(note.until);
  }
  return json;
}

}  // namespace

std::string summary(const LaunchAccount& account) {
  std::string text =
      fmt::format("attempt {} of {} {} after {:.1f} s, {} call(s) of the cloud", account.attempt,
                  account.attempts, account.failure.empty() ? "succeeded" : "failed",
                  account.seconds, account.calls);
  if (account.resumed) text += ", begun by another launcher, whose part is lost";
  if (!account.failure.empty()) text += ": " + account.failure;
  return text;
}

std::string to_json(const LaunchAccount& account) {
  Json json{{"attempt", account.attempt},          {"attempts", account.attempts},
            {"resumed", account.resumed},          {"result", account.result},
            {"seconds", rounded(account.seconds)}, {"calls", account.calls}};
  if (!account.failure.empty()) {
    json["failure"] = account.failure;
    Json& notes = json["notes"] = Json::array();
    for (const LaunchNote& note : account.notes) notes.push_back(json_of_note(note));
    json["left_out"] = account.left_out;
    if (!account.console.empty()) json["console"] = account.console;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace nodepool::driver
