#pragma once

#include <string>

#include "report/rendering/table_text.h"
#include "report/status.h"

namespace nodepool::report {

// The level and the sections, with a newline at the end. Text has a table with a title for each
// section with rows; JSON and YAML have one object with all sections by key. `style` is for text.
std::string status_as(Format format, const Status& status, const Style& style = {});

}  // namespace nodepool::report
