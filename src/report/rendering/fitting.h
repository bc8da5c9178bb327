#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::report {

// A column of a table, in columns of the terminal.
struct ColumnWidth {
  std::size_t width = 0;
  bool is_fixed = false;  // it is not cut: an id that is not complete is none
};

// The widths with which a framed table has `available` columns of the terminal, if there is a way:
// the widest columns give first. None becomes so narrow that its cells say nothing.
std::vector<std::size_t> fitted(std::vector<ColumnWidth> columns, std::size_t available);

// The line, with "…" at its end in place of what does not fit.
std::string cut(std::string_view line, std::size_t width);

// "31" for red: how a state looks like, as the parameter of a terminal's SGR sequence; empty: like
// other text.
std::string_view colour_of_state(std::string_view state);

}  // namespace nodepool::report
