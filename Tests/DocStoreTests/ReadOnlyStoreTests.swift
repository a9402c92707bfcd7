import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Stores that are only read, as one that ships with an application.
@Suite struct ReadOnlyStoreTests {
  private let fixture: StoreFixture
  /// A backup, which has never been opened.
  private let path: String
  /// The lines of the stores that are only read.
  private let log = LogLines()

  init() throws {
    fixture = try StoreFixture()
    try fixture.fill(300)
    try fixture.store.createIndex(.cars("byN", "n"))
    path = fixture.directory.file("shipped")
    try fixture.store.backup(to: path)
  }

  private func open(_ path: String? = nil) throws -> Store {
    var options = StoreOptions(log: { [log] in log.append($0, $1) })
    options.isReadOnly = true
    return try Store.open(at: path ?? self.path, options: options)
  }

  /// The names, sizes and dates of change of the store's files.
  private func files() throws -> [String] {
    let files = FileManager.default
    return try files.contentsOfDirectory(atPath: path).sorted().map { name in
      let facts = try files.attributesOfItem(atPath: path + "/" + name)
      return "\(name) \(facts[.size] ?? 0) \(facts[.modificationDate] ?? 0)"
    }
  }

  @Test func `reading a store changes nothing in its directory`() throws {
    let before = try files()
    for _ in 0..<2 {
      let store = try open()
      try expectEqual(store.count(in: "cars"), 300)
      try expectEqual(store.fields("7", in: "cars")?["n"], .int(7))
      try expectEqual(store.statistics().documentCount, 300)
      try expect(store.verify().isIntact)
      try expect(store.scrub())
      let copy = fixture.directory.file("copy")
      try store.backup(to: copy)
      store.close()
      try expectEqual(open(copy).count(in: "cars"), 300)
      try FileManager.default.removeItem(atPath: copy)
    }
    #expect(try files() == before)
    #expect(log.texts.isEmpty, "\(log.texts)")
    // It is a store like any other for those that write.
    let store = try Store.open(at: path, options: StoreOptions(log: { _, _ in }))
    try store.put("new", [:])
    store.close()
    #expect(try open().count(in: "cars") == 301)
  }

  @Test func `what would write is refused, and reading goes on`() async throws {
    let before = try files()
    let store = try open()
    let calls: [() throws -> Void] = [
      { try store.put("new", [:]) },
      { try store.createIndex(.cars("byText", "text")) },
      { try store.compact() },
      { try store.resize(mapBytes: 1 << 30) },
      { try store.renewSite(.clock) },
      { try store.trustClock() },
    ]
    for call in calls { expectEqual(code(of: call), .readOnlyStore) }
    let error = try #require(throws: StoreError.self) { try store.put("new", [:]) }
    #expect(error.message.contains("reading only"))
    let awaited = await code { _ = try await store.write { try $0.remove(DocumentID("1"), in: "cars") } }
    #expect(awaited == .readOnlyStore)
    let slow = await code { _ = try await store.transaction { _ in } }
    #expect(slow == .readOnlyStore)
    let queued: StoreError.Code? = await withCheckedContinuation { continuation in
      store.enqueue { _ in
      } completion: { result in
        guard case .failure(let error) = result else { return continuation.resume(returning: nil) }
        continuation.resume(returning: (error as? StoreError)?.code)
      }
    }
    #expect(queued == .readOnlyStore)
    #expect(try store.count(in: "cars") == 300)
    store.close()
    #expect(try files() == before)
  }

  @Test func `several read it at the same time, and nobody writes meanwhile`() throws {
    let (first, second) = (try open(), try open())
    #expect(try first.count(in: "cars") == second.count(in: "cars"))
    #expect(code { try Store.open(at: path) } == .alreadyOpen)
    first.close()
    #expect(code { try Store.open(at: path) } == .alreadyOpen)
    second.close()
    let writer = try Store.open(at: path, options: StoreOptions(log: { _, _ in }))
    #expect(code { try open() } == .alreadyOpen)
    writer.close()
    #expect(try open().count(in: "cars") == 300)
  }

  @Test func `nothing is made where there is no store`() throws {
    let place = fixture.directory.file("nothing")
    #expect(code { try open(place) } == .notFound)
    #expect(!FileManager.default.fileExists(atPath: place))
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    #expect(code { try open(place) } == .notFound)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    try Data().write(to: URL(fileURLWithPath: place + "/data.mdb"))
    #expect(code { try open(place) } == .corrupt)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place) == ["data.mdb"])
  }

  @Test func `a store without a lock file can be read`() throws {
    try FileManager.default.removeItem(atPath: path + "/lock")
    let (first, second) = (try open(), try open())
    #expect(try first.count(in: "cars") == 300)
    #expect(try second.count(in: "cars") == 300)
    #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["data.mdb"])
  }

  @Test func `a file that lost its end is damaged and ends nothing`() throws {
    let url = URL(fileURLWithPath: path + "/data.mdb")
    let whole = try Data(contentsOf: url)
    for pages in [2, 5, 20, 30] where whole.count > pages * 4_096 {
      try whole.prefix(whole.count - pages * 4_096).write(to: url)
      do {
        let store = try open()
        defer { store.close() }
        let report = try store.verify()
        expect(!report.isIntact && report.unreadPages > 0)
        // Every page that is there can be read; the others are errors and no signal.
        try? store.read { tx in
          guard let cars = try tx.collection("cars") else { return }
          for n in 0..<300 { _ = try? tx.withRecord(cars, DocumentID("\(n)")) { _, _ in } }
        }
      } catch {
        expectEqual((error as? StoreError)?.code, .corrupt, "\(error)")
      }
      try expectEqual(Data(contentsOf: url).count, whole.count - pages * 4_096)
    }
  }

  @Test func `a disk that is mounted read-only under an open store is named, also by later writes`() throws {
    let fault = Mutex<Int32>(0)
    let fixture = try StoreFixture { $0.commitFault = { fault.withLock { $0 } } }
    try fixture.store.put("a", [:])
    fault.withLock { $0 = EROFS }
    let first = try #require(throws: StoreError.self) { try fixture.store.put("b", [:]) }
    #expect(first.code == .readOnlyStore && first.message.contains("mounted read-only"), "\(first)")
    fault.withLock { $0 = 0 }
    let later = try #require(throws: StoreError.self) { try fixture.store.put("b", [:]) }
    #expect(later.code == .poisoned && later.message.contains("mounted read-only"), "\(later)")
    #expect(try fixture.store.count(in: "cars") == 1)
  }
}
