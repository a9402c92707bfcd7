public import CRDTCore

/// The change of one document, for a reader of changes.
public struct FeedChange: Hashable, Sendable {
  /// How a document has changed for the reader.
  public enum Method: String, Sendable {
    /// The document is new to the reader's queries; or the change comes from the log, without old value.
    case upsert
    /// The document matched before, and still matches.
    case update
    /// The document was removed or evicted, or it no longer matches.
    case remove
  }

  /// A value that may be unknown.
  public enum Known: Hashable, Sendable {
    case unknown
    /// The document did not exist, or no longer exists, or does not match.
    case none
    case fields([TextKey: Value])
  }

  /// How the document has changed for the reader.
  public let method: Method
  /// The name of the collection.
  public let collection: String
  /// The document.
  public let id: DocumentID
  /// The document before the change; unknown if the change erases it.
  public let oldValue: Known
  /// The document after the change.
  public let newValue: Known
  /// The transaction that made the change.
  public let transaction: FeedPosition
  /// Whether the change was read from the log.
  ///
  /// It then represents all changes of the document since the reader's position, and the old value is
  /// unknown. A removed document may be one that never matched.
  public let isResumed: Bool
}

/// Why a reader has to read all documents of its queries again.
public enum FeedGap: String, Sendable {
  /// The log no longer reaches back to the position.
  case truncated
  /// The position belongs to another store, or to a log that this one does not continue.
  case otherLog
  /// So many documents were evicted at once that the log does not list all of them.
  case evictions
  /// An entry of the log is damaged.
  case damaged
}

/// An event for a reader of changes.
public enum FeedEvent: Hashable, Sendable {
  case change(FeedChange)
  /// The reader may have missed changes.
  ///
  /// It has to read all documents again, with this transaction or a later one.
  case requeryRequired(FeedGap, FeedPosition)
  /// A document has changed and cannot be read.
  case damaged(collection: String, id: DocumentID?, FeedPosition)
}

/// An event, and the position to continue from after it was processed.
public struct FeedItem: Hashable, Sendable {
  /// What has happened.
  public let event: FeedEvent
  /// Where to continue once the event was processed.
  public internal(set) var position: FeedPosition
}

/// Events that are delivered together.
public struct FeedBatch: Hashable, Sendable {
  /// The events; empty when the wait ended without any.
  public internal(set) var items: [FeedItem]
  /// The position to continue from after all events were processed.
  ///
  /// It also advances over changes that do not concern the reader.
  public internal(set) var position: FeedPosition

  /// Makes a batch.
  public init(items: [FeedItem] = [], position: FeedPosition) {
    self.items = items
    self.position = position
  }
}

extension FeedEvent {
  /// The event as a JSON object.
  ///
  /// `name` gives each transaction the name that clients know; by default that is its position. A change
  /// without its values has the field `valuesOmitted`.
  public func fields(
    withValues hasValues: Bool = true, naming name: (FeedPosition) -> String = { $0.token }
  ) -> [TextKey: Value] {
    switch self {
    case .change(let change): change.fields(hasValues, name)
    case .requeryRequired(let gap, let position):
      [
        "txnId": .string(name(position)), "type": .string("requeryRequired"), "reason": .string(gap.rawValue),
      ]
    case .damaged(let collection, let id, let position):
      [
        "txnId": .string(name(position)), "type": .string("documentDamaged"),
        "collection": .string(collection), "documentId": id?.value ?? .null,
      ]
    }
  }

  /// The event as JSON text on one line; see ``fields(withValues:naming:)``.
  public func json(
    withValues hasValues: Bool = true, naming name: (FeedPosition) -> String = { $0.token }
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    JSON.write(
      .map(fields(withValues: hasValues, naming: name)), to: &bytes, options: .init(escapesTags: true))
    return bytes
  }
}

extension FeedChange {
  fileprivate func fields(_ hasValues: Bool, _ name: (FeedPosition) -> String) -> [TextKey: Value] {
    var change: [TextKey: Value] = ["method": .string(method.rawValue)]
    if hasValues {
      change["oldValue"] = oldValue.value
      change["newValue"] = newValue.value
    }
    var fields: [TextKey: Value] = [
      "txnId": .string(name(transaction)), "type": .string("documentChanged"),
      "collection": .string(collection), "documentId": id.value, "isResumed": .bool(isResumed),
      "change": .map(change),
    ]
    if !hasValues { fields["valuesOmitted"] = .bool(true) }
    return fields
  }
}

extension FeedChange.Known {
  /// The value as JSON has it; `nil` if it is unknown.
  fileprivate var value: Value? {
    switch self {
    case .unknown: nil
    case .none: .null
    case .fields(let fields): .map(fields)
    }
  }
}
