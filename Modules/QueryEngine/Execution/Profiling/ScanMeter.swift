import CRDTCore

/// Counts and times the documents of one source for a profile.
///
/// Without a profile it only evaluates its filter.
struct ScanMeter {
  private let profile: StatementProfile?
  private let source: Int
  private var scan = StatementProfile.Scan()
  private var start: UInt64 = 0
  /// The time when the last row was passed on.
  private var given: UInt64 = 0
  private var givenNanoseconds: UInt64 = 0

  /// Starts the clock.
  ///
  /// - Parameters:
  ///   - context: The context of the statement that scans.
  ///   - source: The position of the source among those of the query.
  init(_ context: StatementContext, source: Int = 0) {
    profile = context.profile
    self.source = source
    if let profile { start = profile.now() }
  }

  /// Whether the filter accepts a document.
  @inline(__always)
  mutating func accepts(
    _ filter: borrowing RecordMatcher, _ id: RawSpan, _ record: borrowing RecordView
  ) throws(QueryError) -> Bool {
    guard let profile else { return try filter.accepts(id, record) }
    let start = profile.now()
    let accepts = try filter.accepts(id, record)
    scan.found += 1
    if accepts { scan.accepted += 1 }
    scan.filterNanoseconds += profile.now() - start
    return accepts
  }

  /// Counts a row that needs no filter, or for which the filter's result is already known.
  mutating func count(isAccepted: Bool = true) {
    guard profile != nil else { return }
    scan.found += 1
    if isAccepted { scan.accepted += 1 }
  }

  /// Stops the clock: the operators above work until ``resume()``.
  @inline(__always)
  mutating func pause() { if let profile { given = profile.now() } }

  @inline(__always)
  mutating func resume() { if let profile { givenNanoseconds += profile.now() - given } }

  /// Adds the counts to the profile; call it once, at the end.
  func finish() {
    guard let profile else { return }
    let all = profile.now() - start
    profile.note { section in
      var sum = section.scans[source] ?? StatementProfile.Scan()
      sum.found += scan.found
      sum.accepted += scan.accepted
      sum.filterNanoseconds += scan.filterNanoseconds
      sum.scanNanoseconds += all - min(all, scan.filterNanoseconds + givenNanoseconds)
      section.scans[source] = sum
    }
  }
}
