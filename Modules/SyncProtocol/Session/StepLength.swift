/// How long one call of a session may run before it asks to be called again.
package enum StepLength: Sendable {
  /// For a shared thread that must not block: well below a millisecond.
  case prompt
  /// As short, for a thread that others wait for; a single frame may take longer.
  case shared
  /// For a thread that belongs to the session.
  case long
}

extension SessionContext {
  /// How many records a call visits.
  var recordsPerCall: Int {
    switch stepLength {
    case .prompt, .shared: min(tuning.recordsPerPromptCall, tuning.recordsPerCall)
    case .long: tuning.recordsPerCall
    }
  }

  /// How many plain bytes a call packs.
  var bytesPerCall: Int {
    switch stepLength {
    case .prompt, .shared: min(tuning.bytesPerPromptCall, tuning.bytesPerCall)
    case .long: tuning.bytesPerCall
    }
  }
}
