#if Server
  public import CRDTCore

  /// Why the big peer does not start, or has stopped.
  public struct BigPeerError: CodedError, CustomStringConvertible {
    package enum Code: String, Sendable {
      case server
    }

    /// One sentence without a full stop, which names what it is about.
    public let description: String
    /// The error of the layer below, if there is one.
    public let underlying: (any Error)?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - description: One sentence without a full stop.
    ///   - underlying: The error that caused it.
    public init(_ description: String, underlying: (any Error)? = nil) {
      self.description = description
      self.underlying = underlying
    }

    package var code: Code { .server }
    package var message: String { description }
  }
#endif
