cmake_minimum_required(VERSION 3.25)

# Writes OUTPUT, a C++ file with a function that gives the texts of FILES (separated by commas), as
# src/page/assets.h declares it. They are texts without NUL bytes.
string(REPLACE "," ";" files "${FILES}")
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "    {\"${name}\", R\"=====(${text})=====\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"page/assets.h\"\n\nnamespace nodepool::page {\n\n"
  "std::span<const AssetText> asset_texts() {\n  static constexpr AssetText kTexts[] = {\n${entries}"
  "  };\n  return kTexts;\n}\n\n}  // namespace nodepool::page\n")
