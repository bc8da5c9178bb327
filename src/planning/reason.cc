#include "planning/reason.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nodepool::planning {

namespace {

using Code = Reason::Code;

// "a,b,c"; only the first ones if there are many.
std::string listed(const Reason& reason) {
  const auto count = static_cast<std::size_t>(reason.figures.needed);
  std::string labels = fmt::format("{}", fmt::join(reason.labels, ","));
  if (count <= reason.labels.size()) return labels;
  return fmt::format("{},… and {} more", labels, count - reason.labels.size());
}

// The texts of a code. In `sentence`, {subject}, {provider} and {labels} are members of the reason,
// {used}, {needed} and {limit} its figures, {figures}, {required} and {excess} texts of them.
struct Wording {
  Code code;
  std::string_view name;
  std::string_view sentence;
  // The same in the words of the configuration: a sentence without values. Empty: as `sentence`.
  std::string_view of_configuration = {};
};

constexpr Wording kWordings[] = {
    {Code::none, "", ""},
    {Code::provider_accepts_nothing, "provider-accepts-nothing",
     "the provider's max-concurrency is 0"},
    {Code::not_waiting, "not-waiting", "it is {subject}"},
    {Code::pool_may_be_back, "pool-may-be-back",
     "pool {subject}, which is not registered now, may return"},
    {Code::declined_by_all, "declined-by-all", "every registered pool has declined it"},
    {Code::declined_by_this_pool, "declined-by-this-pool", "this pool has declined it"},
    {Code::prefers_other_provider, "prefers-other-provider",
     "deferred to pool {subject} of provider {provider}: the request prefers that provider"},
    {Code::left_to_better_priority, "left-to-better-priority",
     "deferred to pool {subject} of provider {provider}: it has a better priority"},
    {Code::left_to_whole_offer, "left-to-whole-offer",
     "deferred to pool {subject} of provider {provider}: it offers all labels"},
    {Code::pool_disabled, "pool-disabled", "pool is disabled by max_servers",
     "pool is disabled: max-servers is 0"},
    {Code::too_many_nodes, "too-many-nodes",
     "{needed} nodes requested, at most {limit} are possible"},
    {Code::labels_not_offered, "labels-not-offered", "node type(s) [{labels}] not available"},
    {Code::label_unserviceable, "label-unserviceable", "{subject}"},
    {Code::beyond_stock, "beyond-stock",
     "it would exceed quota: {needed} nodes with label {subject} requested, the pool has {limit}"},
    {Code::labels_not_at_once, "labels-not-at-once",
     "it would exceed quota: the pool's nodes cannot provide the labels [{labels}] at once"},
    {Code::wants_new_nodes, "wants-new-nodes",
     "the request requires new nodes, the pool only has existing ones"},
    {Code::beyond_limit_of_pool, "beyond-limit-of-pool",
     "it would exceed quota: in this pool it needs {excess}"},
    {Code::beyond_limit_of_tenant, "beyond-limit-of-tenant",
     "it would exceed quota: for its tenant it needs {excess}"},
    {Code::beyond_limit_of_provider, "beyond-limit-of-provider",
     "it would exceed quota: in this provider it needs {required}, the limit minus the usage of "
     "others is {limit}"},
    {Code::tenant_full, "tenant-full", "tenant {subject} has reached its limit: {figures}"},
    {Code::comes_after, "comes-after", "request {subject} has waited too long and is served first"},
    {Code::nodes_not_free, "nodes-not-free",
     "{used} of {needed} nodes with label {subject} are free"},
    {Code::quota_not_asked, "quota-not-asked", "the quota of the provider is not known yet"},
    {Code::quota_unknown, "quota-unknown", "the quota of the provider is not known: {subject}"},
    {Code::launch_refused, "launch-refused",
     "the provider has refused to launch another node with label {subject}"},
    {Code::pool_full, "pool-full", "the pool is full: {figures}"},
    {Code::provider_full, "provider-full", "the provider is full: {figures}"},
    {Code::launches_under_way, "launches-under-way",
     "{used} launches under way, max-concurrency is {limit}"},
    {Code::too_large_for_transaction, "too-large-for-transaction",
     "the request has too many nodes for one transaction"},
    {Code::launch_failed, "launch-failed", "launch failed: {subject}"},
};

constexpr bool is_in_order() {
  std::size_t index = 0;
  for (const Wording& wording : kWordings) {
    if (static_cast<std::size_t>(wording.code) != index++) return false;
  }
  return index == static_cast<std::size_t>(Code::launch_failed) + 1;
}
static_assert(is_in_order(), "one wording per code, in the order of the codes");

constexpr std::string_view kAfterPool = ": ";

// Those whose sentences begin like no other.
constexpr Code kRecognized[] = {Code::pool_disabled, Code::labels_not_offered, Code::pool_full,
                                Code::provider_full, Code::launch_failed};

const Wording& wording_of(Code code) {
  return kWordings[static_cast<std::size_t>(code)];
}

// The sentence up to its first value. A record has no space at its end.
std::string_view beginning_of(std::string_view sentence) {
  const std::string_view beginning = sentence.substr(0, sentence.find('{'));
  return beginning.substr(0, beginning.find_last_not_of(' ') + 1);
}

}  // namespace

Reason about_labels(Code code, const std::vector<std::string>& labels) {
  Reason reason{.code = code};
  reason.figures.needed = static_cast<double>(labels.size());
  const auto named = static_cast<std::ptrdiff_t>(std::min(labels.size(), kMostLabels));
  reason.labels.assign(labels.begin(), labels.begin() + named);
  return reason;
}

std::string_view name_of(Code code) {
  return wording_of(code).name;
}

std::string sentence(const Reason& reason, Words words) {
  const Wording& wording = wording_of(reason.code);
  const bool is_of_records = words == Words::of_records || wording.of_configuration.empty();
  const driver::LimitExceeded& figures = reason.figures;
  const std::string required = fmt::format("{} {:g}", figures.resource, figures.needed);
  const std::string excess = fmt::format("{}, the limit is {:g}", required, figures.limit);
  return fmt::format(fmt::runtime(is_of_records ? wording.sentence : wording.of_configuration),
                     fmt::arg("subject", reason.subject), fmt::arg("provider", reason.provider),
                     fmt::arg("labels", listed(reason)), fmt::arg("used", figures.used),
                     fmt::arg("needed", figures.needed), fmt::arg("limit", figures.limit),
                     fmt::arg("figures", to_string(figures)), fmt::arg("required", required),
                     fmt::arg("excess", excess));
}

Code code_of(std::string_view sentence) {
  const auto begins = [sentence](Code code) {
    return sentence.starts_with(beginning_of(wording_of(code).sentence));
  };
  const auto* const code = std::ranges::find_if(kRecognized, begins);
  return code == std::end(kRecognized) ? Code::none : *code;
}

std::string decline_entry(std::string_view pool_title, std::string_view sentence) {
  std::string text(pool_title);
  if (!sentence.empty()) text.append(kAfterPool).append(sentence);
  return text;
}

Code code_in_decline_entry(std::string_view text) {
  const std::size_t pool = text.find(kAfterPool);
  return pool == std::string_view::npos ? Code::none
                                        : code_of(text.substr(pool + kAfterPool.size()));
}

std::string in_words_of_configuration(std::string text) {
  for (const Wording& wording : kWordings) {
    if (wording.of_configuration.empty()) continue;
    const std::size_t found = text.find(wording.sentence);
    if (found != std::string::npos) {
      text.replace(found, wording.sentence.size(), wording.of_configuration);
    }
  }
  return text;
}

}  // namespace nodepool::planning
