import TestKit

/// What happened in a history, in words; kept only when a failure is told.
package struct Trace: Sendable {
  package private(set) var lines: [String] = []

  package init() {}

  package mutating func add(_ line: String) { lines.append(line) }
}

/// A random history whose every step depends on the seed and its own number alone, so that steps can be
/// left out of it: that is how a failing one is made short.
package protocol SeededHistory: SendableMetatype {
  var stepCount: Int { get }
  /// Where the steps are told, if anywhere.
  var trace: Trace? { get set }

  mutating func run(step: Int) throws
  /// What must hold in the end.
  mutating func finish() throws
}

extension SeededHistory {
  /// Runs the whole history.
  package mutating func run() throws { try run(without: []) }

  mutating func run(without left: Set<Int>) throws {
    for step in 0..<stepCount where !left.contains(step) { try run(step: step) }
    try finish()
  }
}

/// A law that does not hold.
package struct LawFailure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

extension LawFailure {
  /// Throws unless `holds`.
  static func unless(_ holds: Bool, _ law: @autoclosure () -> String) throws {
    if !holds { throw LawFailure(law()) }
  }
}

extension SeededGenerator {
  /// The generator of one step of a history.
  init(seed: UInt64, step: Int) {
    self.init(seed: seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(bitPattern: Int64(step)) &+ 1)
  }
}

/// A failing history with as few steps as leaving out single steps and runs of them can make it.
package struct ShrunkHistory: Sendable {
  package let failure: String
  package let steps: [String]

  /// - Returns: `nil` when the history does not fail.
  ///
  /// Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 2002.
  package init?(of make: () -> some SeededHistory) {
    func failure(without left: Set<Int>) -> String? {
      var history = make()
      do { try history.run(without: left) } catch { return "\(error)" }
      return nil
    }
    let count = make().stepCount
    guard failure(without: []) != nil else { return nil }
    var left: Set<Int> = []
    var size = max(count / 2, 1)
    while true {
      var hasShrunk = false
      for start in stride(from: 0, to: count, by: size) {
        let without = left.union(start..<min(start + size, count))
        guard without.count > left.count, failure(without: without) != nil else { continue }
        left = without
        hasShrunk = true
      }
      if size == 1, !hasShrunk { break }
      size = max(size / 2, 1)
    }
    var history = make()
    history.trace = Trace()
    do {
      try history.run(without: left)
      return nil
    } catch {
      self.failure = "\(error)"
      steps = history.trace?.lines ?? []
    }
  }
}
