import DocStore
import QueryEngine
import Synchronization

/// A live query and the observations that show its result: observers of equal queries cost one.
///
/// Deliveries are queued under its lock, so that none overtakes another.
final class SharedLiveQuery: Sendable {
  private enum Phase {
    case new, running, failed
  }

  private struct State {
    var live: LiveQuery
    var phase = Phase.new
    var observations: [UInt64: QueryObservation] = [:]
  }

  private let state: Mutex<State>

  init(_ live: LiveQuery) { state = Mutex(State(live: live)) }

  /// Reads the first result, on the caller's thread, for the first observation: every commit from now on is
  /// a change of it.
  func start(_ id: UInt64, _ observation: QueryObservation, _ engine: Engine) throws {
    try state.withLock { state in
      do {
        try state.live.start(engine)
        state.phase = .running
      } catch {
        state.phase = .failed
        throw error
      }
      state.observations[id] = observation
      observation.enqueue(QueryObservation.Pending(isInitial: true, rows: state.live.rows))
    }
  }

  /// Shows the result to one more observation, if it is recent enough.
  ///
  /// - Parameters:
  ///   - id: Names the observation.
  ///   - observation: It gets the result as it is, now, and then each change.
  ///   - sequence: The commit that the observation's first result must include.
  ///   - applied: The last commit that every query has been brought up to date with.
  /// - Returns: False when the query is behind or has failed; another has to be made then.
  func join(_ id: UInt64, _ observation: QueryObservation, from sequence: UInt64, applied: UInt64) -> Bool {
    state.withLock { state in
      guard state.phase == .running, max(applied, state.live.sequence) >= sequence else { return false }
      state.observations[id] = observation
      observation.enqueue(QueryObservation.Pending(isInitial: true, rows: state.live.rows))
      return true
    }
  }

  func leave(_ id: UInt64) { state.withLock { $0.observations[id] = nil } }

  func apply(_ commit: Commit) {
    change { live in
      guard let diff = try live.apply(commit) else { return nil }
      return QueryObservation.Pending(isInitial: false, rows: live.rows, diff: diff)
    }
  }

  /// Looks again at what changes without commits.
  func refresh() {
    change { live in
      guard let diff = try live.refresh() else { return nil }
      return QueryObservation.Pending(isInitial: false, rows: live.rows, diff: diff)
    }
  }

  /// Runs the query again after commits were missed.
  func restart(_ engine: Engine) {
    change { live in QueryObservation.Pending(isInitial: false, rows: try live.start(engine)) }
  }

  /// Tells all observations of a change; a query that failed once has lost its place, and ends with them.
  private func change(_ body: (inout LiveQuery) throws -> QueryObservation.Pending?) {
    let failure = state.withLock { state -> (error: any Error, observations: [QueryObservation])? in
      guard state.phase == .running else { return nil }
      do {
        if let change = try body(&state.live) {
          for observation in state.observations.values { observation.enqueue(change) }
        }
        return nil
      } catch {
        state.phase = .failed
        defer { state.observations = [:] }
        return (error, Array(state.observations.values))
      }
    }
    guard let failure else { return }
    for observation in failure.observations { observation.fail(failure.error) }
  }
}
