#pragma once

#include <optional>
#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Explains a request or node that no longer exists by the journal of this host: why it failed, what
// would help, and its last events. Returns nothing if the journal has none.
std::optional<Explanation> explain_ended(const ExplanationFacts& knowledge,
                                         const std::string& subject);

}  // namespace nodepool::report
