#pragma once

#include "config/config.h"
#include "history/journal.h"

namespace nodepool::program {

// The history that the configuration has chosen.
inline history::Journal journal_of(const config::Config& config) {
  return {.directory = config.history.directory, .max_size = config.history.max_size};
}

}  // namespace nodepool::program
