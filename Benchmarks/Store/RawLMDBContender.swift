import BenchmarkSupport
import Foundation
import RawLMDB
import RawStore

/// LMDB from C: the limit that no store on it can pass.
final class RawLMDBContender: Contender {
  private let store: OpaquePointer
  private let directory: String
  private var names: [UnsafeMutablePointer<CChar>] = []
  private static let mapBytes = 64 << 30

  /// Bytes that C can point to, kept until the batch is let go of.
  final class Batch {
    fileprivate let ids: RawItems
    fileprivate let texts: RawItems

    init(_ documents: [CorpusDocument]) {
      ids = RawItems(documents.map { Array($0.id.utf8) })
      texts = RawItems(documents.map(\.text))
    }
  }

  typealias Key = [UInt8]

  init(directory: String, indexes: [IndexPlan]) throws {
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    var plans: [raw_index] = []
    for index in indexes {
      let fields = index.fields.prefix(2).compactMap { strdup($0) }
      names += fields
      plans.append(raw_index(first: fields[0], second: fields.count > 1 ? fields[1] : nil))
    }
    var opened: OpaquePointer?
    try Self.check(raw_open(directory, Self.mapBytes, plans, Int32(plans.count), &opened))
    guard let opened else { throw BenchmarkError("LMDB did not open") }
    store = opened
    self.directory = directory
  }

  deinit { for name in names { free(name) } }

  func prepare(_ documents: [CorpusDocument]) -> Batch { Batch(documents) }

  func key(_ id: String) -> Key { Array(id.utf8) }

  func insert(_ batch: Batch) throws {
    try Self.check(raw_insert(store, batch.ids.items, batch.texts.items, batch.ids.items.count))
  }

  func commitEach(_ documents: [CorpusDocument], tasks: Int) async throws {
    let batches = documents.map { Batch([$0]) }
    guard tasks > 1 else { return try batches.forEach(insert) }
    let failures = Failures()
    let done = DispatchGroup()
    for task in 0..<tasks {
      done.enter()
      // LMDB's writers wait on a mutex, so each has a thread of its own.
      nonisolated(unsafe) let (batches, contender) = (batches, self)
      Thread {
        for index in stride(from: task, to: batches.count, by: tasks) {
          failures.note { try contender.insert(batches[index]) }
        }
        done.leave()
      }.start()
    }
    await withCheckedContinuation { continuation in
      done.notify(queue: .global()) { continuation.resume() }
    }
    try failures.check()
  }

  func read(_ keys: [Key], oneSnapshot: Bool) throws -> Int {
    let ids = RawItems(keys)
    var bytes: UInt64 = 0
    try Self.check(raw_read(store, ids.items, ids.items.count, oneSnapshot ? 1 : 0, &bytes))
    return Int(bytes)
  }

  func update(_ keys: [Key], field: String, to values: [Int64]) throws {
    let ids = RawItems(keys)
    try Self.check(raw_update(store, ids.items, values, ids.items.count, field))
  }

  func count() throws -> Int { Int(raw_count(store)) }

  func compact() throws { try Self.check(raw_compact(store, directory)) }

  func close() { raw_close(store) }

  private static func check(_ code: Int32) throws {
    guard code == 0 else { throw BenchmarkError("LMDB reports \(code)") }
  }
}
