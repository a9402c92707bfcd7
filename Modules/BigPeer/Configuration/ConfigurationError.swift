#if Server
  /// A mistake in what the big peer was configured with, and where it stands.
  public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file with the line, the flag or the variable of the environment.
    public let place: String
    /// What is wrong: one sentence without a full stop.
    public let message: String

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - place: The file with the line, the flag or the variable.
    ///   - message: One sentence without a full stop.
    public init(_ place: String, _ message: String) {
      self.place = place
      self.message = message
    }

    public var description: String { "\(place): \(message)" }
  }
#endif
