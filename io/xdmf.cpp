#include "io/xdmf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/file.hpp"

namespace mhd {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

std::string relative_to(const std::string& directory_of, const std::string& path) {
  const auto base = std::filesystem::absolute(directory_of).parent_path();
  return std::filesystem::absolute(path).lexically_proximate(base.lexically_normal()).generic_string();
}

/// The three components of a vector field as one name and three fields.
struct Vector {
  std::string_view name;
  Field x, y, z;
};
constexpr Vector vectors[] = {{"u", Field::ux, Field::uy, Field::uz}, {"a", Field::ax, Field::ay, Field::az}};

class Writer {
 public:
  explicit Writer(const Grid& grid) : grid_(grid) {
    // XDMF counts like the arrays in the file: slowest axis first.
    shape_ = fmt::format("{} {} {}", grid.cells.z, grid.cells.y, grid.cells.x);
  }

  void snapshot(const std::string& file, double time, Precision precision, std::span<const Field> fields) {
    bytes_ = precision == Precision::float32 ? 4 : 8;
    const Int3 c = grid_.cells;
    line(6, "<Grid Name=\"cells\" GridType=\"Uniform\">");
    line(8, "<Time Value=\"{}\"/>", time);
    line(8, "<Topology TopologyType=\"3DCORECTMesh\" Dimensions=\"{} {} {}\"/>", c.z + 1, c.y + 1, c.x + 1);
    line(8, "<Geometry GeometryType=\"ORIGIN_DXDYDZ\">");
    triple(grid_.origin.z, grid_.origin.y, grid_.origin.x);
    triple(grid_.spacing(2), grid_.spacing(1), grid_.spacing(0));
    line(8, "</Geometry>");
    for (const Field field : fields) {
      line(8, "<Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Cell\">", name(field));
      array(10, file, field);
      line(8, "</Attribute>");
    }
    const auto has = [&](Field f) { return std::find(fields.begin(), fields.end(), f) != fields.end(); };
    for (const Vector& vector : vectors)
      if (has(vector.x) && has(vector.y) && has(vector.z)) joined(file, vector);
    line(6, "</Grid>");
  }

  template <class... Values>
  void line(int indent, fmt::format_string<Values...> format, Values&&... values) {
    text_.append(static_cast<std::size_t>(indent), ' ');
    text_ += fmt::format(format, std::forward<Values>(values)...) + '\n';
  }

  std::string take() { return std::move(text_); }

 private:
  void triple(double z, double y, double x) {
    line(10, "<DataItem Format=\"XML\" Dimensions=\"3\" NumberType=\"Float\" Precision=\"8\">{} {} {}</DataItem>", z, y,
         x);
  }

  void array(int indent, const std::string& file, Field field) {
    line(indent, "<DataItem Format=\"HDF\" Dimensions=\"{}\" NumberType=\"Float\" Precision=\"{}\">{}:/{}</DataItem>",
         shape_, bytes_, file, name(field));
  }

  void joined(const std::string& file, const Vector& vector) {
    line(8, "<Attribute Name=\"{}\" AttributeType=\"Vector\" Center=\"Cell\">", vector.name);
    line(10, "<DataItem ItemType=\"Function\" Function=\"JOIN($0, $1, $2)\" Dimensions=\"{} 3\">", shape_);
    for (const Field field : {vector.x, vector.y, vector.z}) array(12, file, field);
    line(10, "</DataItem>");
    line(8, "</Attribute>");
  }

  const Grid& grid_;
  int bytes_ = 8;
  std::string shape_, text_;
};

}  // namespace

std::string xdmf_text(const std::string& path, const Grid& grid, std::span<const XdmfSnapshot> snapshots) {
  Writer writer(grid);
  writer.line(0, "<?xml version=\"1.0\" encoding=\"utf-8\"?>");
  writer.line(0, "<Xdmf Version=\"2.0\">");
  writer.line(2, "<Domain>");
  writer.line(4, "<Grid Name=\"snapshots\" GridType=\"Collection\" CollectionType=\"Temporal\">");
  for (const XdmfSnapshot& snapshot : snapshots)
    writer.snapshot(escaped(relative_to(path, snapshot.path)), snapshot.time, snapshot.precision, snapshot.fields);
  writer.line(4, "</Grid>");
  writer.line(2, "</Domain>");
  writer.line(0, "</Xdmf>");
  return writer.take();
}

void write_xdmf(const std::string& path, const Grid& grid, std::span<const XdmfSnapshot> snapshots) {
  write_file_atomically(path, xdmf_text(path, grid, snapshots));
}

}  // namespace mhd
