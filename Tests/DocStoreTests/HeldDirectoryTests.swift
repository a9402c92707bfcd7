import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// An open store stays in the directory that it was opened in, and takes no write that would be lost with it.
@Suite struct HeldDirectoryTests {
  private let directory: TemporaryDirectory
  private let files = FileManager.default

  init() throws { directory = try TemporaryDirectory() }

  private func open(_ name: String) throws -> Store {
    try StoreFixture.open(
      at: directory.file(name), StoreOptions(mapBytes: 64 << 20, log: { _, _ in }))
  }

  private func fill(_ store: Store, _ prefix: String, _ count: Int) throws {
    for number in 0..<count { try store.put("\(prefix)\(number)", ["n": .int(Int64(number))]) }
  }

  /// How another directory takes the path by which the first store was opened.
  enum Move: String, CaseIterable {
    case renamed, symbolicLinkSwitched
  }

  @Test(arguments: Move.allCases)
  func `what is done after opening is done in the same directory`(move: Move) throws {
    let at = directory.file("a")
    switch move {
    case .renamed: break
    case .symbolicLinkSwitched:
      try files.createDirectory(atPath: directory.file("moved"), withIntermediateDirectories: false)
      try files.createSymbolicLink(atPath: at, withDestinationPath: "moved")
    }
    let first = try open("a")
    try fill(first, "first", 30)
    switch move {
    case .renamed: try files.moveItem(atPath: at, toPath: directory.file("moved"))
    case .symbolicLinkSwitched:
      try files.removeItem(atPath: at)
      try files.createDirectory(atPath: directory.file("other"), withIntermediateDirectories: false)
      try files.createSymbolicLink(atPath: at, withDestinationPath: "other")
    }
    let second = try open("a")
    try fill(second, "second", 21)
    try first.compact()
    try fill(first, "later", 5)
    try first.backup(to: directory.file("backup"))
    first.close()
    try fill(second, "later", 2)
    second.close()

    let (moved, other) = (try open("moved"), try open("a"))
    #expect(try moved.count(in: "cars") == 35)
    #expect(try other.count(in: "cars") == 23)
    #expect(moved.identityChange == nil)
    #expect(other.identityChange == nil)
    #expect(try open("backup").count(in: "cars") == 35)
  }

  @Test func `no write is acknowledged once the directory is gone, and reads and backups go on`() throws {
    let store = try open("a")
    try fill(store, "n", 10)
    try files.removeItem(atPath: directory.file("a"))
    var acknowledged = 0
    for number in 0..<50 where (try? store.put("late\(number)", [:])) != nil { acknowledged += 1 }
    #expect(acknowledged == 0)
    let error = #expect(throws: StoreError.self) { try store.put("late", [:]) }
    #expect(error?.code == .poisoned)
    #expect(error?.message.contains("removed or replaced") == true)
    #expect(try store.fields("n3", in: "cars") != nil)
    try store.backup(to: directory.file("backup"))
    #expect(try open("backup").fields("n3", in: "cars") != nil)
  }

  @Test func `no write is acknowledged once the data file is another, and that one is left alone`() throws {
    let (store, other) = (try open("a"), try open("b"))
    try fill(store, "n", 10)
    try fill(other, "other", 3)
    other.close()
    try files.removeItem(atPath: directory.file("a/data.mdb"))
    try files.copyItem(atPath: directory.file("b/data.mdb"), toPath: directory.file("a/data.mdb"))
    let bytes = try #require(files.contents(atPath: directory.file("a/data.mdb")))
    let compaction = #expect(throws: StoreError.self) { try store.compact() }
    #expect(compaction?.code == .poisoned)
    let write = #expect(throws: StoreError.self) { try store.put("late", [:]) }
    #expect(write?.code == .poisoned)
    store.close()
    #expect(files.contents(atPath: directory.file("a/data.mdb")) == bytes)
    #expect(!files.fileExists(atPath: directory.file("a/data.mdb.compact")))
  }

  @Test func `errors name a file as people know it`() throws {
    let store = try open("a")
    try Data().write(to: URL(filePath: directory.file("a/device.key")))
    let error = #expect(throws: StoreError.self) {
      _ = try SecretFile("device.key", in: store.directory).read(atMost: 32)
    }
    #expect(error?.code == .permission)
    #expect(error?.message.hasPrefix(directory.file("a/device.key")) == true, "\(error?.message ?? "")")
  }
}
