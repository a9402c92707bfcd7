import DunlinKit
import Foundation
import Synchronization
import TestKit
import Testing

/// What keeps a database in good order.
@Suite(.timeLimit(.minutes(15))) struct MaintenanceTests {
  let peer: Peer
  var store: DunlinStore { peer.store }

  init() throws {
    peer = try Peer()
    let bikes = peer.store["bikes"]
    try peer.store.write { tx in
      for n in 0..<2_000 { try tx["bikes"].upsert(["_id": "b\(n)", "note": "a bike of number \(n)"]) }
    }
    try bikes.findByID("b0").remove()
  }

  private func code<R>(_ body: () throws -> R) -> DunlinError.Code? {
    do {
      _ = try body()
      return nil
    } catch {
      return (error as? DunlinError)?.code
    }
  }

  @Test func `statistics count documents, removals and bytes`() throws {
    let statistics = try store.statistics()
    #expect(statistics.documentCount == 1_999)
    #expect(statistics.collections.map(\.name) == ["bikes"])
    #expect(statistics.collections.map(\.documentCount) == [1_999])
    #expect(statistics.collections.map(\.tombstoneCount) == [1])
    #expect(statistics.sequence == 2)
    #expect(statistics.siteCount == 1)
    #expect(statistics.failure == nil)
    #expect(statistics.identityChange == nil)
    #expect(statistics.usedBytes > 100_000)
    #expect(statistics.usedBytes + statistics.freeBytes <= statistics.fileBytes)
    #expect(statistics.mapBytes == 64 << 30)
    try peer.dunlin.close()
    #expect(code { try store.statistics() } == .closed)
  }

  @Test func `a backup is a database with the same documents, and another peer`() async throws {
    let path = peer.directory.file("backup")
    let shares = Mutex<[Double]>([])
    try await store.backup(to: path) { progress in shares.withLock { $0.append(progress.share) } }
    #expect(shares.withLock { $0.last } == 1)
    let copy = try Dunlin(path: path, identity: .unsafeDevelopment(appID: "tests"))
    #expect(try copy.store["bikes"].findAll().exec().count == 1_999)
    #expect(try copy.store.statistics().identityChange == "backup")
    #expect(try copy.store.statistics().id != store.statistics().id)
    await #expect(throws: DunlinError.self) { try await store.backup(to: path) }
    do { try await store.backup(to: path) } catch let error as DunlinError { #expect(error.code == .exists) }
  }

  @Test func `compaction gives free pages back`() async throws {
    await store.write { tx in tx["bikes"].find("_id != 'b7'").evict() }
    let before = try store.statistics()
    #expect(before.freeBytes > before.usedBytes)
    try await store.compact()
    let after = try store.statistics()
    #expect(after.freeBytes < before.freeBytes / 10)
    #expect(after.fileBytes < before.fileBytes / 2)
    #expect(try store["bikes"].findAll().exec().map(\.id) == ["b7"])
  }

  @Test func `work that is cancelled ends, and leaves nothing behind`() async throws {
    let path = peer.directory.file("backup")
    let store = store
    for work in 0..<3 {
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        switch work {
        case 0: try await store.backup(to: path)
        case 1: try await store.compact()
        default: _ = try await store.verify()
        }
      }
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    #expect(try peer.directory.contents().filter { $0.hasPrefix("backup") } == [])
    #expect(try store["bikes"].findAll().exec().count == 1_999)
  }

  @Test func `verification names a damaged document, open or not, and its bytes can be had`() async throws {
    #expect(try await store.verify().isIntact)
    try peer.dunlin.close()
    let url = URL(fileURLWithPath: peer.directory.file("db") + "/data.mdb")
    var data = try Data(contentsOf: url)
    var start = data.startIndex
    while let place = data.range(of: Data("number 1234".utf8), in: start..<data.endIndex) {
      data[place.lowerBound] ^= 1
      start = place.upperBound
    }
    let handle = try FileHandle(forWritingTo: url)
    try handle.write(contentsOf: data)
    try handle.close()
    let report = try await Dunlin.verify(path: peer.directory.file("db"))
    #expect(report.damages.map(\.collection) == ["bikes"])
    #expect(report.damages.map(\.kind) == [.document])
    let target = peer.directory.file("rescued")
    let rescue = try await Dunlin.rescue(path: peer.directory.file("db"), to: target)
    #expect(rescue.damage.damages.map(\.kind) == [.document])
    let rescued = try Dunlin(path: target, identity: .unsafeDevelopment(appID: "tests"))
    #expect(try rescued.store["bikes"].findByID("b1234").exec() == nil)
    #expect(try rescued.store["bikes"].findByID("b1233").exec() != nil)
    let again = try Dunlin(path: peer.directory.file("db"), identity: .unsafeDevelopment(appID: "tests"))
    #expect(try await again.store.verify().damages == report.damages)
    #expect(code { try again.store["bikes"].findByID("b1234").exec() } == .corrupt)
    #expect(try again.store["bikes"].findByID("b1233").exec() != nil)
    let bytes = try #require(try again.store.rawBytes(of: "b1234", in: "bikes"))
    #expect(Data(bytes).range(of: Data("umber 1234".utf8)) != nil)
    #expect(try again.store.rawBytes(of: "none", in: "bikes") == nil)
    await #expect(throws: DunlinError.self) { try await Dunlin.verify(path: peer.directory.file("db")) }
  }
}
