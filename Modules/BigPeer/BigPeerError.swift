#if Server
  /// Why the big peer does not start, or has stopped.
  public struct BigPeerError: Error, Sendable, CustomStringConvertible {
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
  }
#endif
