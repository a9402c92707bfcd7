public import Transports

/// Both ends of a new connection, to which no users are attached.
public struct LinkPair: Sendable {
  /// The end that has dialed, where there is such a thing.
  public let near: any Link
  /// The other one.
  public let far: any Link
  /// Takes down what has carried them; called once both have ended.
  let takeDown: @Sendable () async -> Void

  /// Names the two ends.
  ///
  /// - Parameters:
  ///   - near: The end that has dialed.
  ///   - far: The other end.
  ///   - takeDown: Takes down what has carried them, for example a listener; must not hold the links themselves.
  public init(
    _ near: any Link, _ far: any Link, takeDown: @escaping @Sendable () async -> Void = {}
  ) {
    self.near = near
    self.far = far
    self.takeDown = takeDown
  }

  /// The same carrier with other links over the two, for links that stand on links.
  public func mapped(_ near: any Link, _ far: any Link) -> LinkPair {
    LinkPair(near, far, takeDown: takeDown)
  }
}

/// How a link is put through its paces.
public struct LinkConformanceOptions: Sendable {
  /// How many bytes the larger checks send; less suits slow links.
  public var volume = 1 << 20
  /// Bytes that may still be handed over to a user that has just no room: what had been read already.
  public var overshoot = 1 << 20
  /// Bytes that are written to see whether the link stops reading; 0 leaves that promise out, for links that are too slow for it.
  public var unsentBytes = 64 << 20
  /// How long something that is sure to come may take, and bytes may be without progress.
  public var patience: Duration = .seconds(30)
  /// How long to look whether something comes that must not.
  public var quiet: Duration = .milliseconds(30)

  /// The defaults.
  public init() {}
}
