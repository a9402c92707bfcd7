/// How long one call of a session may take; what is left it asks to be called for again.
package enum StepLength: Sendable {
  /// For a thread that others share, which must not wait: well below a millisecond.
  case prompt
  /// As short, for a thread for which others wait, and which may take longer for one frame.
  case shared
  /// For a thread of the session's own.
  case long
}

extension SessionContext {
  /// Records that a call visits.
  var recordsPerCall: Int {
    switch stepLength {
    case .prompt, .shared: min(tuning.recordsPerPromptCall, tuning.recordsPerCall)
    case .long: tuning.recordsPerCall
    }
  }

  /// Plain bytes that a call packs.
  var bytesPerCall: Int {
    switch stepLength {
    case .prompt, .shared: min(tuning.bytesPerPromptCall, tuning.bytesPerCall)
    case .long: tuning.bytesPerCall
    }
  }
}
