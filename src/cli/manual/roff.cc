#include "cli/manual/roff.h"

#include <fmt/format.h>

#include <algorithm>

namespace nodepool::cli {

namespace {

constexpr std::size_t kLongestLine = 72;

// Breaks the text at blanks into lines of at most kLongestLine characters.
std::string wrapped(std::string_view text) {
  std::string result(text);
  std::ranges::replace(result, '\n', ' ');
  std::size_t begin = 0;
  while (result.size() - begin > kLongestLine) {
    std::size_t blank = result.rfind(' ', begin + kLongestLine);
    if (blank == std::string::npos || blank <= begin) blank = result.find(' ', begin);
    if (blank == std::string::npos) break;
    result[blank] = '\n';
    begin = blank + 1;
  }
  return result;
}

}  // namespace

std::string roff_text(std::string_view text) {
  std::string result;
  bool begins_line = true;
  for (const char c : text) {
    // A dot or a quote at the beginning of a line would begin a request.
    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    begins_line = c == '\n';
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '"':
        result += "\\(dq";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '^':
        result += "\\(ha";
        break;
      default:
        result += c;
    }
  }
  return result;
}

Roff::Roff(std::string_view name, std::string_view section, std::string_view date,
           std::string_view source, std::string_view manual) {
  std::string title(name);
  std::ranges::transform(title, title.begin(), [](char c) { return std::toupper(c); });
  text_ = fmt::format(".TH {} {} \"{}\" \"{}\" \"{}\"\n", roff_text(title), section, date,
                      roff_text(source), roff_text(manual));
}

void Roff::heading(std::string_view macro, std::string_view title) {
  text_ += fmt::format(".{} \"{}\"\n", macro, roff_text(title));
  is_after_heading_ = true;
}

void Roff::section(std::string_view title) {
  heading("SH", title);
}

void Roff::subsection(std::string_view title) {
  heading("SS", title);
}

void Roff::begin_paragraph() {
  if (!is_after_heading_) text_ += ".PP\n";
  is_after_heading_ = false;
}

void Roff::paragraph(std::string_view text) {
  begin_paragraph();
  text_.append(roff_text(wrapped(text))).append("\n");
}

void Roff::entry(std::string_view names, std::string_view value, std::string_view explanation) {
  is_after_heading_ = false;
  text_ += ".TP\n";
  if (!names.empty()) text_ += fmt::format("\\fB{}\\fR", roff_text(names));
  if (!names.empty() && !value.empty()) text_ += ' ';
  if (!value.empty()) text_ += fmt::format("\\fI{}\\fR", roff_text(value));
  text_.append("\n").append(roff_text(wrapped(explanation))).append("\n");
}

void Roff::usage(std::string_view name, std::string_view rest) {
  begin_paragraph();
  text_ +=
      fmt::format("\\fB{}\\fR{}{}\n", roff_text(name), rest.empty() ? "" : " ", roff_text(rest));
}

}  // namespace nodepool::cli
