#include "history/entry.h"

#include "json/json.h"

namespace nodepool::history {

namespace {

using json::Json;

const char* key_of(JournalEntry::Subject subject) {
  return subject == JournalEntry::Subject::node ? "node" : "request";
}

}  // namespace

std::string to_line(const JournalEntry& entry) {
  Json line{{"time", entry.time}, {key_of(entry.subject), entry.id}, {"event", entry.event}};
  if (!entry.related.empty()) line["related"] = entry.related;
  if (!entry.details.empty()) line["details"] = entry.details;
  if (const std::string data = to_json(entry.facts); !data.empty())
    line["data"] = json::parse(data);
  return json::to_text(line) + "\n";
}

std::optional<JournalEntry> parse_line(std::string_view line) {
  try {
    const Json json = json::parse(line);
    if (!json.is_object()) return std::nullopt;
    JournalEntry entry;
    entry.subject =
        json.contains("node") ? JournalEntry::Subject::node : JournalEntry::Subject::request;
    json.at("time").get_to(entry.time);
    json.at(key_of(entry.subject)).get_to(entry.id);
    json.at("event").get_to(entry.event);
    entry.related = json.value("related", std::vector<std::string>());
    entry.details = json.value("details", std::string());
    if (json.contains("data")) entry.facts = facts_of(entry.event, json["data"].dump());
    return entry;
  } catch (const json::ParseError&) {
    return std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

bool may_report(std::string_view line, std::string_view event) {
  // As to_line() writes it. A text cannot contain it, as quotes are escaped in texts.
  constexpr std::string_view kKey = R"("event":")";
  const std::size_t key = line.find(kKey);
  if (key == std::string_view::npos) return false;
  const std::string_view value = line.substr(key + kKey.size());
  return value.starts_with(event) && value.substr(event.size()).starts_with('"');
}

}  // namespace nodepool::history
