import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

/// Address space that cannot be had, and sizes that are none.
@Suite struct MapSizeTests {
  @Test(arguments: [0, -1, Int.min])
  func `a size that is none is refused, and makes nothing`(size: Int) throws {
    let directory = try TemporaryDirectory()
    let options = StoreOptions(mapBytes: size, log: { _, _ in })
    #expect(code { try Store.open(at: directory.file("db"), options: options) } == .argument)
    #expect(try directory.contents().isEmpty)
    let fixture = try StoreFixture()
    #expect(code { try fixture.store.resize(mapBytes: size) } == .argument)
    try fixture.store.put("a", [:])
  }

  @Test func `a size beyond all address space becomes what there is`() throws {
    let fixture = try StoreFixture { $0.mapBytes = .max }
    try fixture.store.put("a", [:])
    #expect(try fixture.store.statistics().mapBytes >= 1 << 30)
    #expect(fixture.log.texts.contains { $0.contains("the store begins with") })
    try fixture.store.compact()
    #expect(try fixture.store.count(in: "cars") == 1)
    // More than the process can have is refused, and all is as before.
    #expect(code { try fixture.store.resize(mapBytes: .max) } == .noMemory)
    try fixture.store.put("b", [:])
    #expect(try fixture.store.count(in: "cars") == 2)
  }

  @Test func `a store that got less than it asked for says so, and grows while it is filled`() throws {
    let most = Mutex(3 << 20)
    let fixture = try StoreFixture {
      $0.mapBytes = 64 << 20
      $0.leastMapBytes = 1 << 20
      $0.reservesAddressSpace = { bytes in most.withLock { bytes <= $0 } }
    }
    let store = fixture.store
    #expect(try store.statistics().mapBytes == 2 << 20)
    #expect(
      fixture.log.texts == [
        "The process cannot have 64 MiB of address space: the store begins with 2 MiB and grows as it can"
      ])
    most.withLock { $0 = 0 }
    for start in stride(from: 0, to: 400, by: 20) { try fixture.fill(20, from: start, bytes: 2_000) }
    #expect(try store.statistics().mapBytes == 2 << 20)
    most.withLock { $0 = 1 << 30 }
    for start in stride(from: 400, to: 4_000, by: 20) { try fixture.fill(20, from: start, bytes: 2_000) }
    #expect(try store.count(in: "cars") == 4_000)
    #expect(try store.statistics().mapBytes >= 16 << 20)
    #expect(try store.statistics().mapBytes <= 64 << 20)
    #expect(fixture.log.all.contains { $0.0 == .info && $0.1.contains("may grow to") })
  }

  @Test func `a store that asked for little needs no more`() throws {
    let fixture = try StoreFixture {
      $0.mapBytes = 8 << 20
      $0.reservesAddressSpace = { $0 < 1 << 30 }
    }
    #expect(try fixture.store.statistics().mapBytes == 8 << 20)
    #expect(fixture.log.texts.isEmpty)
  }

  #if os(Linux)
    @Test func `under the system's own limit a store opens with what there is`() async throws {
      await #expect(processExitsWith: .success) {
        var limit = rlimit(rlim_cur: 40 << 30, rlim_max: 40 << 30)
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0)
        let directory = try TemporaryDirectory()
        let store = try Store.open(at: directory.file("db"), options: StoreOptions(log: { _, _ in }))
        try store.write { try $0.upsert(["n": .int(1)], id: DocumentID("a"), into: "cars") }
        #expect(try store.statistics().mapBytes == 32 << 30)
        store.close()
      }
    }
  #endif
}
