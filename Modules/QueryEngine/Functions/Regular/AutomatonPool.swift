import Synchronization

/// Bounds the memory of the automata of all regular expressions together.
///
/// Where they take more, any of them gives its table back. It is not the least recently used one: many expressions that
/// are matched in turn would then make all their tables anew each time.
package final class AutomatonPool: Sendable {
  private struct Entry: Sendable {
    let name: ObjectIdentifier
    weak var automaton: RegularAutomaton?
    let byteCount: Int
  }

  private struct State: Sendable {
    var entries: [Entry] = []
    /// Where in `entries` an automaton stands.
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

  /// What all tables together may take, in bytes.
  package let byteLimit: Int
  private let state = Mutex(State())

  init(byteLimit: Int) { self.byteLimit = byteLimit }

  /// About the bytes that all tables together take.
  package var byteCount: Int { state.withLock { $0.byteCount } }

  /// Takes note of how large an automaton's table has become, and makes room where that is too much.
  ///
  /// - Complexity: O(1) for each table that is given back.
  func note(_ automaton: RegularAutomaton, byteCount: Int) {
    let entry = Entry(name: ObjectIdentifier(automaton), automaton: automaton, byteCount: byteCount)
    // They are let go of outside of the lock, which an automaton takes when it goes.
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
