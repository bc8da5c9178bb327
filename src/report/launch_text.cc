#include "report/launch_text.h"

#include <fmt/format.h>

#include <string_view>
#include <variant>

#include "json/json.h"
#include "telemetry/sanitized_text.h"

namespace nodepool::report {

namespace {

using LaunchJson = json::Json;

// "compute: create server: POST /v2.1/servers -> 500 (201 ms), request req-1".
std::string call_text(const LaunchJson& note) {
  std::string text = note.at("call").get<std::string>();
  if (note.contains("method")) {
    const int status = note.value("status", 0);
    text +=
        fmt::format(": {} {} -> {}", note.at("method").get<std::string>(), note.value("path", ""),
                    status == 0 ? "no response" : std::to_string(status));
  }
  text += fmt::format(" ({:.0f} ms)", note.value("milliseconds", 0.0));
  if (note.contains("id")) text += ", request " + note["id"].get<std::string>();
  return text;
}

std::string event_text(const LaunchJson& note) {
  if (note.contains("call")) return call_text(note);
  if (note.contains("step")) return note["step"].get<std::string>();
  if (note.contains("look")) {
    const std::string outcome = note.value("outcome", "");
    return "polled the list of " + note["look"].get<std::string>() +
           (outcome.empty() ? "" : ": " + outcome);
  }
  return note.at("connection").get<std::string>() + ": " + note.value("outcome", "");
}

std::string line_of(const LaunchJson& note) {
  std::string text = fmt::format("{:9.3f} s  {}", note.value("after", 0.0), event_text(note));
  if (note.contains("times")) {
    text +=
        fmt::format("; {} times until {:.3f} s", note.value("times", 1), note.value("until", 0.0));
  }
  return text;
}

std::string launch_text_of(const LaunchJson& data) {
  std::string text =
      fmt::format("Attempt {} of {}", data.value("attempt", 1), data.value("attempts", 1));
  if (data.value("resumed", false)) {
    text += ", started by another launcher, whose events are lost";
  }
  text += ":";
  for (const LaunchJson& note : data.at("notes")) text += "\n" + line_of(note);
  const int left_out = data.value("left_out", 0);
  if (left_out > 0) text += fmt::format("\n({} events from the middle are omitted)", left_out);
  text += fmt::format("\n{:9.3f} s  {}", data.value("seconds", 0.0), data.value("failure", ""));
  const std::string console = data.value("console", "");
  if (!console.empty()) text += "\nEnd of the console log:\n" + console;
  return text;
}

}  // namespace

std::string launch_text(const history::JournalEntry& entry) {
  const auto* attempt = std::get_if<history::Attempted>(&entry.facts);
  if (attempt == nullptr || attempt->failure.empty()) return {};
  try {
    const LaunchJson data = json::parse(attempt->json);
    if (!data.is_object() || !data.contains("notes")) return {};
    return telemetry::sanitized_text(launch_text_of(data));
  } catch (const json::ParseError&) {
    return {};
  } catch (const LaunchJson::exception&) {
    return {};
  }
}

void hide_console(history::JournalEntry& entry) {
  constexpr const char* kKey = "console";
  auto* attempt = std::get_if<history::Attempted>(&entry.facts);
  if (attempt == nullptr) {
    // A trace in the form of another release may have a console, too.
    if (entry.event == "launch") entry.facts = std::monostate();
    return;
  }
  LaunchJson data = json::parse(attempt->json);
  const auto found = data.find(kKey);
  if (found == data.end()) return;
  if (found->is_string() && found->get_ref<const std::string&>().empty()) return;
  *found = "(not shown: it needs a token with scope `read`)";
  attempt->json = json::to_text(data);
}

}  // namespace nodepool::report
