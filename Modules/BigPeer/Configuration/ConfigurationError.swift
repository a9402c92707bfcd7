#if Server
  public import CRDTCore

  /// A mistake in the configuration of the big peer, with its place.
  public struct ConfigurationError: CodedError, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable {
      case configuration
    }

    /// The file with the line, the flag or the environment variable.
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

    package var code: Code { .configuration }
    package var context: [String: String] { ["place": place] }

    public var description: String { "\(place): \(message)" }
  }
#endif
