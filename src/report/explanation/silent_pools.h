#pragma once

#include <map>
#include <optional>
#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Signs that the launchers of registered pools hang or are stopped, by pool id: a request that the
// pool could serve still waits, a used node is not reclaimed, or the history of this host has no
// entry of a request. Such a process stays registered as long as its session. Lacks pools without a
// sign.
std::map<std::string, std::string> unresponsive_pools(const ExplanationFacts& knowledge);

// The sign in `knowledge` that the launcher of the pool hangs or is stopped. Returns nothing
// without one.
std::optional<std::string> why_unresponsive(const ExplanationFacts& knowledge,
                                            const model::Component& pool);

// Adds the sign. Adds nothing without one.
void explain_unresponsiveness(Statements& to, const ExplanationFacts& knowledge,
                              const model::Component& pool);

// The same without figures, which change with time: "does not respond: …".
std::string unresponsive_text(const model::Component& pool);

}  // namespace nodepool::report
