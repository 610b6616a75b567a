#pragma once
// What the main loop asks of a backend. One solver advances the subdomain of one rank.

#include <span>
#include <vector>

#include "core/diagnostics.hpp"
#include "core/state.hpp"

namespace mhd {

/// Wall-clock seconds of a step.
struct StepTiming {
  double compute = 0;   ///< right-hand sides and Runge-Kutta updates
  double exchange = 0;  ///< packing, posting, unpacking of halos
  double wait = 0;      ///< waiting for messages
};

class Solver {
 public:
  virtual ~Solver() = default;

  /// Sets the interior of a slot from values [z][y][x] of the subdomain.
  virtual void set_field(int slot, std::span<const double> values) = 0;
  /// The interior of a slot at the present time; valid until the next call of a non-const member.
  virtual FieldView field(int slot) = 0;
  /// Copies the interior of slots aside, for a host thread to write while steps go on: one view per slot, valid until
  /// the next call. Empty where the backend does not do that, or lacks the memory: then read field() between steps.
  virtual std::vector<FieldView> capture(std::span<const int>) { return {}; }
  /// Advances by one Runge-Kutta step of size dt.
  virtual void step(double dt) = 0;
  /// Largest 1/dt of the Courant condition over this rank's cells (physics.md), of the present state.
  virtual double courant_rate() = 0;
  /// Starts to compute this rank's contribution to the series columns, of the present state. A backend that works by
  /// itself does so while its caller goes on, with the next step for example.
  virtual void start_diagnostics() = 0;
  /// Waits for what was started last, and returns it.
  virtual DiagnosticSums finish_diagnostics() = 0;
  DiagnosticSums diagnostics() {
    start_diagnostics();
    return finish_diagnostics();
  }
  /// False once a step since the last call has produced a non-finite value in this rank's cells.
  virtual bool finite() = 0;
  /// How many steps may be queued before the first of them is done: asking for the timing of the step that lies this
  /// far back does not stall the backend. 0 where step() returns when the step is done.
  virtual int steps_ahead() const { return 0; }
  /// Of the step `back` steps before the last one, 0 <= back <= steps_ahead(); waits until it is done.
  virtual StepTiming timing(int back = 0) const = 0;
};

}  // namespace mhd
