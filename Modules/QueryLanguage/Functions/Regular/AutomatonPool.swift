import Synchronization

/// Bounds the memory of the automata of all regular expressions together.
///
/// If they use too much memory, any of them drops its table, and not the least recently used one. If many
/// expressions are matched in turn, that rule would make all of them rebuild their tables each time.
package final class AutomatonPool: Sendable {
  private struct Entry: Sendable {
    let name: ObjectIdentifier
    weak var automaton: RegularAutomaton?
    let byteCount: Int
  }

  private struct State: Sendable {
    var entries: [Entry] = []
    /// The position of each automaton in `entries`.
    var places: [ObjectIdentifier: Int] = [:]
    var byteCount = 0

    mutating func insert(_ entry: Entry) {
      remove(entry.name)
      places[entry.name] = entries.count
      entries.append(entry)
      byteCount += entry.byteCount
    }

    mutating func remove(_ name: ObjectIdentifier) {
      guard let place = places.removeValue(forKey: name) else { return }
      byteCount -= entries[place].byteCount
      let last = entries.removeLast()
      guard last.name != name else { return }
      entries[place] = last
      places[last.name] = place
    }
  }

  package static let shared = AutomatonPool(byteLimit: 2 << 20)

  /// The most bytes that all tables together may use.
  package let byteLimit: Int
  private let state = Mutex(State())

  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// About the bytes that all tables together use.
  package var byteCount: Int { state.withLock { $0.byteCount } }

  /// Records the size of an automaton's table, and has other tables dropped if the sum is too large.
  ///
  /// - Complexity: O(1) for each table that is dropped.
  func note(_ automaton: RegularAutomaton, byteCount: Int) {
    let entry = Entry(name: ObjectIdentifier(automaton), automaton: automaton, byteCount: byteCount)
    // They are released outside of the lock, since an automaton acquires it when it is deinitialised.
    let excess = state.withLock { state in
      state.insert(entry)
      var excess: [RegularAutomaton] = []
      while state.byteCount > byteLimit, let victim = state.entries.randomElement() {
        state.remove(victim.name)
        if let automaton = victim.automaton { excess.append(automaton) }
      }
      return excess
    }
    for automaton in excess { automaton.forget() }
  }

  func remove(_ name: ObjectIdentifier) { state.withLock { $0.remove(name) } }
}
