package import CRDTCore

/// What became of one document, for a reader of changes.
package struct FeedChange: Hashable, Sendable {
  package enum Method: String, Sendable {
    /// It is new to the reader's queries; or it came from the log, and nobody knows what it was before.
    case upsert
    /// It matched before, and matches still.
    case update
    /// It was removed or evicted, or no longer matches.
    case remove
  }

  /// A value that may be unknown.
  package enum Known: Hashable, Sendable {
    case unknown
    /// There was none, or there is none now.
    case none
    case fields([TextKey: Value])
  }

  package let method: Method
  package let collection: String
  package let id: DocumentID
  package let oldValue: Known
  package let newValue: Known
  /// The transaction that made the change.
  package let transaction: FeedPosition
  /// Whether it was read from the log.
  ///
  /// Then it stands for all changes of the document since the reader's position, and what the document was before is unknown. A
  /// document that is removed may be one that never matched.
  package let isResumed: Bool
}

/// Why a reader has to read all documents of its queries anew.
package enum FeedGap: String, Sendable {
  /// The log no longer goes back to the position.
  case truncated
  /// The position is that of another store, or of a log that this one does not go on from.
  case otherLog
  /// So many documents were evicted at once that the log does not list all of them.
  case evictions
  /// An entry of the log is damaged.
  case damaged
}

/// What a reader of changes gets.
package enum FeedEvent: Hashable, Sendable {
  case change(FeedChange)
  /// The reader may have missed changes: it has to read all documents anew, with this transaction or a later one.
  case requeryRequired(FeedGap, FeedPosition)
  /// A document changed, and cannot be read.
  case damaged(collection: String, id: DocumentID?, FeedPosition)
}

/// An event, and where to go on from once it has been dealt with.
package struct FeedItem: Hashable, Sendable {
  package let event: FeedEvent
  package internal(set) var position: FeedPosition
}

/// Events that come together.
package struct FeedBatch: Hashable, Sendable {
  /// None when the reader waited for nothing.
  package internal(set) var items: [FeedItem]
  /// Where to go on from once all of them have been dealt with; it moves on where nothing concerns the reader, too.
  package internal(set) var position: FeedPosition

  package init(items: [FeedItem] = [], position: FeedPosition) {
    self.items = items
    self.position = position
  }
}

extension FeedEvent {
  /// The event as an object of JSON, with transactions by the names that clients know; by default those are positions.
  ///
  /// Without its values a change says `valuesOmitted`.
  package func fields(
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

  /// The event's text in JSON, on one line; see ``fields(withValues:naming:)``.
  package func json(
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
  /// `nil` where it is unknown.
  fileprivate var value: Value? {
    switch self {
    case .unknown: nil
    case .none: .null
    case .fields(let fields): .map(fields)
    }
  }
}
