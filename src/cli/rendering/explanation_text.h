#pragma once

#include <string>

#include "report/explanation/statement.h"

namespace nodepool::cli {

// Lines of text, each with a newline at its end.
std::string explanation_text(const report::Explanation& explanation);

}  // namespace nodepool::cli
