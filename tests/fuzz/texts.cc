// Short texts of many origins: names, addresses, headers, what people type.

#include "config/duration.h"
#include "coordination/path.h"
#include "coordination/store.h"
#include "http/request.h"
#include "http/retry.h"
#include "model/record.h"
#include "nodescan/address.h"
#include "report/rendering/fitting.h"
#include "report/rendering/table_text.h"
#include "telemetry/sanitized_text.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

void read(std::string_view input) {
  const std::string text(input);
  const std::string harmless = telemetry::sanitized_text(input);
  require(telemetry::sanitized_text(harmless) == harmless, "what is harmless stays as it is");
  telemetry::unfinished_character(input);
  config::parse_duration(input);
  constexpr std::size_t kWidth = 10;
  require(report::display_width(report::cut(input, kWidth)) <= kWidth, "what is cut fits");
  nodescan::parse_address(text);
  http::retry_after(input, 1e9);
  http::without_secrets(text, {text.substr(0, text.size() / 8), "secret"});
  try {
    coordination::require_valid_path(input);
    require(coordination::join_path(coordination::parent_path(input),
                                    coordination::base_name(input)) == input ||
                input == "/",
            "a path is its parts");
  } catch (const coordination::StoreError&) {
  }
  try {
    report::cell_text(model::Json::parse(input));
  } catch (const model::RecordError&) {
  }
}

}  // namespace nodepool::fuzz
