import CRDTCore

/// A connection between the peer that reports and another one.
public struct ReportedConnection: Sendable {
  /// How far sync over a connection has progressed, and how much it has transferred.
  public struct Progress: Sendable {
    /// Bytes of frames that were sent.
    public var bytesSent: UInt64
    /// Bytes of frames that were received.
    public var bytesReceived: UInt64
    /// Documents that were sent.
    public var documentsSent: UInt64
    /// Documents that were received.
    public var documentsReceived: UInt64
    /// Whether everything that the other peer had for the subscriptions is stored here.
    public var isCaughtUp: Bool
    /// The last commit of this store that the other peer has; `nil` if that is unknown.
    public var servedSequence: UInt64?
    /// Whether the other peer subscribes to nothing.
    public var pullsNothing: Bool
    /// Whether either side cannot read or merge all documents.
    public var hasUnreadable: Bool
    /// Whether documents are withheld because they are too large.
    public var hasWithheld: Bool

    /// Makes the progress of its values.
    public init(
      bytesSent: UInt64, bytesReceived: UInt64, documentsSent: UInt64, documentsReceived: UInt64,
      isCaughtUp: Bool, servedSequence: UInt64?, pullsNothing: Bool, hasUnreadable: Bool, hasWithheld: Bool
    ) {
      (self.bytesSent, self.bytesReceived) = (bytesSent, bytesReceived)
      (self.documentsSent, self.documentsReceived) = (documentsSent, documentsReceived)
      (self.isCaughtUp, self.servedSequence, self.pullsNothing) = (isCaughtUp, servedSequence, pullsNothing)
      (self.hasUnreadable, self.hasWithheld) = (hasUnreadable, hasWithheld)
    }
  }

  /// What carries the connection, for example `tcp` or `ws`.
  public let kind: String
  /// The address of the other end.
  public let address: String
  /// `nil` before the session has begun.
  public let progress: Progress?

  /// Makes a connection of its values.
  public init(kind: String, address: String, progress: Progress?) {
    (self.kind, self.address, self.progress) = (kind, address, progress)
  }

  /// The fields of the connection as JSON; without a commit of the store, only its kind and address.
  func values(at sequence: UInt64?) -> [TextKey: Value] {
    let values: [TextKey: Value] = ["kind": .string(kind), "address": .string(address)]
    guard let sequence, let progress else { return values }
    return values.merging(progress.values(at: sequence)) { $1 }
  }
}

extension ReportedConnection.Progress {
  fileprivate func values(at sequence: UInt64) -> [TextKey: Value] {
    // This peer need not send anything to a peer that pulls nothing.
    let lag: UInt64? = pullsNothing ? 0 : servedSequence.map { sequence - min($0, sequence) }
    return [
      "bytesSent": .count(bytesSent), "bytesReceived": .count(bytesReceived),
      "documentsSent": .count(documentsSent), "documentsReceived": .count(documentsReceived),
      "isCaughtUp": .bool(isCaughtUp), "lag": lag.map { .count($0) } ?? .null,
      "hasUnreadable": .bool(hasUnreadable), "hasWithheld": .bool(hasWithheld),
    ]
  }
}
