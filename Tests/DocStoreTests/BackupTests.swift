import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct BackupTests {
  private let fixture: StoreFixture
  private var target: String { fixture.directory.file("backup") }

  init() throws {
    fixture = try StoreFixture()
    try fixture.fill(600)
    try fixture.store.write { _ = try $0.remove(DocumentID("7"), in: "cars") }
    try fixture.store.put("b", ["x": .map(["y": .int(1)])], into: "boats")
  }

  private func entries(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  @Test func `a backup opens as a store with the same contents, and is a site of its own`() throws {
    let store = fixture.store
    try store.backup(to: target)
    let copy = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    #expect(try Holdings(copy) == Holdings(store))
    #expect(copy.site != store.site)
    #expect(copy.epoch != store.epoch)
    #expect(copy.identityChange == IdentityChange(reason: .backup, previousSite: store.site))
    try copy.put("new", [:])
    try store.put("other", [:])
    #expect(try copy.fields("other", in: "cars") == nil)
    #expect(!fixture.log.all.contains { $0.0 >= .warning })
  }

  @Test func `a backup put in the place of the store's data is a new site`() throws {
    try fixture.store.backup(to: target)
    let site = fixture.store.site
    let data = try Data(contentsOf: URL(fileURLWithPath: target + "/data.mdb"))
    try fixture.reopen { try data.write(to: URL(fileURLWithPath: fixture.dataPath)) }
    #expect(fixture.store.site != site)
    #expect(try fixture.store.count(in: "cars") == 599)
  }

  @Test func `what is written meanwhile is in the backup whole or not at all, and is not held up`() throws {
    let store = fixture.store
    let writes = Mutex(0)
    try store.backup(to: target) { progress in
      // Each of these is a transaction over two collections, committed while the backup is under way.
      guard writes.withLock({ $0 }) < 20 else { return }
      let n = writes.withLock {
        $0 += 1; return $0
      }
      try store.write { tx in
        try tx.upsert(["n": .int(Int64(n))], id: DocumentID("w\(n)"), into: "cars")
        try tx.upsert(["n": .int(Int64(n))], id: DocumentID("w\(n)"), into: "boats")
      }
    }
    #expect(writes.withLock { $0 } > 1)
    let copy = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    // The snapshot is older than the first of those writes.
    #expect(try copy.fields("w1", in: "cars") == nil)
    #expect(try copy.fields("w1", in: "boats") == nil)
    #expect(try copy.count(in: "cars") == 599)
  }

  @Test func `tells how far it has come, up to the end`() throws {
    var shares: [Double] = []
    try fixture.store.backup(to: target) { shares.append($0.share) }
    #expect(shares == shares.sorted())
    #expect(shares.count > 2)
    #expect(shares.last == 1)
  }

  @Test func `stopped half way, it leaves nothing behind and can be made again`() throws {
    #expect(throws: Interruption.self) {
      try fixture.store.backup(to: target) { if $0.share > 0.3 { throw Interruption() } }
    }
    #expect(try entries(fixture.directory.path) == ["db"])
    try fixture.store.backup(to: target)
    #expect(try entries(fixture.directory.path) == ["backup", "db"])
    #expect(try entries(target) == ["data.mdb", "lock"])
  }

  @Test func `never writes over anything`() throws {
    try fixture.store.backup(to: target)
    #expect(code { try fixture.store.backup(to: target) } == .exists)
    #expect(code { try fixture.store.backup(to: fixture.path) } == .exists)
    let file = fixture.directory.file("file")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
    #expect(code { try fixture.store.backup(to: file) } == .exists)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
    let empty = fixture.directory.file("empty")
    try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: false)
    try fixture.store.backup(to: empty)
    #expect(try entries(empty).contains("data.mdb"))
  }

  @Test func `does not write over what came to the path while it was made`() throws {
    #expect(
      code {
        try fixture.store.backup(to: target) { progress in
          guard progress.share == 1 else { return }
          try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
          try Data("mine".utf8).write(to: URL(fileURLWithPath: target + "/data.mdb"))
        }
      } == .exists)
    #expect(try entries(fixture.directory.path) == ["backup", "db"])
    #expect(try Data(contentsOf: URL(fileURLWithPath: target + "/data.mdb")) == Data("mine".utf8))
  }

  @Test func `two backups to one path are refused, the second at once`() throws {
    try fixture.store.backup(to: target) { progress in
      guard progress.share < 1 else { return }
      #expect(code { try fixture.store.backup(to: target) } == .alreadyOpen)
    }
    #expect(try entries(target) == ["data.mdb", "lock"])
  }

  @Test(arguments: [("", StoreError.Code.notFound), ("a\0b", .notFound), ("/nowhere/at/all", .notFound)])
  func `refuses a path that cannot be made`(path: String, expected: StoreError.Code) {
    #expect(code { try fixture.store.backup(to: path) } == expected)
  }

  @Test func `a closed store cannot be backed up`() throws {
    fixture.store.close()
    #expect(code { try fixture.store.backup(to: target) } == .closed)
  }

  @Test(arguments: [StoreStep.backupCopied, .backupSynced, .backupRenamed])
  func `killed at any step, there is a whole backup or none, and the next one is made`(step: StoreStep)
    async throws
  {
    let (path, target) = (fixture.path, target)
    fixture.store.close()
    let crash = Crash(path: path, step: step)
    await #expect(processExitsWith: .signal(SIGKILL)) { [crash = crash as Crash, target = target as String] in
      let store = try Store.open(at: crash.path, options: crash.options())
      try store.backup(to: target)
    }
    try fixture.reopen()
    #expect(FileManager.default.fileExists(atPath: target) == (step == .backupRenamed))
    if step == .backupRenamed {
      #expect(code { try fixture.store.backup(to: target) } == .exists)
    } else {
      try fixture.store.backup(to: target)
    }
    let copy = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    #expect(try Holdings(copy) == Holdings(fixture.store))
    #expect(!FileManager.default.fileExists(atPath: target + ".partial"))
  }

  @Test(arguments: [StoreStep.backupCopied, .backupSynced])
  func `a failure at any step is told and leaves nothing behind`(step: StoreStep) throws {
    let failing = try StoreFixture { options in
      options.stepFault = { (reached) throws(StoreError) in
        if reached == step { throw StoreError(.io, "a failure", operation: "test") }
      }
    }
    try failing.store.put("a", [:])
    #expect(code { try failing.store.backup(to: failing.directory.file("backup")) } == .io)
    #expect(try entries(failing.directory.path) == ["db"])
    try failing.store.put("b", [:])
  }
}
