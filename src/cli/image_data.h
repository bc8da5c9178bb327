#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The file of `export-image-data` and `import-image-data`, in the format of the Python Nodepool:
// one JSON object with the paths of records and their texts.
namespace nodepool::cli {

// Paths and texts, in the order of the file.
using ImageData = std::vector<std::pair<std::string, std::string>>;

// The highest accepted upload id. The import has to advance the sequence up to the highest one, and
// a build has only a few uploads.
inline constexpr int kHighestUpload = 1'000'000;

// The content of the file. Texts are UTF-8 (is_utf8).
std::string image_data_text(const ImageData& data);

bool is_utf8(std::string_view text);

// Parses the file's content; the result is sorted, so that a path follows its parents. Throws
// std::runtime_error if it is no such object, if a path is not the path of a build, an upload or a
// pause, and if a text is too large for a store.
ImageData parse_image_data(std::string_view text);

}  // namespace nodepool::cli
