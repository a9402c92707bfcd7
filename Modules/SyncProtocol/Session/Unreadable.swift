import CRDTCore
import DocStore
import Failpoints

/// The damaged or unmergeable data that a session has found, here and at the peer.
///
/// A peer can neither send nor merge unreadable documents. It also cannot merge two documents whose union
/// exceeds the size limit. So neither end counts as caught up for the rest of the session.
struct Unreadable {
  private(set) var ranges: [UnreadableRange] = []
  /// Damaged documents on intact pages.
  private(set) var documents: Set<DamagedRecord> = []
  private var met: Set<DamagedRecord> = []
  private var metLog: Set<DamagedLog> = []
  /// Documents of the peer that cannot be merged with the local ones.
  private(set) var exceeding: Set<DocumentName> = []
  /// Whether the peer has reported that it cannot read or merge everything.
  var isAtPeer = false

  /// Whether this end cannot read or merge everything that concerns the peer.
  ///
  /// Damaged documents that the peer may not read do not concern it.
  var isHere = false
  /// Whether either end cannot.
  var isAnywhere: Bool { isAtPeer || isHere }

  /// Adds a damaged document on an intact page.
  ///
  /// - Returns: Whether it is new.
  mutating func insert(_ record: DamagedRecord) -> Bool {
    documents.count < SyncLimits.reportableRecords && documents.insert(record).inserted
  }

  /// Adds a document that cannot be merged; further ones beyond the limit are not recorded.
  mutating func insert(_ document: DocumentName) {
    if exceeding.count < SyncLimits.reportableRecords { exceeding.insert(document) }
  }

  /// Records documents that cannot be reached.
  ///
  /// - Returns: The range of their ids, the first time; `nil` if it is known or no document is missing.
  mutating func insert(_ record: DamagedRecord, _ span: DocumentSpan, in store: Store) -> UnreadableRange? {
    guard met.count < SyncLimits.reportableRecords, met.insert(record).inserted else { return nil }
    var range = UnreadableRange(collection: record.collection)
    if met.count <= SyncLimits.unreadableRanges {
      guard let found = Self.range(record.collection, span, in: store) else { return nil }
      range = found
    }
    guard !ranges.contains(range) else { return nil }
    ranges.append(range)
    return range
  }

  private static func range(_ name: String, _ span: DocumentSpan, in store: Store) -> UnreadableRange? {
    do {
      return try store.read { snapshot in
        guard let collection = try snapshot.collection(name),
          let (from, to) = try snapshot.idBounds(of: span, in: collection)
        else { return nil }
        return UnreadableRange(
          collection: name, from: try? DocumentID(validating: from.span.bytes),
          to: to.flatMap { try? DocumentID(validating: $0.span.bytes) })
      }
    } catch {
      return UnreadableRange(collection: name)
    }
  }

  /// Records a damaged part of the log.
  ///
  /// - Returns: Whether it is new.
  mutating func insert(_ log: DamagedLog) -> Bool {
    metLog.count < SyncLimits.unreadableRanges && metLog.insert(log).inserted
  }
}
