import Foundation
import TestKit
import Testing

@Suite struct TestKitTests {
  @Test func `the generator gives the published SplitMix64 numbers`() {
    var generator = SeededGenerator(seed: 1_234_567)
    let numbers = (0..<3).map { _ in generator.next() }
    #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
  }

  @Test func `a temporary directory is gone with its contents when its scope ends`() async throws {
    let path = try TemporaryDirectory.with { directory in
      #expect(try directory.contents().isEmpty)
      try Data([1]).write(to: URL(fileURLWithPath: directory.file("a")))
      #expect(try directory.contents() == ["a"])
      return directory.path
    }
    #expect(!FileManager.default.fileExists(atPath: path))

    let second = try await TemporaryDirectory.with { directory in
      await Task.yield()
      #expect(FileManager.default.fileExists(atPath: directory.path))
      return directory.path
    }
    #expect(second != path && !FileManager.default.fileExists(atPath: second))
  }

  @Test func `the join laws hold for a union and are seen to fail for a difference`() {
    expectJoinLaws((Set([1]), Set([1, 2]), Set([3]))) { $0.union($1) }
    withKnownIssue {
      expectJoinLaws((Set([1]), Set([1, 2]), Set([3]))) { $0.subtracting($1) }
    }
  }
}
