extension WriteTransaction {
  /// Stores new statistics of an index, unless the index was dropped meanwhile.
  func setStatistics(_ statistics: IndexStatistics?, ofIndex number: UInt32) throws {
    let access = try pagesToWrite("updateStatistics")
    settleIndexes()
    try withState { state in
      guard let (position, place) = state.place(ofIndex: number),
        state.collections[position].indexes[place].phase == .ready
      else { return }
      let key = IndexStatistics.key(number)
      try update { () throws(StoreError) in
        if let statistics {
          try SmallRecord.put(statistics.encode(), at: key, in: tables.indexes, access)
        } else {
          try access.delete(tables.indexes, key.rawBytes)
        }
      }
      state.collections[position].indexes[place].note(statistics)
      state.isCatalogueStale = true
    }
  }

  /// The ready indexes whose rows should be examined; statistics need at least `minimum` rows.
  func staleIndexes(minimum: Int) throws -> [IndexInfo] {
    _ = try pages()
    settleIndexes()
    return withState { state in
      state.collections.flatMap(\.indexes).filter { $0.isStale(minimum: minimum) }.compactMap(\.info)
    }
  }
}
