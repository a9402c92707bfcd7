import CRDTCore
package import DocStore

extension SideTable {
  /// Parts of what has not come to its end, by what they are parts of.
  package static let staging = SideTable(working: "staging")
}

/// Names what a peer sends in several parts, none of which may be seen before the last is here.
package struct StagingID: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func < (a: StagingID, b: StagingID) -> Bool { (a.high, a.low) < (b.high, b.low) }

  fileprivate func key(_ part: UInt32) -> [UInt8] {
    var key = ByteWriter(capacity: 20)
    key.writeFixed(high)
    key.writeFixed(low)
    key.writeFixed(part)
    return key.bytes
  }

  /// Reads a key; `nil` for one that is none.
  fileprivate static func parse(_ key: [UInt8]) -> (id: StagingID, part: UInt32)? {
    var reader = ByteReader(key.span.bytes)
    guard let high: UInt64 = try? reader.readFixed(), let low: UInt64 = try? reader.readFixed(),
      let part: UInt32 = try? reader.readFixed(), reader.remaining == 0
    else { return nil }
    return (StagingID(high: high, low: low), part)
  }
}

extension WriteTransaction {
  /// Bytes of one part.
  package static let stagedPartBytes = 64 << 10
  /// Parts of something of which none came for so long, in milliseconds of lived time, are forgotten.
  fileprivate static let stagedLifetime: UInt64 = 86_400_000

  /// Puts a part aside; the transaction is no commit for that, and nobody sees it.
  ///
  /// - Returns: `false`, with nothing kept, when there is no room for more parts.
  package func stage(_ bytes: [UInt8], as part: UInt32, of id: StagingID) throws -> Bool {
    precondition(bytes.count <= Self.stagedPartBytes, "a part is too long")
    guard try hasRoom(for: bytes.count, in: .staging) else { return false }
    try setSideValue(TimedValue.encode(bytes, in: self), .staging, key: id.key(part))
    return true
  }

  /// Forgets parts, all of them by default.
  package func unstage(_ id: StagingID, parts: ClosedRange<UInt32> = 0...UInt32.max) throws {
    try removeSideEntries(.staging, from: id.key(parts.lowerBound), through: id.key(parts.upperBound))
  }

  /// Which parts were put aside, in their order.
  package func stagedParts(of id: StagingID) throws -> [UInt32] {
    var parts: [UInt32] = []
    try forEachSideKey(.staging, from: id.key(0)) { key, _ in
      guard let (found, part) = StagingID.parse(key), found == id else { return false }
      parts.append(part)
      return true
    }
    return parts
  }
}

extension SideReading where Self: ~Copyable {
  /// What parts were put aside of.
  package borrowing func stagedIDs() throws -> Set<StagingID> {
    var found: Set<StagingID> = []
    try forEachSideKey(.staging) { key, _ in
      if let (id, _) = StagingID.parse(key) { found.insert(id) }
      return true
    }
    return found
  }

  /// Hands the parts that were put aside, in their order and from `first` on, to `body`, which cannot write, until it returns
  /// `false`.
  ///
  /// - Throws: `corrupt` for a damaged part; what `body` throws.
  package borrowing func forEachStaged(
    of id: StagingID, from first: UInt32 = 0, _ body: (UInt32, [UInt8]) throws -> Bool
  ) throws {
    try forEachSideEntry(.staging, from: id.key(first)) { key, stored in
      guard let (found, part) = StagingID.parse(key), found == id, let value = TimedValue(stored) else {
        return false
      }
      return try body(part, value.bytes)
    }
  }

  /// What no part came of for a lived day, by the store's time now.
  borrowing func oldStagedIDs(_ now: UInt64) throws -> [StagingID] {
    var latest: [StagingID: UInt64] = [:]
    try forEachSideHead(.staging, from: [], bytes: TimedValue.timeBytes) { key, head in
      guard let (id, _) = StagingID.parse(key) else { return true }
      // A wrong time makes a part go early or late.
      latest[id] = max(latest[id] ?? 0, TimedValue.time(head) ?? 0)
      return true
    }
    return latest.filter { now - min(now, $0.value) > WriteTransaction.stagedLifetime }.map(\.key)
  }
}
