#pragma once

#include <string>
#include <string_view>

namespace nodepool::cli {

// The text as it stands in a man page: what roff would take for something else is escaped.
std::string roff_text(std::string_view text);

// A page that is being written.
class Roff {
 public:
  // `section`: of the manual, "1".
  Roff(std::string_view name, std::string_view section, std::string_view date,
       std::string_view source, std::string_view manual);

  void section(std::string_view title);     // "OPTIONS"
  void subsection(std::string_view title);  // "nodepool list"
  // A paragraph, of lines that are filled anew.
  void paragraph(std::string_view text);
  // What is explained, in bold and then in italics, and the explanation.
  void entry(std::string_view names, std::string_view value, std::string_view explanation);
  // A line of a command, with its name in bold.
  void usage(std::string_view name, std::string_view rest);

  const std::string& text() const { return text_; }

 private:
  void heading(std::string_view macro, std::string_view title);
  void begin_paragraph();

  std::string text_;
  bool is_after_heading_ = false;  // which begins a paragraph by itself
};

}  // namespace nodepool::cli
