/// Puts a kind of link through its paces: one new pair of links for each promise.
///
/// It needs no test framework:
///
/// ```swift
/// let conformance = LinkConformance { try await makePair() }
/// #expect(await conformance.brokenPromises() == [])        // Swift Testing
/// XCTAssertEqual(await conformance.brokenPromises(), [])   // XCTest, with the value awaited before
/// ```
public struct LinkConformance: Sendable {
  let options: LinkConformanceOptions
  private let makePair: @Sendable () async throws -> LinkPair

  /// Prepares the checks.
  ///
  /// - Parameters:
  ///   - options: How much is sent, and how long to wait.
  ///   - makePair: Makes two links that are connected to each other and that nobody has used.
  public init(
    _ options: LinkConformanceOptions = LinkConformanceOptions(),
    makePair: @escaping @Sendable () async throws -> LinkPair
  ) {
    self.options = options
    self.makePair = makePair
  }

  /// Checks every promise, one after another.
  ///
  /// - Returns: Those that were broken, with what happened; empty for a link that keeps all.
  public func brokenPromises() async -> [BrokenPromise] {
    var broken: [BrokenPromise] = []
    for promise in LinkPromise.allCases { broken += await brokenPromises(promise) }
    return broken
  }

  /// Checks one promise.
  ///
  /// - Returns: What happened in place of it; empty where it was kept.
  public func brokenPromises(_ promise: LinkPromise) async -> [BrokenPromise] {
    if promise == .unsentBytesStopReading, options.unsentBytes == 0 { return [] }
    let trial = LinkTrial(options)
    await trial.run(promise, makePair)
    return trial.problems.map { BrokenPromise(promise: promise, problem: $0) }
  }
}
