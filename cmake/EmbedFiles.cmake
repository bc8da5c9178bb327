cmake_minimum_required(VERSION 3.25)

# Writes OUTPUT, a C++ file with nodepool::MODULE::embedded_files(): the contents of FILES (separated by
# commas), which must not contain NUL bytes. See nodepool_embed in Modules.cmake.
string(REPLACE "," ";" files "${FILES}")
set(entries "")
foreach(file IN LISTS files)
  get_filename_component(name "${file}" NAME)
  file(READ "${file}" text)
  string(APPEND entries "    {\"${name}\", R\"=====(${text})=====\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"${MODULE}/embedded_files.h\"\n\nnamespace nodepool::${MODULE} {\n\n"
  "std::span<const web::EmbeddedFile> embedded_files() {\n"
  "  static constexpr web::EmbeddedFile kFiles[] = {\n${entries}"
  "  };\n  return kFiles;\n}\n\n}  // namespace nodepool::${MODULE}\n")
