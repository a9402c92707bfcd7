/// Runs queries that other peers ask for.
///
/// An engine over a store is one. Sessions know no more of it than this.
public protocol RemoteQueryRunner: Sendable {
  /// Nanoseconds of a clock that only goes forward, with any origin.
  var remoteQueryTime: UInt64 { get }

  /// Makes a run for one query; its time begins now.
  ///
  /// - Parameters:
  ///   - timeout: The time from now on.
  ///   - memoryBytes: About how much memory the run may use to sort, group, join and compare rows.
  /// - Returns: The run, which has read nothing yet.
  func makeRemoteQueryRun(timeout: Duration, memoryBytes: Int) -> any RemoteQueryRun
}
