#pragma once
// What is wrong with a configuration, collected so that all of it can be reported at once.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/config.hpp"

namespace mhd {

/// Where a value was given: line `line` of the file (0: nowhere in particular), or `--set` argument number `set`.
struct ConfigOrigin {
  int set = -1;  ///< -1: the file
  int line = 0;
  int column = 0;  ///< given for syntax errors only, else 0
};

class ConfigProblems {
 public:
  /// `source`: the file name to print; `sets`: the --set arguments as given.
  ConfigProblems(std::string source, std::span<const std::string> sets)
      : source_(std::move(source)), sets_(sets.begin(), sets.end()) {}

  /// Remembers where the value at a path ("grid", "grid.cells", "grid.cells[1]") was given; the last one counts.
  void locate(const std::string& path, ConfigOrigin origin);
  /// A fault of the value at `path`, or, with an empty path, of the text at `origin`.
  void add(ConfigOrigin origin, const std::string& path, const std::string& message);
  /// Marks a key as one whose value is not known, so that violations that involve it are left out.
  void suspect(const std::string& path) { suspects_.push_back(path); }
  /// Adds broken rules, each where its key, or the table nearest to it, was given; leaves out those that involve a key
  /// that already has a problem, because they may only follow from it.
  void add(const std::vector<Violation>& violations);

  const std::string& set_text(int set) const { return sets_[static_cast<std::size_t>(set)]; }
  std::size_t count() const { return problems_.size(); }
  /// All problems, one a line, those of the file first and by line, then those of the --set arguments in their order;
  /// the last line counts them.
  std::string report() const;

 private:
  struct Problem {
    ConfigOrigin origin;
    std::string path, message;
  };

  std::string render(const Problem& problem) const;
  ConfigOrigin nearest_origin(std::string path) const;

  std::string source_;
  std::vector<std::string> sets_;
  std::map<std::string, ConfigOrigin> origins_;
  std::vector<std::string> suspects_;
  std::vector<Problem> problems_;
};

}  // namespace mhd
