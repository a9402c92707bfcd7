import CRDTCore
import Failpoints

/// A state of a regular expression's automaton: the steps before which it is, and the last scalar's kind.
struct AutomatonState: Hashable, Sendable {
  /// The steps, ascending.
  ///
  /// Their closure is computed when the next scalar is known, since the tests of places depend on it.
  var seeds: [Int32] = []
  var previous = ScalarKind.none

  /// About the bytes of memory that it uses in a table.
  ///
  /// They include its steps, its positions by number, and its entry in a dictionary.
  var memoryBytes: Int { 112 + seeds.count * 4 }
}

/// The property of a scalar on which places, such as word boundaries, depend.
enum ScalarKind: UInt8, Hashable, Sendable {
  /// No scalar: the text's beginning, or its end.
  case none
  case newline, word, other

  var isWord: Bool { self == .word }

  init(_ scalar: UInt32) {
    self = scalar == 0x0A ? .newline : ScalarSet.words.contains(scalar) ? .word : .other
  }
}

/// A kind of scalars that a regular expression treats alike, or the end of the text.
struct ScalarClass: Hashable, Sendable {
  let kind: ScalarKind
  /// The numbers of the tests that accept it, one bit each.
  let accepted: [UInt64]

  func isAccepted(by test: Int32) -> Bool { accepted[Int(test) / 64] >> (UInt64(test) % 64) & 1 == 1 }
}

/// The classes of the scalars that occurred so far, numbered.
struct ScalarClasses: Sendable {
  /// The class number of the text's end.
  static let end: UInt8 = 0
  private static let cacheSize = 64

  private let tests: [ScalarTest]
  /// Whether the expression contains tests of places, which distinguish kinds of scalars.
  private let hasPlaces: Bool
  private var classes: [ScalarClass]
  private var numbers: [ScalarClass: UInt8] = [:]
  /// The class of each ASCII scalar.
  private(set) var ascii: [UInt8] = []
  /// The most recent other scalars, by their lowest bits; empty before the first.
  private var recent: [(scalar: UInt32, number: UInt8)]
  /// The number of classes in a row of the table, as a power of two.
  private(set) var shift = 0

  init(_ program: RegularProgram) {
    tests = program.tests
    hasPlaces = program.steps.contains { if case .place = $0 { true } else { false } }
    let words = [UInt64](repeating: 0, count: (program.tests.count + 63) / 64)
    classes = [ScalarClass(kind: .none, accepted: words)]
    recent = []
    ascii.reserveCapacity(128)
    for scalar in UInt32(0)..<128 { ascii.append(classify(scalar) ?? 0) }
  }

  var room: Int { 1 << shift }

  /// About the bytes of memory that they use, without the tests, which are part of the program.
  var memoryBytes: Int { 256 + recent.count * 8 + classes.count * (128 + classes[0].accepted.count * 8) }

  subscript(number: UInt8) -> ScalarClass { classes[Int(number)] }

  /// The class of a scalar; `nil` where there are too many classes.
  mutating func number(of scalar: UInt32) -> UInt8? {
    if scalar < 128 { return ascii[Int(scalar)] }
    let place = Int(scalar) % Self.cacheSize
    if recent.isEmpty { recent = [(UInt32, UInt8)](repeating: (.max, 0), count: Self.cacheSize) }
    if recent[place].scalar == scalar { return recent[place].number }
    guard let number = classify(scalar) else { return nil }
    recent[place] = (scalar, number)
    return number
  }

  private mutating func classify(_ scalar: UInt32) -> UInt8? {
    var accepted = classes[0].accepted
    for (number, test) in tests.enumerated() where test.accepts(scalar) {
      accepted[number / 64] |= 1 << (UInt64(number) % 64)
    }
    let scalarClass = ScalarClass(kind: hasPlaces ? ScalarKind(scalar) : .other, accepted: accepted)
    if let known = numbers[scalarClass] { return known }
    guard let number = UInt8(exactly: classes.count) else { return nil }
    classes.append(scalarClass)
    numbers[scalarClass] = number
    while room < classes.count { shift += 1 }
    return number
  }
}

/// Computes the operation delta of a state.
struct AutomatonClosure: Sendable {
  enum Result {
    case match
    /// No match is possible from here.
    case over
    case state(AutomatonState)
  }

  private let program: RegularProgram
  /// For each step, the round in which it was last visited.
  private var visited: [Int]
  private var round = 0
  private var pending: [Int32] = []

  init(_ program: RegularProgram) {
    self.program = program
    visited = [Int](repeating: -1, count: program.steps.count)
  }

  /// About the bytes of memory that it uses in addition to the program.
  var memoryBytes: Int { 64 + visited.count * 8 + pending.capacity * 4 }

  /// Moves a state over a scalar of a class, or to the text's end.
  mutating func step(_ state: AutomatonState, _ scalar: ScalarClass, _ steps: inout Int) -> Result {
    round += 1
    var seeds: [Int32] = []
    pending.append(contentsOf: state.seeds.reversed())
    while let step = pending.popLast() {
      guard visited[Int(step)] != round else { continue }
      visited[Int(step)] = round
      steps += 1
      switch program.steps[Int(step)] {
      case .scalar(let test): if scalar.isAccepted(by: test) { seeds.append(step + 1) }
      case .jump(let target): pending.append(target)
      case .split(let first, let second):
        pending.append(second)
        pending.append(first)
      case .place(let place):
        if place.stands(between: state.previous, scalar.kind) { pending.append(step + 1) }
      case .match:
        pending.removeAll(keepingCapacity: true)
        return .match
      }
    }
    if scalar.kind == .none { return .over }
    if !program.isAnchored { seeds.append(0) }
    guard !seeds.isEmpty else { return .over }
    seeds.sort()
    return .state(AutomatonState(seeds: seeds.withoutRepetitions, previous: scalar.kind))
  }
}

extension RegularSyntax.Place {
  /// Whether this place is between two such scalars.
  func stands(between previous: ScalarKind, _ next: ScalarKind) -> Bool {
    switch self {
    case .textStart: previous == .none
    case .textEnd: next == .none
    case .lineStart: previous == .none || previous == .newline
    case .lineEnd: next == .none || next == .newline
    case .wordBoundary: previous.isWord != next.isWord && !LanguageDefect.automatonIgnoresPlaces.isPlanted
    case .noWordBoundary: previous.isWord == next.isWord
    }
  }
}

extension [Int32] {
  /// The sorted numbers, each once.
  fileprivate var withoutRepetitions: [Int32] {
    var kept: [Int32] = []
    kept.reserveCapacity(count)
    for number in self where kept.last != number { kept.append(number) }
    return kept
  }
}
