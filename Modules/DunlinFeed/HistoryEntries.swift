import CRDTCore
import DocStore

/// The side table of versions: each by its document, with a note of it by time, and the totals.
enum HistoryEntries {
  static let table = SideTable("history")
  static let policies = SideTable("feed.history")

  private static let totals: UInt8 = 0
  private static let byDocument: UInt8 = 2

  /// The lists of version notes, each sorted by time.
  enum Order: UInt8, CaseIterable {
    /// Notes of versions that are removed when they become too old.
    case passing = 1
    /// Notes of versions that are too old, but are the last of their documents before the oldest time.
    case staying = 3
  }

  // MARK: - Keys

  static func totalsKey(_ collection: UInt32) -> [UInt8] { prefix(totals, collection).bytes }

  static func noteKey(_ order: Order, _ collection: UInt32, _ place: HistoryPlace) -> [UInt8] {
    var key = prefix(order.rawValue, collection)
    write(place, &key)
    return key.bytes
  }

  /// The key where a collection's versions begin.
  static func firstDocumentKey(_ collection: UInt32) -> [UInt8] { prefix(byDocument, collection).bytes }

  static func isDocumentKey(_ key: [UInt8], _ collection: UInt32) -> Bool {
    key.starts(with: firstDocumentKey(collection))
  }

  static func documentKey(_ collection: UInt32, _ id: DocumentID, _ place: HistoryPlace) -> [UInt8] {
    var key = prefix(byDocument, collection)
    key.writeFixed(UInt16(id.bytes.count))
    key.write(id.bytes)
    write(place, &key)
    return key.bytes
  }

  private static func prefix(_ kind: UInt8, _ collection: UInt32) -> ByteWriter {
    var key = ByteWriter(capacity: 24)
    key.write(kind)
    key.writeFixed(collection)
    return key
  }

  private static func write(_ place: HistoryPlace, _ key: inout ByteWriter) {
    key.writeFixed(place.time)
    key.writeFixed(place.count)
  }

  /// The bytes of a place at the end of a key.
  private static let placeBytes = 12

  /// The place in the key of a collection's note; `nil` for any other key.
  static func place(_ order: Order, _ key: [UInt8], _ collection: UInt32) -> HistoryPlace? {
    place(key, behind: prefix(order.rawValue, collection).bytes)
  }

  /// The first places of an order.
  static func places(
    _ order: Order, _ collection: UInt32, limit: Int, _ transaction: WriteTransaction
  ) throws -> [HistoryPlace] {
    var places: [HistoryPlace] = []
    try transaction.forEachSideKey(table, from: prefix(order.rawValue, collection).bytes) { key, _ in
      guard places.count < limit, let place = HistoryEntries.place(order, key, collection) else {
        return false
      }
      places.append(place)
      return true
    }
    return places
  }

  /// The place in the key of a document's version; `nil` for any other key.
  static func place(of id: DocumentID, _ key: [UInt8], _ collection: UInt32) -> HistoryPlace? {
    place(key, behind: documentKey(collection, id, HistoryPlace(time: 0, count: 0)).dropLast(placeBytes))
  }

  private static func place(_ key: [UInt8], behind prefix: some Swift.Collection<UInt8>) -> HistoryPlace? {
    guard key.count == prefix.count + placeBytes, key.starts(with: prefix) else { return nil }
    let rest = Array(key.suffix(placeBytes))
    var reader = ByteReader(rest.span.bytes)
    guard let time: UInt64 = try? reader.readFixed(), let count: UInt32 = try? reader.readFixed() else {
      return nil
    }
    return HistoryPlace(time: time, count: count)
  }

  // MARK: - Values

  /// The note of a version by time: the bytes that the version takes, and its document.
  static func note(_ id: DocumentID, byteCount: Int) -> [UInt8] {
    var value = ByteWriter(capacity: 8 + id.bytes.count)
    value.writeFixed(UInt64(byteCount))
    value.write(id.bytes)
    return value.bytes
  }

  static func note(_ value: [UInt8]) throws -> (id: DocumentID, byteCount: UInt64) {
    var reader = ByteReader(value.span.bytes)
    let byteCount: UInt64 = try reader.readFixed()
    return (try DocumentID(validating: try reader.readBytes(reader.remaining)), byteCount)
  }

  /// The note of a version in an order; `nil` where there is none, or where it is damaged.
  static func note(
    _ order: Order, _ collection: UInt32, _ place: HistoryPlace, _ transaction: WriteTransaction
  ) throws -> (id: DocumentID, byteCount: UInt64)? {
    do {
      return try transaction.sideValue(table, key: noteKey(order, collection, place)).map { try note($0) }
    } catch let error as StoreError where error.code == .corrupt {
      return nil
    }
  }

  static func encoded(
    _ kind: HistoryVersion.Kind, _ fields: [TextKey: Value]?, writtenAt: UInt64, _ site: SiteID
  ) -> [UInt8] {
    var value = ByteWriter(capacity: 64)
    value.write(kind.rawValue)
    value.writeFixed(writtenAt)
    value.write(site)
    if let fields { ValueCodec.write(.map(fields), to: &value) }
    return value.bytes
  }

  static func version(of id: DocumentID, at place: HistoryPlace, _ value: [UInt8]) throws -> HistoryVersion {
    var reader = ByteReader(value.span.bytes)
    guard let kind = HistoryVersion.Kind(rawValue: try reader.readByte()) else {
      throw reader.failure(.malformed, "a version is of an unknown kind")
    }
    let writtenAt: UInt64 = try reader.readFixed()
    let site = try reader.readSite()
    var fields: [TextKey: Value]?
    if reader.remaining > 0 {
      guard case .map(var found) = try ValueCodec.read(&reader, depth: -1) else {
        throw reader.failure(.malformed, "a version is no document")
      }
      found["_id"] = id.value
      fields = found
    }
    return HistoryVersion(
      id: id, kind: kind, fields: fields, time: place.time, writtenAt: writtenAt, site: site, place: place)
  }

  /// The totals of a collection's versions.
  struct Totals {
    var count: UInt64 = 0
    var byteCount: UInt64 = 0
    /// The place of the last version.
    var last = HistoryPlace(time: 0, count: 0)

    init() {}

    init(_ value: [UInt8]) throws {
      var reader = ByteReader(value.span.bytes)
      count = try reader.readFixed()
      byteCount = try reader.readFixed()
      last = HistoryPlace(time: try reader.readFixed(), count: try reader.readFixed())
    }

    var encoded: [UInt8] {
      var value = ByteWriter(capacity: 28)
      value.writeFixed(count)
      value.writeFixed(byteCount)
      HistoryEntries.write(last, &value)
      return value.bytes
    }

    /// The place of a version that is added now.
    mutating func draw(_ now: UInt64) -> HistoryPlace {
      last = now > last.time ? HistoryPlace(time: now, count: 0) : last.next
      return last
    }

    mutating func subtract(_ byteCount: UInt64) {
      count -= min(count, 1)
      self.byteCount -= min(self.byteCount, byteCount)
    }
  }
}
