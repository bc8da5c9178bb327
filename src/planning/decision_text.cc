#include "planning/decision_text.h"

#include <fmt/format.h>

#include "json/json.h"

namespace nodepool::planning {

namespace {

using driver::LimitExceeded;
using Code = Reason::Code;
using Kind = Decision::Kind;
using Until = Decision::Until;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::accept:
      return "accepts";
    case Kind::decline:
      return "declines";
    case Kind::fail:
      return "fails it";
    case Kind::wait:
      return "waits";
    case Kind::ignore:
      return "ignores it";
  }
  return {};
}

}  // namespace

std::string_view to_string(Until until) {
  switch (until) {
    case Until::nothing:
      return "the request changes";
    case Until::registry_changes:
      return "a pool deregisters, pauses or declines";
    case Until::quota_is_known:
      return "the provider has responded";
    case Until::capacity_is_free:
      return "a node becomes free or is deleted";
    case Until::tenant_takes_less:
      return "the tenant releases nodes";
    case Until::tenant_limit_is_raised:
      return "the tenant's limit is raised";
    case Until::earlier_one_is_served:
      return "that request is served or deleted";
    case Until::launch_ends:
      return "a launch ends";
    case Until::refusal_ends:
      return "the launcher retries";
  }
  return {};
}

std::string sentence(const Decision& decision, Words words) {
  std::string text(name_of(decision.kind));
  if (decision.reason.code != Code::none) text += ": " + sentence(decision.reason, words);
  if (decision.until != Until::nothing)
    text += fmt::format(" (until {})", to_string(decision.until));
  return text;
}

std::string to_json(const Decision& decision, std::string_view pool_id) {
  json::Json json{{"pool", pool_id}, {"decision", name_of(decision.kind)}};
  const Reason& reason = decision.reason;
  if (reason.code == Code::none) return json::to_text(json);
  json["reason"] = name_of(reason.code);
  if (!reason.subject.empty()) json["subject"] = reason.subject;
  if (!reason.provider.empty()) json["provider"] = reason.provider;
  if (!reason.labels.empty()) json["labels"] = reason.labels;
  const LimitExceeded& figures = reason.figures;
  if (figures != LimitExceeded()) {
    json["figures"] = {
        {"used", figures.used}, {"needed", figures.needed}, {"limit", figures.limit}};
    if (!figures.resource.empty()) json["figures"]["resource"] = figures.resource;
  }
  return json::to_text(json);
}

}  // namespace nodepool::planning
