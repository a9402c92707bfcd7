/// How long one call of a session may run before it asks to be called again.
package enum StepLength: Sendable {
  /// For a shared thread that must not block: well below a millisecond.
  case prompt
  /// As short, for a thread that others wait for; a single frame may take longer.
  case shared
  /// For a thread that belongs to the session.
  case long
}
