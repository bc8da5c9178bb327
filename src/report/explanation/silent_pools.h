#pragma once

#include <optional>
#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// Why the launcher of a registered pool seems to do nothing: a request that it could have answered
// still waits, or a node that was given back lies about. A process that hangs, or was stopped,
// keeps its registration as long as its session. Nothing: no sign of that.
std::optional<std::string> sign_of_silence(const ExplanationFacts& knowledge,
                                           const model::Component& pool);

}  // namespace nodepool::report
