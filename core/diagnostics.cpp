#include "core/diagnostics.hpp"

#include <cmath>
#include <limits>

#include "core/diagnostic_terms.hpp"

namespace mhd {

DiagnosticSums::DiagnosticSums(FieldSet)
    : sums(sum_of::count), maxima(max_of::count, -std::numeric_limits<double>::infinity()) {}

void DiagnosticSums::reduce(const Comm& comm) {
  constexpr int packed_size = ExactSum::limbs + 1;
  std::vector<std::int64_t> packed;
  packed.reserve(sums.size() * packed_size + 1);
  for (const ExactSum& s : sums) {
    const auto p = s.pack();
    packed.insert(packed.end(), p.begin(), p.end());
  }
  packed.push_back(nonfinite);
  comm.sum(packed);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = ExactSum::unpack(std::span(packed).subspan(i * packed_size, packed_size));
  nonfinite = packed.back();
  comm.maximum(maxima);
}

namespace {

/// One column: its name, the fields it needs, its value from the means and maxima.
struct Column {
  const char* name;
  enum Needs { nothing, magnetism, entropy } needs;
  double (*value)(const double* mean, const double* max);
};

// Definitions: docs/output.md. `m` are means over all cells, `x` maxima.
using namespace sum_of;
constexpr Column columns[] = {
    {"urms", Column::nothing, [](const double* m, const double*) { return std::sqrt((m[ux2] + m[uy2]) + m[uz2]); }},
    {"umax", Column::nothing, [](const double*, const double* x) { return std::sqrt(x[max_of::u2]); }},
    {"ux2m", Column::nothing, [](const double* m, const double*) { return m[ux2]; }},
    {"uy2m", Column::nothing, [](const double* m, const double*) { return m[uy2]; }},
    {"uz2m", Column::nothing, [](const double* m, const double*) { return m[uz2]; }},
    {"uxm", Column::nothing, [](const double* m, const double*) { return m[ux]; }},
    {"uym", Column::nothing, [](const double* m, const double*) { return m[uy]; }},
    {"uzm", Column::nothing, [](const double* m, const double*) { return m[uz]; }},
    {"ruxm", Column::nothing, [](const double* m, const double*) { return m[rux]; }},
    {"ruym", Column::nothing, [](const double* m, const double*) { return m[ruy]; }},
    {"ruzm", Column::nothing, [](const double* m, const double*) { return m[ruz]; }},
    {"ekin", Column::nothing, [](const double* m, const double*) { return m[ekin]; }},
    {"rhom", Column::nothing, [](const double* m, const double*) { return m[rho]; }},
    {"rhomin", Column::nothing, [](const double*, const double* x) { return 0.0 - x[max_of::minus_rho]; }},
    {"rhomax", Column::nothing, [](const double*, const double* x) { return x[max_of::rho]; }},
    {"orms", Column::nothing, [](const double* m, const double*) { return std::sqrt(m[vorticity2]); }},
    {"omax", Column::nothing, [](const double*, const double* x) { return std::sqrt(x[max_of::vorticity2]); }},
    {"oum", Column::nothing, [](const double* m, const double*) { return m[helicity]; }},
    {"divum", Column::nothing, [](const double* m, const double*) { return m[divergence]; }},
    {"brms", Column::magnetism, [](const double* m, const double*) { return std::sqrt(m[b2]); }},
    {"bmax", Column::magnetism, [](const double*, const double* x) { return std::sqrt(x[max_of::b2]); }},
    {"bx2m", Column::magnetism, [](const double* m, const double*) { return m[bx2]; }},
    {"by2m", Column::magnetism, [](const double* m, const double*) { return m[by2]; }},
    {"bz2m", Column::magnetism, [](const double* m, const double*) { return m[bz2]; }},
    {"jrms", Column::magnetism, [](const double* m, const double*) { return std::sqrt(m[j2]); }},
    {"jmax", Column::magnetism, [](const double*, const double* x) { return std::sqrt(x[max_of::j2]); }},
    {"abm", Column::magnetism, [](const double* m, const double*) { return m[ab]; }},
    {"jbm", Column::magnetism, [](const double* m, const double*) { return m[jb]; }},
    {"EEM", Column::magnetism, [](const double* m, const double*) { return 0.5 * m[b2]; }},
    {"epsM", Column::magnetism, [](const double* m, const double*) { return m[ohmic_heating]; }},
    {"ssm", Column::entropy, [](const double* m, const double*) { return m[ss]; }},
    {"ssmin", Column::entropy, [](const double*, const double* x) { return 0.0 - x[max_of::minus_ss]; }},
    {"ssmax", Column::entropy, [](const double*, const double* x) { return x[max_of::ss]; }},
    {"ss2m", Column::entropy, [](const double* m, const double*) { return m[ss2]; }},
    {"ethm", Column::entropy, [](const double* m, const double*) { return m[thermal_energy]; }},
    {"TTm", Column::entropy, [](const double* m, const double*) { return m[temperature]; }},
    {"TTmin", Column::entropy, [](const double*, const double* x) { return 0.0 - x[max_of::minus_temperature]; }},
    {"TTmax", Column::entropy, [](const double*, const double* x) { return x[max_of::temperature]; }},
    {"csm", Column::entropy, [](const double* m, const double*) { return std::sqrt(m[cs2]); }},
    {"csmax", Column::entropy, [](const double*, const double* x) { return std::sqrt(x[max_of::cs2]); }},
    {"epsK", Column::nothing, [](const double* m, const double*) { return m[viscous_heating]; }},
    {"vArms", Column::magnetism, [](const double* m, const double*) { return std::sqrt(m[alfven2]); }},
    {"vAmax", Column::magnetism, [](const double*, const double* x) { return std::sqrt(x[max_of::alfven2]); }},
};

bool has(FieldSet f, Column::Needs needs) {
  return needs == Column::magnetism ? f.magnetic : needs == Column::entropy ? f.entropy : true;
}

}  // namespace

std::vector<std::string> diagnostic_columns(FieldSet fields) {
  std::vector<std::string> names;
  for (const Column& c : columns)
    if (has(fields, c.needs)) names.emplace_back(c.name);
  return names;
}

std::vector<double> diagnostic_values(FieldSet fields, const DiagnosticSums& reduced, std::int64_t cells) {
  double means[sum_of::count];
  for (int i = 0; i < sum_of::count; ++i) means[i] = reduced.sums[i].value() / static_cast<double>(cells);
  std::vector<double> values;
  for (const Column& c : columns)
    if (has(fields, c.needs))
      values.push_back(reduced.nonfinite > 0 ? std::numeric_limits<double>::quiet_NaN()
                                             : c.value(means, reduced.maxima.data()));
  return values;
}

}  // namespace mhd
