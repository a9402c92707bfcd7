import CRDTCore
package import DocStore

extension SideTable {
  /// Chunks of incomplete transactions, by the transaction's name and the chunk's number.
  package static let staging = SideTable(working: "staging")
}

/// The name of a staged transaction; nothing of it is visible before all of it has arrived.
package struct StagingID: Hashable, Comparable, Sendable {
  package let high: UInt64
  package let low: UInt64

  package init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  package static func < (a: StagingID, b: StagingID) -> Bool { (a.high, a.low) < (b.high, b.low) }

  fileprivate func key(_ number: UInt32) -> [UInt8] {
    var key = ByteWriter(capacity: 20)
    key.writeFixed(high)
    key.writeFixed(low)
    key.writeFixed(number)
    return key.bytes
  }

  /// Reads a key; `nil` if it is malformed.
  fileprivate static func parse(_ key: [UInt8]) -> (id: StagingID, number: UInt32)? {
    var reader = ByteReader(key.span.bytes)
    guard let high: UInt64 = try? reader.readFixed(), let low: UInt64 = try? reader.readFixed(),
      let number: UInt32 = try? reader.readFixed(), reader.remaining == 0
    else { return nil }
    return (StagingID(high: high, low: low), number)
  }
}

extension WriteTransaction {
  /// The maximum size of a chunk in bytes.
  package static let stagedChunkBytes = 64 << 10
  /// The lived time in milliseconds after which chunks expire if no further one arrives.
  fileprivate static let stagedLifetime: UInt64 = 86_400_000

  /// Stages a chunk, invisible to readers and without making the transaction a commit.
  ///
  /// - Returns: `false`, with nothing stored, if there is no room for more chunks.
  package func stage(_ bytes: [UInt8], as number: UInt32, of id: StagingID) throws -> Bool {
    precondition(bytes.count <= Self.stagedChunkBytes, "a part is too long")
    guard try hasRoom(for: bytes.count, in: .staging) else { return false }
    try setSideValue(TimedValue.encode(bytes, in: self), .staging, key: id.key(number))
    return true
  }

  /// Removes staged chunks; by default all of a transaction.
  package func unstage(_ id: StagingID, chunks: ClosedRange<UInt32> = 0...UInt32.max) throws {
    try removeSideEntries(.staging, from: id.key(chunks.lowerBound), through: id.key(chunks.upperBound))
  }

  /// Returns the numbers of the staged chunks in ascending order.
  package func stagedChunks(of id: StagingID) throws -> [UInt32] {
    var chunks: [UInt32] = []
    try forEachSideKey(.staging, from: id.key(0)) { key, _ in
      guard let (found, number) = StagingID.parse(key), found == id else { return false }
      chunks.append(number)
      return true
    }
    return chunks
  }
}

extension SideReading where Self: ~Copyable {
  /// Returns the names of all staged transactions.
  package borrowing func stagedIDs() throws -> Set<StagingID> {
    var found: Set<StagingID> = []
    try forEachSideKey(.staging) { key, _ in
      if let (id, _) = StagingID.parse(key) { found.insert(id) }
      return true
    }
    return found
  }

  /// Calls `body` with each staged chunk from `first` on, in ascending order, until it returns `false`.
  ///
  /// `body` cannot write.
  ///
  /// - Throws: `corrupt` for a damaged chunk; what `body` throws.
  package borrowing func forEachStaged(
    of id: StagingID, from first: UInt32 = 0, _ body: (UInt32, [UInt8]) throws -> Bool
  ) throws {
    try forEachSideEntry(.staging, from: id.key(first)) { key, stored in
      guard let (found, number) = StagingID.parse(key), found == id, let value = TimedValue(stored) else {
        return false
      }
      return try body(number, value.bytes)
    }
  }

  /// Returns the staged transactions that have received no chunk for a day of lived time.
  borrowing func oldStagedIDs(_ now: UInt64) throws -> [StagingID] {
    var latest: [StagingID: UInt64] = [:]
    try forEachSideHead(.staging, from: [], bytes: TimedValue.timeBytes) { key, head in
      guard let (id, _) = StagingID.parse(key) else { return true }
      // A wrong time only makes a chunk expire early or late.
      latest[id] = max(latest[id] ?? 0, TimedValue.time(head) ?? 0)
      return true
    }
    return latest.filter { now - min(now, $0.value) > WriteTransaction.stagedLifetime }.map(\.key)
  }
}
