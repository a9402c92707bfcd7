public import Links

/// Both ends of a new connection, to which no users are attached.
public struct LinkPair: Sendable {
  /// The end that dialed, if the carrier has such an end.
  public let near: any Link
  /// The other end.
  public let far: any Link
  /// Shuts the carrier down; called once both ends have ended.
  let takeDown: @Sendable () async -> Void

  /// Makes a pair of the two ends.
  ///
  /// - Parameters:
  ///   - near: The end that dialed.
  ///   - far: The other end.
  ///   - takeDown: Shuts the carrier down, for example a listener; must not keep a reference to the links.
  public init(
    _ near: any Link, _ far: any Link, takeDown: @escaping @Sendable () async -> Void = {}
  ) {
    self.near = near
    self.far = far
    self.takeDown = takeDown
  }

  /// The same carrier with other links over the two, for links that are built on links.
  public func mapped(_ near: any Link, _ far: any Link) -> LinkPair {
    LinkPair(near, far, takeDown: takeDown)
  }
}

/// The parameters of the checks of a link.
public struct LinkConformanceOptions: Sendable {
  /// How many bytes the larger checks send; use less for slow links.
  public var volume = 1 << 20
  /// Bytes that may still be delivered to a user that has run out of room: they were already read.
  public var overshoot = 1 << 20
  /// Bytes that are written to check whether the link stops reading.
  ///
  /// 0 skips that promise, for links that are too slow for it.
  public var unsentBytes = 64 << 20
  /// The longest wait for something that must happen; for bytes, the longest time without progress.
  public var patience: Duration = .seconds(30)
  /// How long to wait to see that something forbidden does not happen.
  public var quiet: Duration = .milliseconds(30)

  /// The defaults.
  public init() {}
}
