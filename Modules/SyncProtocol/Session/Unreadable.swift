import CRDTCore
import DocStore
import Failpoints

/// What of the store cannot be read or merged, as far as a session has met it, and whether the peer has met such.
///
/// A peer can neither send nor merge documents that it cannot read, nor merge two that are more together than a document
/// may be. So neither end counts as caught up for the rest of the session.
struct Unreadable {
  private(set) var ranges: [UnreadableRange] = []
  /// Damaged documents on pages that are whole.
  private(set) var documents: Set<DamagedRecord> = []
  private var met: Set<DamagedRecord> = []
  private var metLog: Set<DamagedLog> = []
  /// Documents of the peer that cannot be merged with those here.
  private(set) var exceeding: Set<DocumentName> = []
  /// Whether the peer has said that it cannot read all, or merge all.
  var isAtPeer = false

  /// Whether this end cannot read or merge all.
  var isHere: Bool { !ranges.isEmpty || !documents.isEmpty || !exceeding.isEmpty }
  /// Whether one of both ends cannot.
  var isAnywhere: Bool { isAtPeer || isHere }

  /// Adds a damaged document on a page that is whole.
  ///
  /// - Returns: Whether it was not known.
  mutating func insert(_ record: DamagedRecord) -> Bool {
    documents.count < SyncLimits.tellableRecords && documents.insert(record).inserted
  }

  /// Adds a document that cannot be merged; beyond so many further ones are not told apart.
  mutating func insert(_ document: DocumentName) {
    if exceeding.count < SyncLimits.tellableRecords { exceeding.insert(document) }
  }

  /// Takes note of documents that cannot be reached.
  ///
  /// - Returns: Between which ids they are, the first time; `nil` where none is missed.
  mutating func insert(_ record: DamagedRecord, _ span: DocumentSpan, in store: Store) -> UnreadableRange? {
    guard met.count < SyncLimits.tellableRecords, met.insert(record).inserted else { return nil }
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
      return try store.read { transaction in
        guard let collection = try transaction.collection(name),
          let (from, to) = try transaction.idBounds(of: span, in: collection)
        else { return nil }
        return UnreadableRange(
          collection: name, from: try? DocumentID(validating: from.span.bytes),
          to: to.flatMap { try? DocumentID(validating: $0.span.bytes) })
      }
    } catch {
      return UnreadableRange(collection: name)
    }
  }

  /// Takes note of a part of the log.
  ///
  /// - Returns: Whether it was not known.
  mutating func insert(_ log: DamagedLog) -> Bool {
    metLog.count < SyncLimits.unreadableRanges && metLog.insert(log).inserted
  }
}

extension SessionContext {
  /// Tells what cannot be read, the application each document and range and the peer that there is one, before anything
  /// that comes of it.
  func tellDamaged(_ record: DamagedRecord) {
    let isFirst = !unreadable.isHere
    if let span = record.span {
      guard let range = unreadable.insert(record, span, in: store) else { return }
      tell(.unreadable(range))
    } else {
      guard unreadable.insert(record) else { return }
      tell(.damaged(collection: record.collection, id: record.id))
    }
    if isFirst, !SyncDefect.unreadableNotTold.isPlanted { send(.unreadable) }
  }

  /// Tells that a document of the peer cannot be merged, the application once a collection and reason.
  func tellExceeding(_ document: ExceedingDocument) {
    let isFirst = !unreadable.isHere
    unreadable.insert(DocumentName(collection: document.collection, id: document.id))
    tellRefused(document.collection, document.reason)
    if isFirst, !SyncDefect.unreadableNotTold.isPlanted { send(.unreadable) }
  }

  func tellUnreadable(_ log: DamagedLog) {
    if unreadable.insert(log) { tell(.unreadableLog(from: log.first, to: log.end)) }
  }

  /// Takes the peer's word that it cannot read all.
  func noteUnreadablePeer() {
    guard !unreadable.isAtPeer else { return }
    unreadable.isAtPeer = true
    tell(.unreadablePeer)
  }

  /// Reads what the log tells, on a snapshot of now.
  ///
  /// - Returns: `nil` where it is damaged: comparing finds what it would have told.
  func readLog<R>(_ body: (borrowing ReadTransaction) throws -> R?) throws(SyncError) -> R? {
    do { return try store.read(body) } catch {
      guard let failure = error as? StoreError, let log = DamagedLog(failure) else {
        throw SyncError(store: error)
      }
      tellUnreadable(log)
      return nil
    }
  }
}
