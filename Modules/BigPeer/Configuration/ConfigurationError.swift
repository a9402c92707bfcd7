#if Server
  public import CRDTCore

  /// A mistake in the configuration of the big peer, with its place; or all of its mistakes.
  public struct ConfigurationError: CodedError, Hashable, CustomStringConvertible {
    package enum Code: String, Sendable {
      case configuration
    }

    /// The file with the line, the flag or the environment variable.
    public let place: String
    /// What is wrong: one sentence without a full stop.
    public let message: String
    /// The further mistakes of the same configuration, in the order in which they were found.
    public let others: [ConfigurationError]

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - place: The file with the line, the flag or the variable.
    ///   - message: One sentence without a full stop.
    public init(_ place: String, _ message: String) {
      self.place = place
      self.message = message
      others = []
    }

    /// Makes one error of several mistakes.
    ///
    /// - Returns: `nil` for none.
    init?(all: [ConfigurationError]) {
      guard let first = all.first else { return nil }
      (place, message, others) = (first.place, first.message, Array(all.dropFirst()))
    }

    /// This mistake alone, and then the others.
    public var all: [ConfigurationError] { [ConfigurationError(place, message)] + others }

    package var code: Code { .configuration }
    package var context: [String: String] { ["place": place] }

    /// A line for each mistake.
    public var description: String {
      (["\(place): \(message)"] + others.map(\.description)).joined(separator: "\n")
    }
  }
#endif
