#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The file of `export-image-data` and `import-image-data`, the same as that of the Python Nodepool:
// one JSON object with the paths of records and their texts.
namespace nodepool::cli {

// Paths and texts, in the order of the file.
using ImageData = std::vector<std::pair<std::string, std::string>>;

// The highest upload id that is taken over. A build has a handful of uploads; the numbers up to the
// highest one have to be counted off.
inline constexpr int kHighestUpload = 1'000'000;

// The content of the file. Texts are UTF-8 (is_utf8).
std::string image_data_text(const ImageData& data);

bool is_utf8(std::string_view text);

// Reads such a file; sorted, so that a path comes after its parents. Throws std::runtime_error for
// what is no such object, a path that is not that of a build, an upload or a pause, and a text that
// no store would take.
ImageData parse_image_data(std::string_view text);

}  // namespace nodepool::cli
