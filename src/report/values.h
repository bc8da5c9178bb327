#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/record.h"
#include "model/shared_text.h"

// The JSON values that tables are filled with.
namespace nodepool::report {

// Null for nothing.
model::Json json_of(const std::optional<std::string>& text);
model::Json json_of(const model::SharedText& text);
model::Json json_of(std::int64_t number);
model::Json json_of(const std::vector<std::string>& texts);

// The age, in whole seconds, of what is since `then`, a moment as `now` is.
model::Json age_in_seconds(double now, double then);

}  // namespace nodepool::report
