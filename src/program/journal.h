#pragma once

#include "config/config.h"
#include "history/journal.h"

namespace nodepool::program {

// The configured history.
inline history::Journal journal_of(const config::Config& config) {
  constexpr double kDay = 24.0 * 60 * 60;  // seconds
  return {.directory = config.history.directory,
          .max_size = config.history.max_size,
          .max_age = static_cast<double>(config.history.max_age) * kDay};
}

}  // namespace nodepool::program
