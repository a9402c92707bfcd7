/// A compiled regular expression, searched for anywhere in a text in time linear in it.
///
/// All states of the automaton advance together, so no pattern backtracks. There are no groups to capture
/// and no references back. Known: `.`, classes, `\d \w \s \D \W \S \b \B`, `^ $`, groups, `|`, and
/// `* + ? {n} {n,} {n,m}`, where a following `?` changes nothing. Flags: `i` ignores case and `c` does not,
/// `m` lets `^` and `$` match at lines, `s` lets `.` match a line's end, `x` skips blanks of the pattern.
///
/// Source: Thompson, "Regular Expression Search Algorithm", CACM 1968; in the form of Pike's sam, as told by
/// Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009.
struct RegularExpression: Sendable {
  /// Instructions that a pattern may take; every scalar of a text costs at most this many steps.
  static let maximumInstructions = 512
  /// Bytes of a pattern.
  static let maximumBytes = 1 << 12

  /// Targets are relative to the instruction.
  enum Instruction: Hashable, Sendable {
    case scalar(UInt32)
    case any(acrossLines: Bool)
    case set(ScalarSet)
    case split(Int, Int)
    case jump(Int)
    case start(ofLine: Bool)
    case end(ofLine: Bool)
    case boundary(negated: Bool)
    case match
  }

  /// The scalars that a class holds.
  struct ScalarSet: Hashable, Sendable {
    var ranges: [ClosedRange<UInt32>] = []
    var negated = false

    func contains(_ scalar: UInt32) -> Bool { ranges.contains { $0.contains(scalar) } != negated }
  }

  private let program: [Instruction]
  private let ignoresCase: Bool

  /// Compiles a pattern; fails when it is malformed, too long, or has an unknown flag.
  init?(_ pattern: String, flags: String = "") {
    guard pattern.utf8.count <= Self.maximumBytes else { return nil }
    var parser = RegularExpressionParser(pattern)
    var ignoresCase = false
    for flag in flags.unicodeScalars {
      switch flag {
      case "c": ignoresCase = false
      case "i": ignoresCase = true
      case "m": parser.isMultiline = true
      case "s": parser.dotMatchesLineEnds = true
      case "x": parser.skipsBlanks = true
      default: return nil
      }
    }
    parser.ignoresCase = ignoresCase
    guard let program = parser.parse() else { return nil }
    self.program = program
    self.ignoresCase = ignoresCase
  }

  /// The most steps that searching a text of so many bytes takes.
  func steps(forBytes bytes: Int) -> Int {
    (bytes + 1).multipliedReportingOverflow(by: program.count).partialValue
  }

  func matches(_ text: String) -> Bool { matches(text.utf8Span.span.bytes) }

  /// Whether the pattern occurs in a text, given as UTF-8.
  ///
  /// - Complexity: O(*n* · *m*) for *n* scalars of text and *m* instructions.
  func matches(_ text: RawSpan) -> Bool {
    var states = StateSet(capacity: program.count)
    var pending: [Int] = []
    var stack: [Int] = []
    var previous: UInt32?
    var offset = 0
    while true {
      let here = UnicodeText.nextScalar(of: text, &offset)
      states.removeAll()
      stack.append(contentsOf: pending)
      // A match may begin at every place.
      stack.append(0)
      if close(&stack, into: &states, previous, here) { return true }
      guard let here else { return false }
      pending.removeAll(keepingCapacity: true)
      for state in states.members where consumes(program[state], here) { pending.append(state + 1) }
      previous = here
    }
  }

  /// Follows what consumes nothing; true when that reaches the end of the pattern.
  private func close(
    _ stack: inout [Int], into states: inout StateSet, _ previous: UInt32?, _ here: UInt32?
  ) -> Bool {
    while let state = stack.popLast() {
      guard states.insert(state) else { continue }
      switch program[state] {
      case .match: return true
      case .split(let first, let second):
        stack.append(state + first)
        stack.append(state + second)
      case .jump(let distance): stack.append(state + distance)
      case .start(let ofLine):
        if previous == nil || ofLine && previous == 10 { stack.append(state + 1) }
      case .end(let ofLine):
        if here == nil || ofLine && here == 10 { stack.append(state + 1) }
      case .boundary(let negated):
        if (Self.isWord(previous) != Self.isWord(here)) != negated { stack.append(state + 1) }
      case .scalar, .any, .set: break
      }
    }
    return false
  }

  private func consumes(_ instruction: Instruction, _ scalar: UInt32) -> Bool {
    switch instruction {
    case .scalar(let wanted): return wanted == (ignoresCase ? UnicodeText.folded(scalar) : scalar)
    case .any(let acrossLines): return acrossLines || scalar != 10
    case .set(let set):
      guard ignoresCase else { return set.contains(scalar) }
      let variants = [scalar, UnicodeText.folded(scalar), Self.upper(scalar)]
      return variants.contains { ScalarSet(ranges: set.ranges).contains($0) } != set.negated
    case .split, .jump, .start, .end, .boundary, .match: return false
    }
  }

  private static func upper(_ scalar: UInt32) -> UInt32 {
    guard let upper = Unicode.Scalar(scalar)?.properties.uppercaseMapping.unicodeScalars, upper.count == 1
    else {
      return scalar
    }
    return upper.first?.value ?? scalar
  }

  private static func isWord(_ scalar: UInt32?) -> Bool {
    guard let scalar, let byte = UInt8(exactly: scalar) else { return false }
    return byte.continuesWord
  }
}

/// States in the order of their insertion, each once; emptied in constant time.
///
/// Source: Briggs and Torczon, "An Efficient Representation for Sparse Sets", LOPLAS 1993.
private struct StateSet {
  private(set) var members: [Int] = []
  private var places: [Int]

  init(capacity: Int) { places = [Int](repeating: 0, count: capacity) }

  mutating func removeAll() { members.removeAll(keepingCapacity: true) }

  /// Whether the state was not there yet.
  mutating func insert(_ state: Int) -> Bool {
    let place = places[state]
    if place < members.count, members[place] == state { return false }
    places[state] = members.count
    members.append(state)
    return true
  }
}
