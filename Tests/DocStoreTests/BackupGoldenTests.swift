import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// A series of backups as this format has it; the files are never regenerated, a new format adds its own.
@Suite struct BackupGoldenTests {
  private static func url(_ name: String) throws -> URL {
    try #require(Bundle.module.url(forResource: name, withExtension: "bin", subdirectory: "Golden"))
  }

  @Test func `reads the series that an earlier release wrote`() throws {
    let directory = try TemporaryDirectory()
    let series = directory.file("series")
    try FileManager.default.createDirectory(atPath: series, withIntermediateDirectories: false)
    for (name, file) in [
      ("series-base-v1", "00000001.base"), ("series-increment-v1", "00000002.increment"),
    ] {
      try Data(contentsOf: try Self.url(name)).write(to: URL(fileURLWithPath: series + "/" + file))
    }
    let points = try Store.verifyBackups(inSeries: series)
    #expect(points.map(\.number) == [1, 2])
    #expect(points.map(\.isBase) == [true, false])
    #expect(points.map(\.sequence) == [1, 2])
    #expect(points.map(\.time) == [1_800_000_000_000, 1_800_000_000_000])
    #expect(points.map(\.label) == ["golden", "golden"])
    #expect(points.map(\.pageCount) == [8, 10])
    for (number, count) in [(1, 5), (2, 5)] {
      let target = directory.file("restored\(number)")
      _ = try Store.restore(fromSeries: series, at: .number(number), to: target)
      try expectEqual(SecretFile("extra", in: target).read(atMost: 100), Array("kept along".utf8))
      let store = try Store.open(at: target, options: StoreOptions(log: { _, _ in }))
      defer { store.close() }
      try expectEqual(store.statistics().documentCount, count)
      try expectEqual(store.verify().damages, [])
      try expectEqual(store.fields("long", in: "boats") != nil, number == 2)
    }
  }
}
