import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

@Suite struct IndexBuildTests {
  private struct Stop: Error {}

  /// A store with so many documents that an index of them takes several slices.
  private static func filled(_ count: Int = 2_300) throws -> StoreFixture {
    let fixture = try StoreFixture { $0.writerSlice = .zero }
    try fixture.store.write { tx in
      for number in 0..<count {
        try tx.upsert(["n": .int(Int64(number % 17))], id: DocumentID(.int(Int64(number))), into: "cars")
      }
    }
    return fixture
  }

  @Test func `is built in slices between which others write, and reports how far it is`() throws {
    let fixture = try Self.filled()
    let store = fixture.store
    var reports: [IndexProgress] = []
    try store.createIndex(.cars("byN", "n")) { progress in
      reports.append(progress)
      #expect(code { try store.ids(in: "byN") } == .indexNotReady)
      #expect(try store.indexes().map(\.state) == [.building])
      // One document that has its row already, one that has none yet, and one at each end.
      for id: Int64 in [3, 2_290, -1_000 - Int64(reports.count), 100_000 + Int64(reports.count)] {
        try store.write { tx in
          try tx.upsert(["n": .int(Int64(reports.count) - 50)], id: DocumentID(.int(id)), into: "cars")
        }
      }
      try store.write { tx in
        try tx.remove(DocumentID(.int(5)), in: "cars")
        try tx.evict(DocumentID(.int(2_280)), in: "cars")
      }
      #expect(try store.indexFindings() == [])
    }
    #expect(reports.count >= 4)
    #expect(reports.map(\.indexed) == reports.map(\.indexed).sorted())
    #expect(reports.allSatisfy { $0.indexed <= $0.total })
    #expect(try store.ids(in: "byN").count == store.count(in: "cars"))
    #expect(try store.indexFindings() == [])
  }

  @Test func `a build that is given up leaves nothing behind`() async throws {
    let fixture = try Self.filled()
    let store = fixture.store
    #expect(throws: Stop.self) { try store.createIndex(.cars("byN", "n")) { _ in throw Stop() } }
    #expect(try store.indexes() == [])
    let task = Task {
      try await store.createIndex(.cars("byN", "n")) { _ in withUnsafeCurrentTask { $0?.cancel() } }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try store.indexes() == [])
    #expect(try await store.createIndex(.cars("byN", "n")) > 2)
    #expect(try store.ids(in: "byN").count == 2_300)
    #expect(try store.indexFindings() == [])
  }

  @Test func `a build that the end of the process cut short goes on at the next open`() async throws {
    let fixture = try Self.filled()
    var slices = 0
    #expect(
      code {
        try fixture.store.createIndex(.cars("byN", "n")) { _ in
          slices += 1
          if slices == 2 { fixture.store.close() }
        }
      } == .closed)
    try fixture.reopen()
    let store = fixture.store
    try store.put("late", ["n": .int(-1)])
    try await waitUntil { try store.indexes().first?.state == .ready }
    #expect(try store.ids(in: "byN").count == 2_301)
    #expect(try store.ids(in: "byN").first == .string("late"))
    #expect(try store.indexFindings() == [])
  }

  @Test func `a drop that the end of the process cut short goes on at the next open`() async throws {
    let fixture = try Self.filled()
    try await fixture.store.createIndex(.cars("byN", "n"))
    let dropping = fixture.store
    async let dropped = code(ofAsync: { try await dropping.dropIndex("byN", on: "cars") })
    try await waitUntil { try dropping.indexes().isEmpty }
    let left = try dropping.read { try $0.indexEntryCount() }
    dropping.close()
    #expect([nil, .closed].contains(await dropped))
    #expect(left > 0)
    try fixture.reopen()
    let store = fixture.store
    #expect(try store.indexes() == [])
    try await waitUntil { try store.read { try $0.indexEntryCount() } == 0 }
    #expect(try await store.createIndex(.cars("byN", "n")) == 2)
    #expect(try store.indexFindings() == [])
  }
}
