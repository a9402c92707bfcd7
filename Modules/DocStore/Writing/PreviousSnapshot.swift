import CRDTCore

/// The store as it was before a batch of commits, for a listener that comes while the batch runs.
///
/// Nobody listened when the batch began, so no records were copied; but whoever registers is promised
/// every commit that a snapshot taken afterwards lacks.
final class PreviousSnapshot {
  private let environment: Environment
  private let reader: ReaderSlot
  private let pages: DocumentPages

  /// Keeps hold of the last commit's pages; it pins no more of them than the engine keeps anyway.
  init?(_ environment: Environment) {
    guard let reader = try? environment.beginRead() else { return nil }
    self.environment = environment
    self.reader = reader
    pages = DocumentPages(access: reader.access, tables: environment.tables)
  }

  deinit { environment.recycle(reader) }

  /// Makes one commit, with records, of several that were run without them.
  ///
  /// - Parameters:
  ///   - missed: What was run without records, oldest first.
  ///   - later: What was run after that in the same batch, with records.
  ///   - environment: Where the batch was committed.
  /// - Returns: `nil` when the records cannot be read.
  func restore(_ missed: [FinishedJob], before later: ArraySlice<FinishedJob>, _ environment: Environment)
    -> FinishedJob?
  {
    guard var merged = missed.last, let reader = try? environment.beginRead() else { return nil }
    defer { environment.recycle(reader) }
    let now = DocumentPages(access: reader.access, tables: environment.tables)
    let next = Self.states(before: later)
    var places: [DocumentKey: Int] = [:]
    var drafts: [ChangeDraft] = []
    var groups = 0
    for job in missed {
      for draft in job.drafts {
        var draft = ChangeDraft(draft, group: draft.group + groups)
        if let place = places[draft.key] {
          (draft.before, draft.beforeSummary) = (drafts[place].before, drafts[place].beforeSummary)
          drafts[place] = draft
          continue
        }
        (draft.before, draft.beforeSummary) = Self.read(draft.key, pages)
        (draft.after, draft.afterSummary) = next[draft.key] ?? Self.read(draft.key, now)
        places[draft.key] = drafts.count
        drafts.append(draft)
      }
      groups += (job.drafts.last?.group ?? 0) + 1
    }
    for index in drafts.indices {
      (drafts[index].after, drafts[index].afterSummary) =
        next[drafts[index].key] ?? Self.read(drafts[index].key, now)
    }
    merged.drafts = drafts
    merged.isCaptured = true
    return merged
  }

  /// What the later commits found: the state at the end of the missed ones.
  private static func states(before later: ArraySlice<FinishedJob>) -> [DocumentKey: (Record?, Summary?)] {
    var states: [DocumentKey: (Record?, Summary?)] = [:]
    for job in later {
      for draft in job.drafts where states[draft.key] == nil {
        states[draft.key] = (draft.before, draft.beforeSummary)
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

extension ChangeDraft {
  fileprivate init(_ draft: ChangeDraft, group: Int) {
    self.init(
      key: draft.key, number: draft.number, group: group, sequence: draft.sequence, kind: draft.kind,
      afterSummary: draft.afterSummary,
      isOversize: draft.isOversize)
  }
}
