#pragma once

#include <optional>
#include <string>

#include "report/explanation/explanation.h"

namespace nodepool::report {

// A sign that the launcher of a registered pool hangs or is stopped: a request that it could serve
// still waits, or a used node is not reclaimed. Such a process stays registered as long as its
// session. Returns nothing without a sign.
std::optional<std::string> why_unresponsive(const ExplanationFacts& knowledge,
                                            const model::Component& pool);

}  // namespace nodepool::report
