import CRDTCore

/// The store before a batch of commits, for a listener that is added while the batch runs.
///
/// There was no listener when the batch began, so no records were copied. But a new listener is promised
/// every commit that a snapshot taken afterwards lacks.
final class PreviousSnapshot {
  private let environment: Environment
  private let reader: ReaderSlot
  private let pages: DocumentPages

  /// Keeps the pages of the last commit; the engine keeps these pages anyway.
  init?(_ environment: Environment) {
    guard let reader = try? environment.beginRead() else { return nil }
    self.environment = environment
    self.reader = reader
    pages = DocumentPages(access: reader.access, tables: environment.tables)
  }

  deinit { environment.recycle(reader) }

  /// Merges several commits that ran without records into one commit with records.
  ///
  /// - Parameters:
  ///   - missed: The jobs that ran without records, oldest first.
  ///   - later: The jobs that ran after these in the same batch, with records.
  ///   - environment: The environment in which the batch was committed.
  /// - Returns: `nil` when the records cannot be read.
  func restore(_ missed: [FinishedJob], before later: ArraySlice<FinishedJob>, _ environment: Environment)
    -> FinishedJob?
  {
    guard var merged = missed.last, let reader = try? environment.beginRead() else { return nil }
    defer { environment.recycle(reader) }
    let now = DocumentPages(access: reader.access, tables: environment.tables)
    let next = Self.states(before: later)
    // For each document: the last change, at the place of the first one, with the state before the first one.
    var latest: [DocumentKey: (change: Change, group: Int, place: Int, wasOversize: Bool)] = [:]
    var groups = 0
    for job in missed {
      for change in job.changes {
        let first = latest[change.key]
        let (place, wasOversize) = (first?.place ?? latest.count, first?.wasOversize ?? change.wasOversize)
        latest[change.key] = (change, change.group + groups, place, wasOversize)
      }
      groups += (job.changes.last?.group ?? 0) + 1
    }
    merged.changes = latest.values.sorted { $0.place < $1.place }
      .map { change, group, _, wasOversize in
        let key = change.key
        let (before, beforeSummary) = Self.read(key, pages)
        let (after, afterSummary) = next[key] ?? Self.read(key, now)
        return Change(
          key, number: change.number, kind: change.kind, sequence: change.sequence, group: group,
          before: before, beforeSummary: beforeSummary, after: after, afterSummary: afterSummary,
          oversize: change.oversize, wasOversize: wasOversize, names: merged.names)
      }
    merged.isCaptured = true
    return merged
  }

  /// The states that the later jobs found, which are the states after the missed ones.
  private static func states(before later: ArraySlice<FinishedJob>) -> [DocumentKey: (Record?, Summary?)] {
    var states: [DocumentKey: (Record?, Summary?)] = [:]
    for job in later {
      for change in job.changes where states[change.key] == nil {
        states[change.key] = (change.before, change.beforeSummary)
      }
    }
    return states
  }

  private static func read(_ key: DocumentKey, _ pages: DocumentPages) -> (Record?, Summary?) {
    let found = try? pages.withRecord(key.collection, named: "", key.id) { row in
      (Record(copying: row.record), row.summary)
    }
    return (found?.0, found?.1)
  }
}
