#pragma once

#include <string>

#include "report/rendering/table_text.h"
#include "report/status.h"

namespace nodepool::report {

// The level and all sections: for people those with rows, as tables under their titles; as JSON or
// YAML one object with all of them under their keys. With a newline at its end. `style` is for
// people.
std::string status_as(Format format, const Status& status, const Style& style = {});

}  // namespace nodepool::report
