#pragma once

#include <string_view>

#include "config/value.h"

namespace nodepool::program {

// Parses a Python expression of literals: strings, integers and their products, True, False, None,
// tuples, lists and dicts. `sys.stdout` and `sys.stderr` become "ext://sys.stdout" and
// "ext://sys.stderr", as in Python's dictConfig(). Throws std::runtime_error for anything else.
config::Value parse_python_literal(std::string_view text);

}  // namespace nodepool::program
