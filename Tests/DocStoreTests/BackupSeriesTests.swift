import CRDTCore
import DocStore
import Foundation
import Synchronization
import TestKit
import Testing

@Suite struct BackupSeriesTests {
  private let fixture: StoreFixture
  private var series: String { fixture.directory.file("series") }

  init() throws {
    fixture = try StoreFixture()
    try fixture.fill(600)
    try fixture.store.put("b", ["x": .map(["y": .int(1)])], into: "boats")
  }

  private func entries(_ path: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: path).sorted()
  }

  private func point(asBase: Bool = false) throws -> BackupPoint {
    try fixture.store.backup(toSeries: series, label: "shop", asBase: asBase)
  }

  /// Adds a point, and makes a backup of the same state.
  private func pointAndBackup() throws {
    let point = try point()
    try fixture.store.backup(to: fixture.directory.file("full\(point.number)"))
  }

  /// All bytes of the data file in a directory.
  private func data(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: fixture.directory.file(name) + "/data.mdb"))
  }

  private func file(_ name: String) -> URL { URL(fileURLWithPath: series + "/" + name) }

  /// The error of a restore of the point 3, of which nothing is left behind.
  private func refusal() throws -> String {
    let target = fixture.directory.file("restored")
    var text = ""
    do {
      _ = try Store.restore(fromSeries: series, at: .number(3), to: target)
    } catch let error as StoreError {
      text = error.description
    }
    try expectEqual(entries(fixture.directory.path), ["db", "series"])
    return text
  }

  // MARK: - What is restored

  /// Long documents, side rows, indexes, deletions and a compaction between the points.
  private static let changes: [@Sendable (StoreFixture) throws -> Void] = [
    { try $0.store.put("one", ["n": .int(1)]) },
    { fixture in
      try fixture.store.write { tx in
        for n in 100..<200 { _ = try tx.remove(DocumentID("\(n)"), in: "cars") }
        try tx.setSideValue([1, 2, 3], SideTable("test.table"), key: [7])
      }
      try fixture.store.put("long", ["t": .string(String(repeating: "z", count: 100_000))])
    },
    { fixture in
      for n in 0..<20 { try fixture.store.put("w\(n)", ["n": .int(Int64(n))], into: "boats") }
      try fixture.store.put("long", ["t": .string(String(repeating: "y", count: 60_000))])
    },
    { fixture in
      try fixture.store.compact()
      try fixture.store.put("behind", [:])
    },
    { _ in },
  ]

  @Test func `each point restores exactly what a backup at that moment has`() throws {
    try pointAndBackup()
    for change in Self.changes {
      try change(fixture)
      try pointAndBackup()
    }
    for point in try Store.verifyBackups(inSeries: series) {
      let restored = try Store.restore(
        fromSeries: series, at: .number(point.number), to: fixture.directory.file("restored\(point.number)"))
      expectEqual(restored, point)
      try expectEqual(data("restored\(point.number)"), data("full\(point.number)"), "point \(point.number)")
    }
    let copy = try Store.open(
      at: fixture.directory.file("restored4"), options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    #expect(copy.site != fixture.store.site)
    #expect(copy.identityChange == IdentityChange(reason: .backup, previousSite: fixture.store.site))
    #expect(try copy.read { try $0.sideValue(SideTable("test.table"), key: [7]) } == [1, 2, 3])
  }

  @Test func `an increment is as small as what was written, and one without writes has no pages`() throws {
    let base = try point()
    try fixture.store.put("one", ["n": .int(1)])
    let increment = try point()
    let nothing = try point()
    #expect(base.isBase)
    #expect(base.number == 1)
    #expect(!increment.isBase)
    #expect(increment.number == 2)
    #expect(increment.pageCount > 0)
    #expect(increment.pageCount < base.pageCount / 2)
    #expect(nothing.pageCount == 0)
    #expect(nothing.sequence == increment.sequence)
    #expect(nothing.fileBytes < 1_000)
    #expect(try entries(series) == ["00000001.base", "00000002.increment", "00000003.increment", "lock"])
    #expect(try Store.backups(inSeries: series) == [base, increment, nothing])
  }

  @Test func `a moment is a time, a commit or a number`() throws {
    let times = Times()
    let timed = try StoreFixture { $0.now = { times.next() } }
    var points: [BackupPoint] = []
    for n in 0..<3 {
      try timed.store.put("d\(n)", [:])
      points.append(try timed.store.backup(toSeries: timed.directory.file("series")))
    }
    func restored(_ moment: BackupMoment) throws -> Int {
      let target = timed.directory.file("restored")
      defer { try? FileManager.default.removeItem(atPath: target) }
      return try Store.restore(fromSeries: timed.directory.file("series"), at: moment, to: target).number
    }
    #expect(try restored(.newest) == 3)
    #expect(try restored(.time(points[1].time)) == 2)
    #expect(try restored(.time(points[2].time - 1)) == 2)
    #expect(try restored(.sequence(points[1].sequence)) == 2)
    #expect(try restored(.sequence(points[1].sequence - 1)) == 1)
    #expect(try restored(.number(2)) == 2)
    #expect(code { _ = try restored(.time(points[0].time - 1)) } == .notFound)
    #expect(code { _ = try restored(.sequence(0)) } == .notFound)
    #expect(code { _ = try restored(.number(4)) } == .notFound)
  }

  @Test(arguments: [
    (0 as UInt64, "1970-01-01T00:00:00.000Z"), (951_782_399_999, "2000-02-28T23:59:59.999Z"),
    (951_868_799_000, "2000-02-29T23:59:59.000Z"), (1_796_044_966_912, "2026-11-30T13:22:46.912Z"),
    (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
  ])
  func `a moment that no point has is named as people write times`(time: UInt64, text: String) {
    #expect("\(BackupMoment.time(time))" == "a point made at \(text) or before")
  }

  @Test func `small files of a higher layer are kept with each point`() throws {
    let file = SecretFile("extra", in: fixture.path)
    try file.replace(by: Array("first".utf8))
    _ = try fixture.store.backup(toSeries: series, carrying: ["extra", "absent"])
    try file.replace(by: Array("second".utf8))
    _ = try fixture.store.backup(toSeries: series, carrying: ["extra", "absent"])
    let target = fixture.directory.file("restored")
    _ = try Store.restore(fromSeries: series, at: .number(1), to: target)
    #expect(try SecretFile("extra", in: target).read(atMost: 100) == Array("first".utf8))
    #expect(try entries(target) == ["data.mdb", "extra", "lock"])
  }

  @Test func `what is written meanwhile is in the point whole or not at all`() throws {
    var writes = 0
    _ = try fixture.store.backup(toSeries: series) { [store = fixture.store] progress in
      guard progress.share < 1, writes < 20 else { return }
      writes += 1
      try store.put("w\(writes)", [:])
    }
    let target = fixture.directory.file("restored")
    _ = try Store.restore(fromSeries: series, to: target)
    let copy = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    #expect(writes > 0)
    #expect(try copy.fields("w1", in: "cars") == nil)
    #expect(try copy.count(in: "cars") == 600)
    #expect(try copy.verify().isIntact)
  }

  // MARK: - Bases

  @Test func `a new base begins a chain, and what is before it can be removed`() throws {
    _ = try point()
    _ = try point()
    let base = try point(asBase: true)
    let last = try point()
    #expect(base.isBase)
    #expect(!last.isBase)
    #expect(try Store.pruneBackups(inSeries: series, before: 0).isEmpty)
    #expect(try Store.pruneBackups(inSeries: series, before: .max).map(\.number) == [1, 2])
    #expect(try Store.backups(inSeries: series) == [base, last])
    #expect(try Store.verifyBackups(inSeries: series) == [base, last])
    _ = try Store.restore(fromSeries: series, at: .number(4), to: fixture.directory.file("restored"))
    #expect(try point().number == 5)
  }

  @Test func `a store that has become another site begins a new base`() throws {
    _ = try point()
    let target = fixture.directory.file("restored")
    _ = try Store.restore(fromSeries: series, to: target)
    let copy = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    let point = try copy.backup(toSeries: series, label: "shop")
    #expect(point.isBase)
    #expect(point.number == 2)
    #expect(try Store.verifyBackups(inSeries: series).count == 2)
  }

  // MARK: - What is refused

  @Test func `a series is of one label, and no store`() throws {
    _ = try point()
    #expect(code { _ = try fixture.store.backup(toSeries: series, label: "other") } == .argument)
    #expect(
      code { _ = try fixture.store.backup(toSeries: series, label: "other", asBase: true) } == .argument)
    #expect(code { _ = try fixture.store.backup(toSeries: fixture.path, label: "shop") } == .exists)
    let long = String(repeating: "x", count: 256)
    #expect(code { _ = try fixture.store.backup(toSeries: series, label: long) } == .argument)
    #expect(code { _ = try Store.backups(inSeries: fixture.directory.file("nowhere")) } == .notFound)
    let target = fixture.path
    #expect(code { _ = try Store.restore(fromSeries: series, to: target) } == .exists)
  }

  @Test func `a second backup or a restore meanwhile is refused at once`() throws {
    _ = try point()
    let target = fixture.directory.file("restored")
    _ = try fixture.store.backup(toSeries: series, label: "shop") {
      [series, store = fixture.store] progress in
      guard progress.share < 1 else { return }
      expectEqual(code { _ = try store.backup(toSeries: series, label: "shop") }, .alreadyOpen)
      expectEqual(code { _ = try Store.restore(fromSeries: series, to: target) }, .alreadyOpen)
    }
    #expect(try Store.backups(inSeries: series).count == 2)
  }

  @Test func `a flipped bit anywhere is refused with the file and the byte`() throws {
    _ = try point()
    try fixture.store.put("one", [:])
    _ = try point()
    _ = try point()
    let whole = try Data(contentsOf: file("00000002.increment"))
    for byte in [0, 9, 13, 40, 200, whole.count / 2, whole.count - 1] {
      var damaged = whole
      damaged[byte] ^= 1
      try damaged.write(to: file("00000002.increment"))
      let text = try refusal()
      expect(text.contains("/00000002.increment is damaged at byte "), "\(byte): \(text)")
      let message = code { _ = try Store.verifyBackups(inSeries: series) }
      expectEqual(message, .corrupt, "\(byte)")
    }
  }

  @Test func `a file that is cut or longer is refused, also by the next backup`() throws {
    _ = try point()
    try fixture.store.put("one", [:])
    _ = try point()
    _ = try point()
    let whole = try Data(contentsOf: file("00000002.increment"))
    for count in [0, 5, 100, 1_000, whole.count - 1] {
      try whole.prefix(count).write(to: file("00000002.increment"))
      let text = try refusal()
      expect(text.contains("/00000002.increment is damaged at byte "), "\(count): \(text)")
      expectEqual(code { _ = try point() }, .corrupt, "\(count)")
    }
    try (whole + [0]).write(to: file("00000002.increment"))
    #expect(try refusal().contains("00000002.increment is damaged at byte"))
    // A new base needs no file before it.
    #expect(try point(asBase: true).number == 4)
    _ = try Store.restore(fromSeries: series, at: .number(4), to: fixture.directory.file("restored"))
  }

  @Test func `missing, exchanged and foreign files are refused by name`() throws {
    _ = try point()
    for n in 0..<3 {
      try fixture.store.put("d\(n)", [:])
      _ = try point()
    }
    let second = try Data(contentsOf: file("00000002.increment"))
    try FileManager.default.removeItem(at: file("00000002.increment"))
    #expect(try refusal().contains("\(series) has no point 2"))
    try FileManager.default.copyItem(at: file("00000003.increment"), to: file("00000002.increment"))
    #expect(try refusal().contains("it is the increment 3, under the name of another one"))
    let other = try StoreFixture(seed: 2)
    try other.store.put("a", [:])
    let foreign = other.directory.file("series")
    _ = try other.store.backup(toSeries: foreign)
    _ = try other.store.backup(toSeries: foreign)
    let name = "00000002.increment"
    try Data(contentsOf: URL(fileURLWithPath: foreign + "/" + name)).write(to: file(name))
    #expect(try refusal().contains("\(name) is damaged at byte 0: it does not follow "))
    try second.write(to: file(name))
    try FileManager.default.removeItem(at: file("00000001.base"))
    #expect(try refusal().contains("has no base for 00000003.increment"))
  }

  @Test func `a damaged store adds no point`() throws {
    let needle = Data("a text that stands in one document".utf8)
    try fixture.store.put("damaged", ["t": .string("a text that stands in one document")])
    _ = try point()
    try fixture.reopen {
      let path = URL(fileURLWithPath: fixture.dataPath)
      var bytes = try Data(contentsOf: path)
      // Free pages may have older versions of the page.
      while let range = bytes.range(of: needle) { bytes[range.lowerBound] = UInt8(ascii: "A") }
      try bytes.write(to: path)
    }
    #expect(code { _ = try point() } == .corrupt)
    #expect(try entries(series) == ["00000001.base", "lock"])
  }

  // MARK: - Interruptions

  @Test func `stopped half way, nothing is left behind and the next point is made`() throws {
    _ = try point()
    #expect(throws: Interruption.self) {
      _ = try fixture.store.backup(toSeries: series, label: "shop") {
        if $0.share > 0.3 { throw Interruption() }
      }
    }
    #expect(try entries(series) == ["00000001.base", "lock"])
    #expect(try point().number == 2)
    let target = fixture.directory.file("restored")
    #expect(throws: Interruption.self) {
      _ = try Store.restore(fromSeries: series, to: target) { if $0.share > 0.3 { throw Interruption() } }
    }
    #expect(try entries(fixture.directory.path) == ["db", "series"])
  }

  @Test func `what a killed restore and a killed backup have left is written over and removed`() throws {
    _ = try point()
    let target = fixture.directory.file("restored")
    for name in [target + ".image", target + ".partial"] {
      try FileManager.default.createDirectory(atPath: name, withIntermediateDirectories: false)
      try Data("half".utf8).write(to: URL(fileURLWithPath: name + "/data.mdb"))
    }
    try Data("half".utf8).write(to: file("00000002.increment.partial"))
    try Data("mine".utf8).write(to: file("notes.txt"))
    #expect(try Store.backups(inSeries: series).count == 1)
    _ = try Store.restore(fromSeries: series, to: target)
    #expect(try entries(fixture.directory.path) == ["db", "restored", "series"])
    #expect(try point().number == 2)
    #expect(try entries(series) == ["00000001.base", "00000002.increment", "lock", "notes.txt"])
  }

  @Test(arguments: [StoreStep.pointWritten, .pointSynced, .pointRenamed])
  func `killed at any step, there is a whole point or none, and the next one is made`(step: StoreStep)
    async throws
  {
    _ = try point()
    try fixture.store.put("one", [:])
    let (path, series) = (fixture.path, series)
    fixture.store.close()
    let crash = Crash(path: path, step: step)
    await #expect(processExitsWith: .signal(SIGKILL)) { [crash = crash as Crash, series = series as String] in
      let store = try Store.open(at: crash.path, options: crash.options())
      _ = try store.backup(toSeries: series, label: "shop")
    }
    try fixture.reopen()
    let isThere = step == .pointRenamed
    #expect(try Store.verifyBackups(inSeries: series).count == (isThere ? 2 : 1))
    #expect(try entries(series).contains { $0.hasSuffix(".partial") } == !isThere)
    #expect(try point().number == (isThere ? 3 : 2))
    #expect(try !entries(series).contains { $0.hasSuffix(".partial") })
    let target = fixture.directory.file("restored")
    _ = try Store.restore(fromSeries: series, to: target)
    let copy = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
    defer { copy.close() }
    #expect(try copy.fields("one", in: "cars") != nil)
  }

  @Test(arguments: [StoreStep.pointWritten, .pointSynced])
  func `a failure at any step is told and leaves nothing behind`(step: StoreStep) throws {
    let failing = try StoreFixture { options in
      options.stepFault = { (reached) throws(StoreError) in
        if reached == step { throw StoreError(.io, "a failure", operation: "test") }
      }
    }
    let series = failing.directory.file("series")
    #expect(code { _ = try failing.store.backup(toSeries: series) } == .io)
    #expect(try entries(series) == ["lock"])
  }
}

/// Wall time that goes on by a second with each reading.
private final class Times: Sendable {
  private let time = Mutex<UInt64>(1_800_000_000_000)

  func next() -> UInt64 {
    time.withLock {
      $0 += 1_000
      return $0
    }
  }
}
