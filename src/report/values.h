#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/record.h"
#include "model/shared_text.h"

// JSON values of table cells.
namespace nodepool::report {

// No value becomes null.
model::Json json_of(const std::optional<std::string>& text);
model::Json json_of(const model::SharedText& text);
model::Json json_of(std::int64_t number);
model::Json json_of(const std::vector<std::string>& texts);

// The time from `then` to `now` in whole seconds. Both are in seconds since the epoch.
model::Json age_in_seconds(double now, double then);

}  // namespace nodepool::report
