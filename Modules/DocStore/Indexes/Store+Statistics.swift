extension Store {
  /// Examines the rows of indexes, so that the planner chooses plans by their present statistics.
  ///
  /// A store does this by itself when an index is built, and again when a fifth of its rows has changed.
  /// - Parameter name: The collection with the indexes; `nil` for all collections.
  /// - Throws: `corrupt` for a damaged row; otherwise like `write(origin:hint:_:)`.
  /// - Complexity: O(*n*) in the rows; in slices, between which other transactions read and write.
  public func updateStatistics(of name: String? = nil) throws {
    let indexes = try read { transaction in
      let names = try name.map { [$0] } ?? transaction.collections().map(\.name)
      var indexes: [IndexInfo] = []
      for name in names {
        guard let collection = try transaction.collection(name) else { continue }
        indexes += try transaction.indexes(of: collection).filter { $0.state == .ready }
      }
      return indexes
    }
    for index in indexes { try updateStatistics(of: index) }
  }

  /// Examines the rows of one index.
  private func updateStatistics(of index: IndexInfo) throws {
    var survey = IndexSurvey(index)
    while try read(&survey) {}
    let statistics = survey.statistics(minimum: options.statisticsMinimum)
    try write { try $0.setStatistics(statistics, ofIndex: index.number) }
  }

  /// Examines the rows of an index that was just built; if that fails, the index works without statistics.
  ///
  /// An index with few rows has none, so nothing is written for it.
  func surveyBuilt(_ number: UInt32, _ definition: IndexDefinition) {
    guard let index = builtIndex(number, definition), index.rowCount >= options.statisticsMinimum else {
      return
    }
    try? updateStatistics(of: index)
  }

  /// The asynchronous form of `surveyBuilt(_:_:)`.
  func surveyBuilt(_ number: UInt32, _ definition: IndexDefinition) async {
    guard let index = builtIndex(number, definition), index.rowCount >= options.statisticsMinimum else {
      return
    }
    var survey = IndexSurvey(index)
    do {
      while try read(&survey) { await Task.yield() }
      let statistics = survey.statistics(minimum: options.statisticsMinimum)
      _ = try await write { try $0.setStatistics(statistics, ofIndex: number) }
    } catch {}
  }

  private func builtIndex(_ number: UInt32, _ definition: IndexDefinition) -> IndexInfo? {
    try? read { transaction in
      guard let collection = try transaction.collection(definition.collection) else { return nil }
      return try transaction.indexes(of: collection).first { $0.number == number && $0.state == .ready }
    }
  }

  private func read(_ survey: inout IndexSurvey) throws -> Bool {
    try read { transaction in
      try survey.read(
        transaction.pages.access, transaction.pages.tables, until: WriterSlice(options).end())
    }
  }
}
