/// Checks an implementation of a link against all promises, with a new pair of links for each promise.
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
  ///   - makePair: Makes two unused links that are connected to each other.
  public init(
    _ options: LinkConformanceOptions = LinkConformanceOptions(),
    makePair: @escaping @Sendable () async throws -> LinkPair
  ) {
    self.options = options
    self.makePair = makePair
  }

  /// Checks every promise, one after another.
  ///
  /// - Returns: The promises that were broken, with what happened; empty for a link that keeps all.
  public func brokenPromises() async -> [BrokenPromise] {
    var broken: [BrokenPromise] = []
    for promise in LinkPromise.allCases { broken += await brokenPromises(promise) }
    return broken
  }

  /// Checks one promise.
  ///
  /// - Returns: What happened instead; empty if the promise was kept.
  public func brokenPromises(_ promise: LinkPromise) async -> [BrokenPromise] {
    if promise == .unsentBytesStopReading, options.unsentBytes == 0 { return [] }
    let trial = LinkTrial(options)
    await trial.run(promise, makePair)
    return trial.problems.map { BrokenPromise(promise: promise, problem: $0) }
  }
}
