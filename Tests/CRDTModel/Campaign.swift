package import TestKit

/// Many cases of one claim, by number: each passes, fails, or, for a control, is expected to fail somewhere.
package struct Campaign: Sendable {
  package let name: String
  /// Cases of a short run; a long one has more.
  package let cases: UInt64
  /// How many of the cases a control must fail at least; zero for a claim, which must fail none.
  package let expectedFailures: UInt64
  /// Runs one case and returns how many it stands for.
  package let run: @Sendable (UInt64) throws -> Int
  /// Makes a failing case short.
  package let shrink: @Sendable (UInt64) -> ShrunkHistory?

  package var isControl: Bool { expectedFailures > 0 }

  /// A claim about seeded histories, or a control: with an argument that makes it one, or with a defect.
  package init<History: SeededHistory>(
    _ name: String, cases: UInt64, failing expectedFailures: UInt64 = 0, planting: Planting = .nothing,
    _ make: @escaping @Sendable (UInt64) -> History
  ) {
    self.name = name
    self.cases = cases
    self.expectedFailures = expectedFailures
    run = { seed in
      var history = make(seed)
      try planting.run { try history.run() }
      return 1
    }
    shrink = { seed in planting.run { ShrunkHistory(of: { make(seed) }) } }
  }

  /// A claim about numbered cases that are no histories.
  package init(_ name: String, cases: UInt64, _ run: @escaping @Sendable (UInt64) throws -> Int) {
    self.name = name
    self.cases = cases
    expectedFailures = 0
    self.run = run
    shrink = { _ in nil }
  }
}
