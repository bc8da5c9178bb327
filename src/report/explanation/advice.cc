#include "report/explanation/advice.h"

#include <algorithm>
#include <array>

#include "planning/reason.h"

namespace nodepool::report {

namespace {

using Code = planning::Reason::Code;

struct Advice {
  Code code;
  std::string_view text;
};

constexpr std::string_view kFreeNodes =
    "release leases that are not needed (`nodepool lease-list`), raise the limit, or add hosts";
constexpr std::string_view kSmallerRequest = "request fewer or smaller nodes, or raise the limit";

constexpr std::array kAdvice{
    Advice{Code::nodes_not_free, kFreeNodes},
    Advice{Code::pool_full, kFreeNodes},
    Advice{Code::provider_full, kFreeNodes},
    Advice{Code::launches_under_way,
           "allow more time (--timeout), or raise max-concurrency of the provider"},
    Advice{Code::pool_disabled, "raise max-servers of the pool"},
    Advice{Code::label_unserviceable,
           "check image, flavor and quota of the label (`nodepool config-validate --online`)"},
    Advice{Code::beyond_stock, kSmallerRequest},
    Advice{Code::beyond_limit_of_pool, kSmallerRequest},
    Advice{Code::beyond_limit_of_tenant, kSmallerRequest},
    Advice{Code::beyond_limit_of_provider, kSmallerRequest},
};

}  // namespace

std::string advice_about(std::string_view reason) {
  const auto found = std::ranges::find(
      kAdvice, reason, [](const Advice& advice) { return planning::name_of(advice.code); });
  return found == kAdvice.end() ? std::string() : std::string(found->text);
}

std::string advice_without_pool() {
  return "add them to one pool, or request labels that `nodepool label-list` shows";
}

}  // namespace nodepool::report
