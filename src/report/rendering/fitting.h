#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::report {

// A column of a table, in columns of the terminal.
struct ColumnWidth {
  std::size_t width = 0;
  bool is_fixed = false;  // never cut, as ids are
};

// The widths with which a framed table fits into `available` columns of the terminal, if possible.
// Shrinks the widest columns first, and none below a legible width.
std::vector<std::size_t> fitted(std::vector<ColumnWidth> columns, std::size_t available);

// The line cut to `width`, with "…" at its end if it was too wide.
std::string cut(std::string_view line, std::size_t width);

// The colour of a state as the parameter of a terminal's SGR sequence ("31" for red). Empty: none.
std::string_view colour_of_state(std::string_view state);

}  // namespace nodepool::report
