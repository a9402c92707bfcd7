import DocStore
import QueryEngine
import Synchronization

/// A live query and the observations that show its result: all observers of equal queries share one.
///
/// Deliveries are queued under its lock, so that they stay in order.
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

  /// Reads the first result, on the caller's thread, for the first observation.
  ///
  /// Every later commit is a change of that result.
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
  ///   - id: The number of the observation.
  ///   - observation: Receives the present result now, and then each change.
  ///   - sequence: The commit that the observation's first result must include.
  ///   - applied: The last commit with which every query is up to date.
  /// - Returns: False if the query is behind or has failed; the caller must then make another one.
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

  /// Updates what changes without commits.
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

  /// Passes a change to all observations.
  ///
  /// A query that has failed once cannot continue, and ends together with its observations.
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
