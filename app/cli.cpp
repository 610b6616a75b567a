#include "app/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/bench.hpp"
#include "app/bench_halo.hpp"
#include "app/bench_output.hpp"
#include "app/check.hpp"
#include "app/report.hpp"
#include "app/session.hpp"
#include "app/simulation.hpp"
#include "app/usage.hpp"
#include "app/verify.hpp"
#include "app/version.hpp"
#include "core/error.hpp"
#include "io/compare.hpp"
#include "io/config_file.hpp"
#include "io/config_schema.hpp"
#include "io/info.hpp"
#include "io/nearest_name.hpp"

namespace mhd {
namespace {

const std::map<std::string, Backend> backends{
    {"auto", Backend::automatic}, {"cpu", Backend::cpu}, {"gpu", Backend::gpu}};

void add_backend_option(CLI::App& command, std::optional<Backend>& backend) {
  command
      .add_option_function<std::string>(
          "--backend", [&backend](const std::string& name) { backend = backends.at(name); }, "auto, cpu or gpu")
      ->option_text("BACKEND")
      ->check(CLI::IsMember({"auto", "cpu", "gpu"}));
}

CLI::Validator at_least(int minimum) {
  return CLI::Validator(
      [minimum](const std::string& text) -> std::string {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool number = end != text.c_str() && *end == '\0' && std::isfinite(value);
        return number && value >= minimum ? "" : fmt::format("expected a number >= {}, found {}", minimum, text);
      },
      "");
}

CLI::Validator duration() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        if (duration_seconds(text)) return "";
        return fmt::format("expected hours:minutes:seconds, perhaps with days in front, as in 1-12:00:00, found {}",
                           text);
      },
      "");
}

CLI::Validator key_or_table() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        std::vector<std::string> known;
        for (const ConfigKey& key : config_keys()) known.insert(known.end(), {key.name, config_table(key.name)});
        if (std::find(known.begin(), known.end(), text) != known.end()) return "";
        return fmt::format("no key or table is called {}; {}", text, name_hint(text, known));
      },
      "");
}

/// The grid and the fields of a benchmark.
struct BenchArguments {
  std::vector<int> cells, decomposition;

  void add_to(CLI::App& command, std::string& physics, const std::string& default_cells) {
    command.add_option("--cells", cells, "cells per direction: one number or three [" + default_cells + "]")
        ->option_text("N [N N]")
        ->expected(1, 3)
        ->check(at_least(1));
    command.add_option("--physics", physics, "full, isothermal, entropy-hydro or hydro [full]")
        ->option_text("NAME")
        ->check(CLI::IsMember({"full", "isothermal", "entropy-hydro", "hydro"}));
    command.add_option("--decomposition", decomposition, "subdomains per direction")
        ->option_text("X Y Z")
        ->expected(3)
        ->check(at_least(1));
  }
  /// Leaves what was not given.
  void apply(Int3& to_cells, std::optional<Int3>& to_decomposition) const {
    const auto &n = cells, &d = decomposition;
    if (n.size() == 2)
      throw Error(ExitCode::usage, "--cells: expected one number or three, found two", ErrorScope::everywhere);
    if (n.size() == 1) to_cells = {n[0], n[0], n[0]};
    if (n.size() == 3) to_cells = {n[0], n[1], n[2]};
    if (d.size() == 3) to_decomposition = Int3{d[0], d[1], d[2]};
  }
};

/// The configuration and what may override it, common to the commands that take one.
struct ConfigArguments {
  std::string path;
  std::vector<std::string> sets;
  std::string output;
  std::optional<Backend> backend;
  bool require_cuda_aware = false;

  void add_to(CLI::App& command) {
    command.add_option("CONFIG", path, "run configuration (TOML)")->required()->type_name("");
    // One value per --set, so that the configuration may follow it.
    command
        .add_option_function<std::vector<std::string>>(
            "--set", [this](const std::vector<std::string>& v) { sets.insert(sets.end(), v.begin(), v.end()); },
            "override a key, as table.key=value with a TOML value; may be repeated")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  }
  void add_backend_to(CLI::App& command) {
    add_backend_option(command, backend);
    command.add_flag("--require-cuda-aware", require_cuda_aware,
                     "it is an error if halos between GPUs cannot travel by a CUDA-aware MPI");
  }
  /// Before MPI starts, so that errors cost nothing.
  Config load() const {
    Config config = load_config(path, sets);
    if (!output.empty()) config.output.directory = output;
    if (config.output.directory.empty())
      config.output.directory = "runs/" + std::filesystem::path(path).stem().string();
    if (backend) config.run.backend = *backend;
    config.run.require_cuda_aware = require_cuda_aware;
    return config;
  }
};

/// All ranks must run the same simulation, even if the file changed while they were starting.
void require_same_config(const Config& config, const Comm& comm) {
  const std::string mine = to_toml(config);
  const bool same = comm.broadcast(mine) == mine;
  if (comm.minimum(std::int64_t{same}) == 0)
    throw Error(ExitCode::launch, "the ranks read different configurations: was the file changed during the start?",
                ErrorScope::everywhere);
}

/// The result of a command that needs no MPI; under a launcher every process has it.
void print_once(const std::string& text) {
  if (launcher_rank() == 0) print_result(text);
}

class CommandLine {
 public:
  CommandLine(int argc, char** argv) : argc_(argc), argv_(argv) {
    app_.require_subcommand(1);
    app_.set_version_flag(
        "--version", [] { return version_text(); }, "print versions and backends");
    add_run();
    add_check();
    add_verify();
    add_bench();
    add_diff();
    add_info();
  }

  int run() {
    try {
      app_.parse(argc_, argv_);
    } catch (const CLI::Success& e) {  // --help, --version
      return launcher_rank() == 0 ? app_.exit(e) : 0;
    } catch (const CLI::ParseError& e) {
      return exit_code_of(
          [&]() -> int { throw Error(ExitCode::usage, usage_message(app_, e), ErrorScope::everywhere); });
    }
    return exit_code_of(action_);
  }

 private:
  int with_config(const std::function<int(const Config&, const Comm&)>& command) {
    Config config;
    return run_with_mpi(
        argc_, argv_, [&] { config = config_.load(); },
        [&](const Comm& comm) {
          require_same_config(config, comm);
          return command(config, comm);
        });
  }

  void add_run() {
    CLI::App& c = *app_.add_subcommand("run", "run a simulation");
    config_.add_to(c);
    config_.add_backend_to(c);
    c.add_option("--output", config_.output, "run directory")->option_text("DIR");
    c.add_flag("--overwrite", run_.overwrite, "replace the outputs of an earlier run in the run directory");
    c.add_option("--restart", run_.restart,
                 "go on from a checkpoint: a file, or the newest good one of the run directory")
        ->option_text("latest|FILE");
    c.add_option("--allow-change", run_.allow_change,
                 "on restart, let this key (or all of a table) differ from the checkpoint; may be repeated")
        ->option_text("KEY")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->check(key_or_table());
    c.add_option_function<std::string>(
         "--time-limit", [this](const std::string& text) { run_.time_limit_seconds = duration_seconds(text); },
         "stop early enough for a checkpoint to be written within this wall-clock time of the start")
        ->option_text("[D-]HH:MM:SS")
        ->check(duration());
    c.callback([this] {
      run_.reload = [this] { return config_.load(); };
      action_ = [this] {
        return with_config(
            [this](const Config& config, const Comm& comm) { return run_simulation(config, comm, run_); });
      };
    });
  }

  void add_check() {
    CLI::App& c = *app_.add_subcommand("check", "print what a run would do: no MPI, no GPU, no files");
    config_.add_to(c);
    config_.add_backend_to(c);
    c.add_option("--output", config_.output, "run directory")->option_text("DIR");
    c.add_option("--ranks", ranks_, "number of MPI ranks to plan for")->option_text("N")->check(at_least(1));
    c.add_flag("--verbose", verbose_, "also the messages and segments of rank 0");
    c.callback([this] {
      action_ = [this] {
        print_once(check_text(config_.load(), ranks_, verbose_));
        return 0;
      };
    });
  }

  void add_verify() {
    CLI::App& c = *app_.add_subcommand("verify", "run the solver and the slow model solution side by side");
    config_.add_to(c);
    config_.add_backend_to(c);
    c.add_option("--steps", verify_.steps, "steps to take [10]")->option_text("N")->check(at_least(0));
    c.add_option("--ulps", verify_.max_ulps, "largest error allowed [0]")->option_text("N")->check(at_least(0));
    c.callback([this] {
      action_ = [this] {
        return with_config([this](const Config& config, const Comm& comm) { return verify(config, comm, verify_); });
      };
    });
  }

  void add_bench() {
    CLI::App& bench = *app_.add_subcommand("bench", "measure");
    bench.require_subcommand(1);
    add_bench_halo(bench);
    add_bench_output(bench);
    CLI::App& c = *bench.add_subcommand("step", "time of a step, by the procedure of Pekkila et al. (2022)");
    bench_arguments_.add_to(c, bench_.physics, "128");
    c.add_option("--order", bench_.order, "order of the finite differences [6]")
        ->option_text("ORDER")
        ->check(CLI::IsMember({2, 4, 6, 8}));
    c.add_option("--steps", bench_.steps, "timed steps [CPU 20; GPU 1000, from 512^3 cells on 100]")
        ->option_text("N")
        ->check(at_least(1));
    c.add_option("--warmup", bench_.warmup, "steps before [CPU 3; GPU 100]")->option_text("N")->check(at_least(0));
    c.add_flag("--courant", bench_.courant, "evaluate the Courant condition in each step, too");
    add_backend_option(c, bench_.backend);
    c.add_option("--json", bench_.json, "write the result to this file")->option_text("FILE");
    c.callback([this] {
      action_ = [this] {
        bench_arguments_.apply(bench_.cells, bench_.decomposition);
        return run_with_mpi(
            argc_, argv_, [] {}, [this](const Comm& comm) { return bench_step(bench_, comm); });
      };
    });
  }

  void add_bench_halo(CLI::App& bench) {
    CLI::App& c = *bench.add_subcommand("halo", "exchange of halos between GPUs, alone and hidden by computation");
    halo_arguments_.add_to(c, halo_.physics, "256");
    c.add_option("--order", halo_.order, "order of the finite differences [6]")
        ->option_text("ORDER")
        ->check(CLI::IsMember({2, 4, 6, 8}));
    c.add_option("--steps", halo_.steps, "timed steps [50]")->option_text("N")->check(at_least(1));
    c.add_option("--transport", halo_.transport, "only this one: cuda_aware, peer, host_staged or mixed")
        ->option_text("NAME")
        ->transform(
            CLI::Transformer(std::map<std::string, TransportChoice>{{"cuda_aware", TransportChoice::cuda_aware},
                                                                    {"peer", TransportChoice::peer},
                                                                    {"host_staged", TransportChoice::host_staged},
                                                                    {"mixed", TransportChoice::mixed}}));
    c.add_option("--axes", halo_.axes, "axes along which a single rank exchanges with itself [xyz]")
        ->option_text("AXES")
        ->check(CLI::IsMember({"x", "y", "z", "xy", "xz", "yz", "xyz"}));
    c.add_flag("--timeline", halo_.timeline, "show the stages of one step instead");
    c.add_flag("--oversubscribe", halo_.oversubscribe, "ranks may share a GPU: the times then mean nothing");
    c.add_flag("--verify", halo_.verify, "check every halo value instead, over random grids");
    c.add_option("--rounds", halo_.rounds, "exchanges with --verify [1000]")->option_text("N")->check(at_least(1));
    c.callback([this] {
      action_ = [this] {
        halo_arguments_.apply(halo_.cells, halo_.decomposition);
        return run_with_mpi(
            argc_, argv_, [] {}, [this](const Comm& comm) { return bench_halo(halo_, comm); });
      };
    });
  }

  void add_bench_output(CLI::App& bench) {
    CLI::App& c = *bench.add_subcommand("output", "snapshots and checkpoints against a plain parallel write");
    output_arguments_.add_to(c, bench_output_.physics, "128");
    c.add_option_function<std::string>(
         "--precision",
         [this](const std::string& name) {
           bench_output_.precision = name == "float32" ? Precision::float32 : Precision::float64;
         },
         "of the snapshots: float64 or float32 [float64]")
        ->option_text("NAME")
        ->check(CLI::IsMember({"float64", "float32"}));
    c.add_option("--compression", bench_output_.compression, "level of the compressed snapshots, 0: none of them [1]")
        ->option_text("0-9")
        ->check(CLI::Range(0, 9));
    c.add_option("--rounds", bench_output_.rounds, "files of each kind, in turn [5]")
        ->option_text("N")
        ->check(at_least(1));
    c.add_option("--directory", bench_output_.directory, "where to write [the current directory]")->option_text("DIR");
    c.add_option("--json", bench_output_.json, "write the result to this file")->option_text("FILE");
    c.callback([this] {
      action_ = [this] {
        output_arguments_.apply(bench_output_.cells, bench_output_.decomposition);
        return run_with_mpi(
            argc_, argv_, [] {}, [this](const Comm& comm) { return bench_output(bench_output_, comm); });
      };
    });
  }

  void add_diff() {
    CLI::App& c = *app_.add_subcommand("diff", "compare two snapshots field by field");
    c.add_option("A.h5", diff_a_, "snapshot")->required()->type_name("");
    c.add_option("B.h5", diff_b_, "snapshot")->required()->type_name("");
    c.add_option("--ulps", tolerance_.ulps, "largest difference allowed, in units of the last place [0]")
        ->option_text("N")
        ->check(at_least(0));
    c.add_option("--rel", tolerance_.relative, "largest relative difference allowed")
        ->option_text("X")
        ->check(at_least(0));
    c.callback([this] {
      action_ = [this] {
        const Comparison comparison = compare_snapshots(diff_a_, diff_b_, tolerance_);
        print_once(comparison_text(comparison, tolerance_));
        return static_cast<int>(exceeds(comparison, tolerance_) ? ExitCode::difference : ExitCode::complete);
      };
    });
  }

  void add_info() {
    CLI::App& c = *app_.add_subcommand("info", "describe a snapshot");
    c.add_option("FILE", info_path_, "snapshot")->required()->type_name("");
    c.callback([this] {
      action_ = [this] {
        print_once(info_text(info_path_));
        return 0;
      };
    });
  }

  CLI::App app_{"mhdsim: compressible magnetohydrodynamics on many CPUs and GPUs", "mhdsim"};
  int argc_;
  char** argv_;
  std::function<int()> action_;

  ConfigArguments config_;
  RunOptions run_;
  int ranks_ = 1;
  bool verbose_ = false;
  VerifyOptions verify_;
  BenchOptions bench_;
  BenchArguments bench_arguments_;
  BenchHaloOptions halo_;
  BenchArguments halo_arguments_;
  BenchOutputOptions bench_output_;
  BenchArguments output_arguments_;
  std::string diff_a_, diff_b_, info_path_;
  Tolerance tolerance_;
};

}  // namespace

int run_command_line(int argc, char** argv) { return CommandLine(argc, argv).run(); }

}  // namespace mhd
