#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/value.h"
#include "telemetry/log_level.h"

namespace nodepool::program {

// Values of a mapping in a logging configuration.

// The value of the key as text; empty if it is missing.
std::string text_at(const config::Value& mapping, std::string_view key);

// Throws std::runtime_error if the value is not a number from 0 to 1e15.
std::int64_t integer_at(const config::Value& mapping, std::string_view key, std::int64_t otherwise);

// The `level`, a name or a number; nothing if there is none, or NOTSET. Throws std::runtime_error
// if it is invalid.
std::optional<telemetry::LogLevel> level_at(const config::Value& mapping);

}  // namespace nodepool::program
