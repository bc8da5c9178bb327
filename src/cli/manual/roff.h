#pragma once

#include <string>
#include <string_view>

namespace nodepool::cli {

// The text with everything escaped that is special in roff.
std::string roff_text(std::string_view text);

// Writes a man page.
class Roff {
 public:
  // `section`: of the manual, "1".
  Roff(std::string_view name, std::string_view section, std::string_view date,
       std::string_view source, std::string_view manual);

  void section(std::string_view title);     // "OPTIONS"
  void subsection(std::string_view title);  // "nodepool list"
  // A paragraph; its lines are wrapped.
  void paragraph(std::string_view text);
  // An option: `names` in bold, `value` in italics, and the explanation.
  void entry(std::string_view names, std::string_view value, std::string_view explanation);
  // A line of a command, with its name in bold.
  void usage(std::string_view name, std::string_view rest);

  const std::string& text() const { return text_; }

 private:
  void heading(std::string_view macro, std::string_view title);
  void begin_paragraph();

  std::string text_;
  bool is_after_heading_ = false;  // a heading starts a paragraph
};

}  // namespace nodepool::cli
