import CLMDB
import CRDTCore

/// Names what a peer sends in several parts, none of which may be seen before the last is here.
package struct StagingID: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func < (a: StagingID, b: StagingID) -> Bool { (a.high, a.low) < (b.high, b.low) }

  fileprivate func key(_ part: UInt32? = nil) -> [UInt8] {
    var key = ByteWriter(capacity: 20)
    key.writeFixed(high)
    key.writeFixed(low)
    if let part { key.writeFixed(part) }
    return key.bytes
  }

  fileprivate init?(_ key: RawSpan) {
    var reader = ByteReader(key)
    guard let high: UInt64 = try? reader.readFixed(), let low: UInt64 = try? reader.readFixed() else {
      return nil
    }
    self.init(high: high, low: low)
  }
}

extension WriteTransaction {
  /// Bytes of one part.
  package static let stagedPartBytes = 64 << 10
  /// Puts a part aside; the transaction is no commit for that, and nobody sees it.
  ///
  /// - Returns: `false`, with nothing kept, when there is no room for more parts.
  package func stage(_ bytes: [UInt8], as part: UInt32, of id: StagingID) throws -> Bool {
    precondition(bytes.count <= Self.stagedPartBytes, "a part is too long")
    let access = try pagesToWrite("stage")
    let taken = try access.pageCount(tables.staging) * Environment.pageBytes
    guard taken + bytes.count <= stagedLimit, taken + bytes.count <= (freeDiskBytes + taken) / 10 else {
      return false
    }
    var value = ByteWriter(capacity: bytes.count + 8)
    value.writeFixed(livedTime())
    value.write(bytes)
    keepsTime = true
    try update { () throws(StoreError) in
      try SmallRecord.put(value.bytes, at: id.key(part), in: tables.staging, access)
    }
    return true
  }

  /// Forgets parts, all of them by default.
  package func unstage(_ id: StagingID, parts: ClosedRange<UInt32> = 0...UInt32.max) throws {
    let access = try pagesToWrite("unstage")
    makesRoom = true
    var keys: [[UInt8]] = []
    try access.scan(tables.staging, from: id.key(parts.lowerBound).rawBytes) { key, _ in
      guard StagingID(key) == id, id.key(parts.upperBound).rawBytes.compare(key) >= 0 else { return false }
      keys.append(key.copied)
      return true
    }
    try update { () throws(StoreError) in
      for key in keys { try access.delete(tables.staging, key.rawBytes) }
    }
  }

  /// Hands the parts, in their order, to `body` until it returns `false`.
  ///
  /// - Throws: `corrupt` for a damaged part; what `body` throws.
  package func forEachStaged(of id: StagingID, _ body: (UInt32, [UInt8]) throws -> Bool) throws {
    try reading { pages in try pages.forEachStaged(of: id, body) }
  }

  /// Which parts were put aside, in their order.
  package func stagedParts(of id: StagingID) throws -> [UInt32] {
    let access = try pagesToWrite("stagedParts")
    var parts: [UInt32] = []
    try access.scan(tables.staging, from: id.key().rawBytes) { key, _ in
      guard StagingID(key) == id else { return false }
      var name = ByteReader(key.extracting(16..<key.byteCount))
      guard let part: UInt32 = try? name.readFixed() else { throw SmallRecord.damaged("staging") }
      parts.append(part)
      return true
    }
    return parts
  }

  /// What parts were put aside of.
  package func stagedIDs() throws -> Set<StagingID> { try reading { try $0.stagedIDs() } }

  /// Forgets what no part came of for a lived day.
  func collectStaged(_ access: PageAccess) throws {
    guard try access.entryCount(tables.staging) > 0 else { return }
    for id in try StagedPart.old(access, tables.staging, now: livedTime()) { try unstage(id) }
  }
}

extension ReadTransaction {
  /// Hands the parts that were put aside, in their order and from `first` on, to `body` until it returns `false`.
  ///
  /// - Throws: `corrupt` for a damaged part; what `body` throws.
  package borrowing func forEachStaged(
    of id: StagingID, from first: UInt32 = 0, _ body: (UInt32, [UInt8]) throws -> Bool
  ) throws {
    try pages.forEachStaged(of: id, from: first, body)
  }

  /// What parts were put aside of.
  package borrowing func stagedIDs() throws -> Set<StagingID> { try pages.stagedIDs() }
}

extension DocumentPages {
  fileprivate func stagedIDs() throws -> Set<StagingID> {
    var found: Set<StagingID> = []
    try access.scan(tables.staging, from: [UInt8]().rawBytes) { key, _ in
      if let id = StagingID(key) { found.insert(id) }
      return true
    }
    return found
  }

  fileprivate func forEachStaged(
    of id: StagingID, from first: UInt32 = 0, _ body: (UInt32, [UInt8]) throws -> Bool
  ) throws {
    try access.scan(tables.staging, from: id.key(first).rawBytes) { key, stored in
      guard StagingID(key) == id else { return false }
      let value = try SmallRecord.open(stored, at: key, table: "staging")
      var name = ByteReader(key.extracting(16..<key.byteCount))
      guard let part: UInt32 = try? name.readFixed(), value.count >= 8 else {
        throw SmallRecord.damaged("staging")
      }
      return try body(part, Array(value[8...]))
    }
  }
}

/// The value of a part: when it was put aside, then its bytes.
enum StagedPart {
  /// Parts of something of which none came for so long, in milliseconds of lived time, are forgotten.
  private static let lifetime: UInt64 = 86_400_000

  static func isAnyOld(_ access: PageAccess, _ table: MDB_dbi, now: UInt64) throws -> Bool {
    try access.entryCount(table) > 0 && !old(access, table, now: now).isEmpty
  }

  /// What no part came of for so long.
  static func old(_ access: PageAccess, _ table: MDB_dbi, now: UInt64) throws -> [StagingID] {
    var latest: [StagingID: UInt64] = [:]
    try access.scan(table, from: [UInt8]().rawBytes) { key, stored in
      guard let id = StagingID(key) else { return true }
      latest[id] = max(latest[id] ?? 0, time(stored) ?? 0)
      return true
    }
    return latest.filter { now - min(now, $0.value) > lifetime }.map(\.key)
  }

  /// The time alone, unchecked: a wrong one makes a part go early or late.
  static func time(_ stored: RawSpan) -> UInt64? {
    var reader = ByteReader(stored)
    return try? reader.readFixed()
  }
}
