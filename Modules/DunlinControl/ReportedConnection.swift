import CRDTCore

/// A connection between the peer that reports and another one.
public struct ReportedConnection: Sendable {
  /// How far this peer's pull from the other one has come: the current pull, or the last one.
  public struct Pull: Sendable {
    /// Documents that have arrived.
    public var documents: UInt64
    /// Bytes of these documents before compression.
    public var bytes: UInt64
    /// How many documents will have arrived at the end; `nil` if that is unknown.
    public var expectedDocuments: UInt64?
    /// About how many bytes will have arrived at the end; `nil` if that is unknown.
    public var expectedBytes: UInt64?
    /// Whether the expected numbers may change.
    public var isEstimate: Bool
    /// The part that has arrived, from 0 to 1.
    public var fraction: Double

    /// Makes the progress of a pull of its values.
    public init(
      documents: UInt64, bytes: UInt64, expectedDocuments: UInt64?, expectedBytes: UInt64?,
      isEstimate: Bool, fraction: Double
    ) {
      (self.documents, self.bytes) = (documents, bytes)
      (self.expectedDocuments, self.expectedBytes) = (expectedDocuments, expectedBytes)
      (self.isEstimate, self.fraction) = (isEstimate, fraction)
    }
  }

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
    /// How far the current pull, or the last one, has come; `nil` if that is not reported.
    public var pull: Pull?

    /// Makes the progress of its values.
    public init(
      bytesSent: UInt64, bytesReceived: UInt64, documentsSent: UInt64, documentsReceived: UInt64,
      isCaughtUp: Bool, servedSequence: UInt64?, pullsNothing: Bool, hasUnreadable: Bool, hasWithheld: Bool,
      pull: Pull? = nil
    ) {
      self.pull = pull
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
    let values: [TextKey: Value] = [
      "bytesSent": .count(bytesSent), "bytesReceived": .count(bytesReceived),
      "documentsSent": .count(documentsSent), "documentsReceived": .count(documentsReceived),
      "isCaughtUp": .bool(isCaughtUp), "lag": lag.map { .count($0) } ?? .null,
      "hasUnreadable": .bool(hasUnreadable), "hasWithheld": .bool(hasWithheld),
    ]
    guard let pull else { return values }
    return values.merging(["pull": .map(pull.values)]) { $1 }
  }
}

extension ReportedConnection.Pull {
  /// The numbers as JSON.
  fileprivate var values: [TextKey: Value] {
    [
      "documents": .count(documents), "bytes": .count(bytes),
      "expectedDocuments": expectedDocuments.map { .count($0) } ?? .null,
      "expectedBytes": expectedBytes.map { .count($0) } ?? .null,
      "isEstimate": .bool(isEstimate), "fraction": .double(fraction),
    ]
  }
}
