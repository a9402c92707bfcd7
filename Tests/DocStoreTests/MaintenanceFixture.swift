import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit

extension StoreFixture {
  /// Writes documents of some size, a few hundred to a transaction.
  func fill(_ count: Int, from first: Int = 0, bytes: Int = 400) throws {
    let text = String(repeating: "x", count: bytes)
    for start in stride(from: first, to: first + count, by: 250) {
      try store.write { tx in
        for n in start..<min(start + 250, first + count) {
          try tx.upsert(["n": .int(Int64(n)), "text": .string(text)], id: DocumentID("\(n)"), into: "cars")
        }
      }
    }
  }

  func names() throws -> Set<String> { Set(try FileManager.default.contentsOfDirectory(atPath: path)) }
}

/// What a store holds, to compare with another one's.
struct Holdings: Equatable {
  var summaries: [String: Summary] = [:]
  var sequence: UInt64
  var commitID: UInt64
  var collections: [CollectionInfo]
  var groups: [UInt64: [DocumentKey]] = [:]
  var oversize: [OversizeDocument]

  init(_ store: Store) throws {
    self = try store.read { tx in try Holdings(tx) }
  }

  init(_ tx: borrowing ReadTransaction) throws {
    sequence = tx.sequence
    commitID = tx.commitID
    collections = try tx.collections()
    oversize = try tx.oversizeDocuments()
    var found: [String: Summary] = [:]
    for info in collections {
      guard let collection = try tx.collection(info.name) else { continue }
      try tx.forEachRecord(in: collection, verify: true) { id, summary, record in
        found["\(info.name)/\(try DocumentID(validating: id).value)/\(record.isAlive)"] = summary
        return true
      }
    }
    summaries = found
    var groups: [UInt64: [DocumentKey]] = [:]
    try tx.groups(after: 0) { sequence, members in
      groups[sequence] = members
      return true
    }
    self.groups = groups
  }
}

/// The interruption of a test's own.
struct Interruption: Error {}
