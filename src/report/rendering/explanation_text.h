#pragma once

#include <string>

#include "report/explanation/statement.h"

namespace nodepool::report {

// Lines of text, each with a newline at its end.
std::string explanation_text(const Explanation& explanation);

// One JSON object: "statements", each with "key", "name", "text" and "details" of the same form;
// "others", of the same form as this; "omitted".
std::string explanation_json(const Explanation& explanation);

}  // namespace nodepool::report
