#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "driver/resources.h"

namespace nodepool::planning {

// The reason of a pool's decision as data. sentence() is its text for people; programs count,
// compare and store the members.
struct Reason {
  // The comments name the members that are set.
  enum class Code {
    none,
    provider_accepts_nothing,  // its max-concurrency is 0
    not_waiting,               // subject: the request's state
    pool_may_be_back,          // subject: the pool, which is not registered
    declined_by_all,           // every registered pool has declined it
    declined_by_this_pool,
    prefers_other_provider,     // subject: the pool; provider: its provider
    left_to_better_priority,    // likewise
    left_to_whole_offer,        // likewise: the pool that offers all labels
    pool_disabled,              // its max-servers is 0
    too_many_nodes,             // figures: needed, limit
    labels_not_offered,         // labels
    label_unserviceable,        // subject: why, in the provider's words
    beyond_stock,               // subject: the label; figures: needed, limit
    labels_not_at_once,         // labels
    wants_new_nodes,            // the pool only has existing ones
    beyond_limit_of_pool,       // figures
    beyond_limit_of_tenant,     // figures
    beyond_limit_of_provider,   // figures
    tenant_full,                // subject: the tenant; figures
    comes_after,                // subject: the id of the request that is served first
    nodes_not_free,             // subject: the label; figures: used are free of those needed
    quota_not_asked,            // the provider has not responded yet
    quota_unknown,              // subject: why, in the provider's words
    launch_refused,             // by the provider, in spite of free quota; subject: the label
    pool_full,                  // figures
    provider_full,              // figures
    launches_under_way,         // figures: used, limit
    too_large_for_transaction,  // too many nodes for the store
    launch_failed,              // subject: why, in the provider's words
  };

  Code code = Code::none;
  std::string subject = {};
  std::string provider = {};
  std::vector<std::string> labels = {};  // the first ones; figures.needed is how many there are
  driver::LimitExceeded figures = {};

  friend bool operator==(const Reason&, const Reason&) = default;
};

// The most labels that a reason names.
inline constexpr std::size_t kMostLabels = 20;

// A reason about these labels.
Reason about_labels(Reason::Code code, const std::vector<std::string>& labels);

// "pool-full": stable, for programs. Empty for `none`.
std::string_view name_of(Reason::Code code);

// Records and logs have the Python Nodepool's words for some reasons; explanations those of the
// configuration.
enum class Words { of_records, of_configuration };

// "the pool is full: instances: 9 used + 2 needed, limit 10". Empty for `none`.
std::string sentence(const Reason& reason, Words words = Words::of_records);

// The code of a sentence() in a record, for example of another launcher. `none` for all but
// pool_disabled, labels_not_offered, pool_full, provider_full and launch_failed: other sentences
// begin with a value, or may begin alike.
Reason::Code code_of(std::string_view sentence);

// A pool's decline in the history: "rack-main on l1: the pool is full: …". Only the title of the
// pool if the sentence is empty.
std::string decline_entry(std::string_view pool_title, std::string_view sentence);

// The inverse: code_of() the sentence in such an entry. `none` if there is no sentence.
Reason::Code code_in_decline_entry(std::string_view text);

// A text with sentences of records, in the words of the configuration.
std::string in_words_of_configuration(std::string text);

}  // namespace nodepool::planning
