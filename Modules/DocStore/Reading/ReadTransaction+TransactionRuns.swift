import CRDTCore

/// Documents of a collection with consecutive numbers.
package struct DocumentRun: Hashable, Sendable {
  package let collection: UInt32
  package let numbers: ClosedRange<DocumentNumber>

  package init(collection: UInt32, numbers: ClosedRange<DocumentNumber>) {
    self.collection = collection
    self.numbers = numbers
  }

  /// How many documents the run names; some of them may no longer exist.
  package var count: UInt64 { numbers.upperBound.rawValue - numbers.lowerBound.rawValue + 1 }
}

extension ReadTransaction {
  /// Visits the documents of commits after `sequence` that touched several, until `body` returns `false`.
  ///
  /// It visits the oldest commits first, and the documents by their numbers. It reads no document. A damaged
  /// record of the log is skipped, because it no longer binds documents together; `verify` finds it. Records
  /// on a damaged page are skipped, too, and `damaged` is called for them.
  package borrowing func transactionRuns(
    after sequence: UInt64, damaged: (DamagedLog) -> Void = { _ in },
    _ body: (_ sequence: UInt64, _ runs: [DocumentRun]) throws -> Bool
  ) throws {
    let slot = slot
    try pages.transactionRuns(after: sequence, through: lastNumber, damaged: damaged) { sequence, runs in
      try slot.check()
      return try body(sequence, runs)
    }
  }
}

extension DocumentPages {
  fileprivate func transactionRuns(
    after sequence: UInt64, through greatest: DocumentNumber, damaged: (DamagedLog) -> Void,
    _ body: (UInt64, [DocumentRun]) throws -> Bool
  ) throws {
    try access.scan(
      tables.log, from: LogKey.first(after: sequence).rawBytes,
      missed: { (failure) throws(StoreError) in
        guard let page = failure.damaged, page.from != nil || page.to != nil, let log = DamagedLog(failure)
        else { throw failure }
        damaged(log)
        return true
      }
    ) { key, stored in
      guard let name = LogKey(key), name.kind == .bound else { return true }
      guard let value = try? SmallRecord.open(stored, at: key, table: "log"),
        let record = try? LogRecord(value.rawBytes, kind: name.kind), record.lastMember <= greatest
      else { return true }
      let runs = record.runs.map { run in
        let (first, last) = (run.numbers.lowerBound, run.numbers.upperBound)
        return DocumentRun(collection: run.collection, numbers: DocumentNumber(first)...DocumentNumber(last))
      }
      return try body(name.sequence, runs)
    }
  }
}
