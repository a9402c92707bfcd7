import CRDTCore
import Synchronization

/// A deterministic automaton of a regular expression, whose states are made as texts need them.
///
/// A text costs one table lookup for each scalar. The table is bounded: a full table is dropped and rebuilt.
/// Then each scalar costs as much as following all states at once, so that matching stays linear. An
/// ``AutomatonPool`` bounds all tables together.
///
/// Source: Cox, "Regular Expression Matching in the Wild", 2010; the construction is that of Rabin and Scott,
/// "Finite Automata and Their Decision Problems", IBM Journal 1959.
final class RegularAutomaton: Sendable {
  private struct State: Sendable {
    var table: AutomatonTable?
    /// The size that was last reported to the pool.
    var toldBytes = 0
  }

  private let program: RegularProgram
  private let pool: AutomatonPool
  /// The table is made for the first text.
  private let state = Mutex(State())
  /// Whether the pool has asked for the table's memory.
  ///
  /// It is only a flag: the table itself is guarded by the lock.
  private let isUnwanted = Atomic(false)

  init(_ program: RegularProgram, in pool: AutomatonPool = .shared) {
    (self.program, self.pool) = (program, pool)
  }

  deinit { pool.remove(ObjectIdentifier(self)) }

  /// Whether some part of a text, given as UTF-8, matches.
  ///
  /// - Returns: `nil` where another thread is using the table, and where the expression distinguishes more
  ///   kinds of scalars than the table has room for.
  /// - Throws: `limit` when it takes more steps than the budget has.
  func matches(_ text: RawSpan, _ budget: inout MatchingBudget) throws(QueryError) -> Bool? {
    // SAFETY: the bytes are read while the caller lends them, and the closure does not escape.
    let found = unsafe text.withUnsafeBytes { bytes in
      state.withLockIfAvailable { state in
        var steps = 0
        var known = state.table.take() ?? AutomatonTable(program)
        let isMatch = unsafe known.matches(bytes, &steps)
        if isUnwanted.exchange(false, ordering: .relaxed) {
          state = State()
          return (isMatch: isMatch, steps: steps, newByteCount: Int?.none)
        }
        let byteCount = known.byteCount
        state.table = known
        let isNews = byteCount != state.toldBytes
        state.toldBytes = byteCount
        return (isMatch: isMatch, steps: steps, newByteCount: isNews ? byteCount : nil)
      }
    }
    guard let found else { return nil }
    if let byteCount = found.newByteCount { pool.note(self, byteCount: byteCount) }
    try budget.spend(found.steps)
    return found.isMatch
  }

  /// Releases the table's memory; the table is made again for the next text.
  ///
  /// If a text is being matched, the memory is released after that.
  func forget() {
    isUnwanted.store(true, ordering: .relaxed)
    state.withLockIfAvailable { if isUnwanted.exchange(false, ordering: .relaxed) { $0 = State() } }
  }
}

/// The known states, and their operation deltas for each class of scalars.
struct AutomatonTable: Sendable {
  /// The most entries of the table, of two bytes each.
  private static let maximumEntries = 1 << 16
  /// The most bytes of all states together.
  private static let maximumStateBytes = 1 << 18

  private typealias Number = UInt16
  private static let unknown: Number = 0
  private static let match: Number = 1
  private static let dead: Number = 2
  private static let firstState = 3

  private var closure: AutomatonClosure
  private var classes: ScalarClasses
  /// For each state and class, the next state.
  private var next: [Number] = []
  private var states: [AutomatonState] = []
  private var numbers: [AutomatonState: Number] = [:]
  private var stateBytes = 0
  private var start: Number = 0

  init(_ program: RegularProgram) {
    closure = AutomatonClosure(program)
    classes = ScalarClasses(program)
    forget()
  }

  /// About the bytes of memory that it uses.
  var byteCount: Int { 128 + closure.memoryBytes + classes.memoryBytes + next.capacity * 2 + stateBytes }

  private mutating func forget() {
    next = [Number](repeating: Self.unknown, count: Self.firstState * classes.room)
    states = [AutomatonState](repeating: AutomatonState(), count: Self.firstState)
    numbers = [:]
    stateBytes = 0
    start = number(of: AutomatonState(seeds: [0], previous: .none))
  }

  private mutating func number(of state: AutomatonState) -> Number {
    if let known = numbers[state] { return known }
    let number = Number(truncatingIfNeeded: states.count)
    states.append(state)
    next.append(contentsOf: repeatElement(Self.unknown, count: classes.room))
    numbers[state] = number
    stateBytes += state.memoryBytes
    return number
  }

  /// Whether some part of a text matches; it also counts its steps.
  ///
  /// - Returns: `nil` where there are too many classes of scalars.
  mutating func matches(_ text: UnsafeRawBufferPointer, _ steps: inout Int) -> Bool? {
    var state = start
    var offset = 0
    steps += text.count + 1
    while true {
      unsafe follow(text, &state, &offset)
      if state == Self.match { return true }
      if state == Self.dead { return false }
      let isAtEnd = offset == text.count
      var scalarClass = ScalarClasses.end
      if !isAtEnd {
        let span = unsafe RawSpan(_unsafeBytes: text)
        guard let scalar = LikePattern.nextScalar(of: span, &offset),
          let known = classes.number(of: scalar)
        else { return nil }
        scalarClass = known
        if classes.room * states.count != next.count {
          // There is a new class of scalars, for which the rows of the table are too short.
          let current = states[Int(state)]
          forget()
          state = number(of: current)
        }
      }
      state = following(state, scalarClass, &steps)
      if isAtEnd { return state == Self.match }
    }
  }

  /// Follows the text while the table has the next state and the scalars are ASCII.
  private func follow(_ text: UnsafeRawBufferPointer, _ state: inout Number, _ offset: inout Int) {
    unsafe next.withUnsafeBufferPointer { next in
      unsafe classes.ascii.withUnsafeBufferPointer { ascii in
        let shift = classes.shift
        var place = offset
        var current = Int(state)
        // SAFETY: every state has a row of the table, every class an entry in it, and ASCII 128 classes.
        while place < text.count {
          let byte = Int(unsafe text[place])
          guard byte < 0x80 else { break }
          let following = Int(unsafe next[current << shift + Int(ascii[byte])])
          if following == Int(Self.unknown) { break }
          current = following
          place += 1
          if current < Self.firstState { break }
        }
        offset = place
        state = Number(truncatingIfNeeded: current)
      }
    }
  }

  private mutating func following(_ state: Number, _ scalarClass: UInt8, _ steps: inout Int) -> Number {
    let known = next[Int(state) << classes.shift + Int(scalarClass)]
    if known != Self.unknown { return known }
    let result = closure.step(states[Int(state)], classes[scalarClass], &steps)
    let number: Number
    switch result {
    case .match: number = Self.match
    case .over: number = Self.dead
    case .state(let state):
      let isFull =
        next.count + classes.room > Self.maximumEntries
        || stateBytes + state.memoryBytes > Self.maximumStateBytes
      if isFull, numbers[state] == nil {
        forget()
        return self.number(of: state)
      }
      number = self.number(of: state)
    }
    next[Int(state) << classes.shift + Int(scalarClass)] = number
    return number
  }
}
