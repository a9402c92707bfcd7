import BenchmarkSupport
import Foundation
import RawLMDB
import RawStore

/// Loops over LMDB from C, where a question can be put as one: search the texts, and copy out what is found.
final class RawLMDBQueries: QueryContender {
  private let directory: String
  private var stores: [String: OpaquePointer] = [:]
  private static let batch = 1_000
  private static let mapBytes = 64 << 30

  init(directory: String, prepares: Bool) throws { self.directory = directory }

  /// One environment a collection.
  private func store(_ collection: String) throws -> OpaquePointer {
    if let store = stores[collection] { return store }
    let path = directory + "/" + collection
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    var opened: OpaquePointer?
    try Self.check(raw_open(path, Self.mapBytes, nil, 0, &opened))
    guard let opened else { throw BenchmarkError("LMDB did not open") }
    stores[collection] = opened
    return opened
  }

  func fill(_ collection: FilledCollection) throws {
    let store = try store(collection.name)
    var reader = try CorpusReader(path: collection.corpus)
    while true {
      let documents = try reader.next(Self.batch)
      if documents.isEmpty { break }
      let ids = RawItems(documents.map { Array($0.id.utf8) })
      let texts = RawItems(documents.map(\.text))
      try Self.check(raw_insert(store, ids.items, texts.items, ids.items.count))
    }
  }

  func finish() {}

  func run(_ query: BenchmarkQuery, id: String) throws -> Int? {
    guard let filter = query.raw else { return nil }
    let store = try store(query.collection)
    var found: UInt64 = 0
    var bytes: UInt64 = 0
    switch filter {
    case .below(let field, let bound):
      try Self.check(raw_find_below(store, field, bound, &found, &bytes))
    case .prefix(let field, let text):
      try Self.check(raw_find_prefix(store, field, text, &found, &bytes))
    case .id:
      let ids = RawItems([Array(id.utf8)])
      try Self.check(raw_read(store, ids.items, 1, 1, &bytes))
      found = 1
    }
    return Int(found)
  }

  /// It counts only: the number of rows is compared where it is run.
  func answer(_ query: BenchmarkQuery, id: String) -> [String]? { nil }

  func close() {
    for store in stores.values { raw_close(store) }
    stores = [:]
  }

  private static func check(_ code: Int32) throws {
    guard code == 0 else { throw BenchmarkError("LMDB reports \(code)") }
  }
}
