#include "history/facts.h"

#include <map>
#include <utility>

#include "json/json.h"

namespace nodepool::history {

namespace {

using json::Json;

Json json_of(const Declined& facts) {
  Json json{{"pool", facts.pool}};
  if (!facts.reason.empty()) json["reason"] = facts.reason;
  return json;
}

// Throws Json::exception if `data` does not have the form.
Declined declined_of(const Json& data) {
  return {.pool = data.at("pool").get<std::string>(),
          .reason = data.value("reason", std::string())};
}

// Throws Json::exception if `data` does not have the form.
using Reader = Facts (*)(const Json& data);

const std::map<std::string_view, Reader>& readers() {
  static const std::map<std::string_view, Reader> all{
      {"fulfilled",
       [](const Json& data) -> Facts {
         return Waited{.labels = data.at("labels").get<std::vector<std::string>>(),
                       .seconds = data.at("seconds").get<double>()};
       }},
      {"declined", [](const Json& data) -> Facts { return declined_of(data); }},
      {"failed",
       [](const Json& data) -> Facts {
         DeclinedByAll failed;
         for (const Json& decline : data.at("declines")) {
           failed.declines.push_back(declined_of(decline));
         }
         return failed;
       }},
      {"decision",
       [](const Json& data) -> Facts {
         return Decided{.pool = data.at("pool").get<std::string>(), .json = json::to_text(data)};
       }},
      {"launch",
       [](const Json& data) -> Facts {
         return Attempted{.failure = data.value("failure", std::string()),
                          .json = json::to_text(data)};
       }},
      {"asks",
       [](const Json& data) -> Facts {
         return AskedFor{.request = data.at("request").get<std::string>()};
       }},
      {"on",
       [](const Json& data) -> Facts {
         return PlacedOn{.node = data.at("node").get<std::string>()};
       }},
  };
  return all;
}

struct Writer {
  std::string operator()(std::monostate /*none*/) const { return {}; }
  std::string operator()(const Waited& facts) const {
    return json::to_text({{"labels", facts.labels}, {"seconds", facts.seconds}});
  }
  std::string operator()(const Declined& facts) const { return json::to_text(json_of(facts)); }
  std::string operator()(const DeclinedByAll& facts) const {
    Json declines = Json::array();
    for (const Declined& decline : facts.declines) declines.push_back(json_of(decline));
    return json::to_text({{"declines", std::move(declines)}});
  }
  std::string operator()(const AskedFor& facts) const {
    return json::to_text({{"request", facts.request}});
  }
  std::string operator()(const PlacedOn& facts) const {
    return json::to_text({{"node", facts.node}});
  }
  template <typename Opaque>
  std::string operator()(const Opaque& facts) const {
    return facts.json;
  }
};

}  // namespace

std::string to_json(const Facts& facts) {
  return std::visit(Writer(), facts);
}

Facts facts_of(std::string_view event, std::string json) {
  const auto reader = readers().find(event);
  if (reader != readers().end()) {
    try {
      return reader->second(json::parse(json));
    } catch (const json::ParseError&) {
      return OtherFacts{std::move(json)};
    } catch (const Json::exception&) {
      // Written by another release.
    }
  }
  return OtherFacts{std::move(json)};
}

}  // namespace nodepool::history
