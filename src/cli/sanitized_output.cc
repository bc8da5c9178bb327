#include "cli/sanitized_output.h"

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

#include "telemetry/sanitized_text.h"

namespace nodepool::cli {

class SanitizedOutput::Filter final : public std::streambuf {
 public:
  explicit Filter(std::streambuf* target) : target_(target) {}
  ~Filter() override { pass(telemetry::sanitized_text(unfinished_)); }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  std::streambuf* target() const { return target_; }

  bool pass(std::string_view text) {
    const std::streamsize passed =
        target_->sputn(text.data(), static_cast<std::streamsize>(text.size()));
    return static_cast<std::size_t>(passed) == text.size();
  }

 protected:
  std::streamsize xsputn(const char* data, std::streamsize size) override {
    std::string text = std::move(unfinished_);
    text.append(data, static_cast<std::size_t>(size));
    const std::size_t whole = text.size() - telemetry::unfinished_character(text);
    unfinished_ = text.substr(whole);
    text.resize(whole);
    return pass(telemetry::sanitized_text(text)) ? size : 0;
  }

  int_type overflow(int_type character) override {
    if (traits_type::eq_int_type(character, traits_type::eof())) return traits_type::not_eof(0);
    const char c = traits_type::to_char_type(character);
    return xsputn(&c, 1) == 1 ? character : traits_type::eof();
  }

  int sync() override { return target_->pubsync(); }

 private:
  std::streambuf* target_;
  std::string unfinished_;  // the first bytes of a character
};

SanitizedOutput::SanitizedOutput(std::ostream& stream)
    : stream_(stream), filter_(std::make_unique<Filter>(stream.rdbuf())) {
  stream_.rdbuf(filter_.get());
}

SanitizedOutput::~SanitizedOutput() {
  stream_.rdbuf(filter_->target());
}

void write_unfiltered(std::ostream& stream, std::string_view text) {
  dynamic_cast<SanitizedOutput::Filter&>(*stream.rdbuf()).pass(text);
}

std::ostream& erase_line(std::ostream& stream) {
  write_unfiltered(stream, "\r\x1b[K");
  return stream.flush();
}

std::ostream& erase_screen(std::ostream& stream) {
  write_unfiltered(stream, "\x1b[H\x1b[2J");
  return stream;
}

}  // namespace nodepool::cli
