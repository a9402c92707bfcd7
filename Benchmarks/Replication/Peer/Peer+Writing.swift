import BenchmarkSupport
import CRDTCore
import DocStore
import Foundation

extension Peer {
  /// Imports a JSON Lines file; a batch is read while the one before it is written.
  ///
  /// - Returns: Documents written.
  func load(_ path: String, into collection: String, batch size: Int) async throws -> Int {
    guard let file = FileHandle(forReadingAtPath: path) else { throw BenchmarkError("cannot read \(path)") }
    defer { try? file.close() }
    var lines = JSONLines()
    var batch: [[UInt8]] = []
    var full: [[[UInt8]]] = []
    var written = 0
    var pending: Task<Int, any Error>?
    func take(_ line: RawSpan) {
      batch.append(line.withUnsafeBytes { Array($0) })
      guard batch.count == size else { return }
      full.append(batch)
      batch = []
      batch.reserveCapacity(size)
    }
    func flush() async throws {
      for documents in full {
        if let pending { written += try await pending.value }
        pending = Task {
          try await store.write { transaction in
            for text in documents { try transaction.upsert(json: text.span.bytes, into: collection) }
            return documents.count
          }.0
        }
      }
      full = []
    }
    while let piece = try file.read(upToCount: 256 << 10), !piece.isEmpty {
      try lines.append(Array(piece).span.bytes) { take($1) }
      try await flush()
    }
    try lines.finish { take($1) }
    if !batch.isEmpty { full.append(batch) }
    try await flush()
    if let pending { written += try await pending.value }
    return written
  }

  /// Writes one small document.
  func mark(_ collection: String) async throws {
    try await store.write {
      try $0.upsert(["is": .string("a mark")], id: DocumentID("mark"), into: collection)
    }
  }

  /// Sets one field of `count` documents to a value that none of them has.
  ///
  /// - Returns: When the first transaction began.
  func updateField(
    _ field: String, of collection: String, count: Int, perTransaction: Int
  ) async throws -> Double {
    var ids: [DocumentID] = []
    try store.read { transaction in
      guard let found = try transaction.collection(collection) else { return }
      try transaction.forEachRecord(in: found) { id, _, record in
        if record.isAlive { ids.append(try DocumentID(validating: id)) }
        return true
      }
    }
    ids = try spread(count, of: ids)
    let base = Int64.random(in: 1_000_000...2_000_000)
    let start = Measures.nanoseconds
    for first in stride(from: 0, to: count, by: perTransaction) {
      let part = Array(ids[first..<min(first + perTransaction, count)])
      try await store.write { transaction in
        for (offset, id) in part.enumerated() {
          let value = Value.int(base + Int64(first + offset))
          try transaction.update(id, in: collection, [.set([TextKey(field)], value)])
        }
      }
    }
    return start
  }

  /// Writes a document of exactly so many canonical bytes, and a small one after it.
  ///
  /// - Returns: When the write began, and `isOversize` as the receipt says it.
  func writeLarge(_ id: String, canonicalBytes: Int) async throws -> Reply {
    var prose = Prose(random: SplitMix64(seed: UInt64(canonicalBytes)))
    let text = prose.text(canonicalBytes)
    // Two trials in a collection that nobody subscribes to tell what stands beside the text.
    var length = canonicalBytes - 200
    for _ in 0..<2 { length += canonicalBytes - (try await measure(document(text, length), id)) }
    let fields = document(text, length)
    var reply = Reply()
    reply.times = [Measures.nanoseconds]
    let (_, receipt) = try await store.write {
      try $0.upsert(fields, id: DocumentID(id), into: "large")
    }
    reply.figures["oversize"] = Double(receipt.oversize.count)
    try await store.write {
      try $0.upsert(["is": .string("a mark")], id: DocumentID("\(id)-marker"), into: "large")
    }
    return reply
  }

  private func document(_ text: [UInt8], _ length: Int) -> [TextKey: Value] {
    let body = String(decoding: text.prefix(length), as: UTF8.self)
    return ["type": .string("report"), "status": .string("open"), "amount": .int(7), "body": .string(body)]
  }

  private func measure(_ fields: [TextKey: Value], _ id: String) async throws -> Int {
    let limit = store.hardDocumentBytes
    store.hardDocumentBytes = 1
    defer { store.hardDocumentBytes = limit }
    let (_, receipt) = try await store.write {
      try $0.upsert(
        fields, id: DocumentID("trial-\(UInt64.random(in: 0...UInt64.max))-\(id)"), into: "trials")
    }
    guard let bytes = receipt.oversize.first?.byteCount else { throw BenchmarkError("no size was told") }
    return bytes
  }
}
