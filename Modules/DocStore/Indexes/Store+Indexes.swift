import CRDTCore

extension Store {
  /// Creates an index and its rows for all documents, while other transactions read and write.
  ///
  /// It works in slices of at most 50 ms of the writer's time. If the process ends before the index is
  /// complete, the store continues when it is opened next.
  /// - Parameters:
  ///   - definition: What to index.
  ///   - progress: Called after each slice; if it throws, the index is dropped.
  /// - Returns: The number of the index, which is ready.
  /// - Throws: `indexExists`, `invalidIndex`, `invalidCollectionName`; `corrupt` for a damaged document; what
  ///   `progress` throws; otherwise like `write(origin:hint:_:)`. After any error there is no such index.
  @discardableResult
  public func createIndex(
    _ definition: IndexDefinition, progress: (IndexProgress) throws -> Void = { _ in }
  ) throws -> UInt32 {
    let number = try write { try $0.createIndex(definition) }.0
    do {
      while let state = try write({ [slice] in try $0.extendIndex(number, until: slice.end()) }).0 {
        try progress(state)
      }
    } catch {
      try? dropIndex(number, in: definition.collection)
      throw error
    }
    surveyBuilt(number, definition)
    return number
  }

  /// The asynchronous form of `createIndex(_:progress:)`; cancelling the task drops the index.
  @discardableResult
  public func createIndex(
    _ definition: IndexDefinition, progress: @Sendable (IndexProgress) throws -> Void = { _ in }
  ) async throws -> UInt32 {
    let slice = slice
    let number = try await write { try $0.createIndex(definition) }.0
    do {
      while let state = try await write({ try $0.extendIndex(number, until: slice.end()) }).0 {
        try Task.checkCancellation()
        try progress(state)
      }
    } catch {
      // In a new task, because a cancelled task can no longer wait for a write.
      await Task { _ = try? await self.dropIndex(number, in: definition.collection) }.value
      throw error
    }
    await surveyBuilt(number, definition)
    return number
  }

  /// Drops an index: queries cannot use it from now on, and its rows are removed before this returns.
  ///
  /// The rows are removed in slices.
  /// - Throws: `indexNotFound`; otherwise like `write(origin:hint:_:)`.
  public func dropIndex(_ name: String, on collection: String) throws {
    let number = try write { try $0.dropIndex({ $0.definition.name.isSame(as: name) }, in: collection) }.0
    guard let number else { throw Self.noIndex(name, collection) }
    while try !write({ [slice] in try $0.removeRows(ofIndex: number, until: slice.end()) }).0 {}
  }

  /// The asynchronous form of `dropIndex(_:on:)`.
  public func dropIndex(_ name: String, on collection: String) async throws {
    let slice = slice
    let number = try await write { try $0.dropIndex({ $0.definition.name.isSame(as: name) }, in: collection) }
      .0
    guard let number else { throw Self.noIndex(name, collection) }
    while try await !write({ try $0.removeRows(ofIndex: number, until: slice.end()) }).0 {}
  }

  private func dropIndex(_ number: UInt32, in collection: String) throws {
    guard try write({ try $0.dropIndex({ $0.number == number }, in: collection) }).0 != nil else { return }
    while try !write({ [slice] in try $0.removeRows(ofIndex: number, until: slice.end()) }).0 {}
  }

  private func dropIndex(_ number: UInt32, in collection: String) async throws {
    let slice = slice
    let found = try await write { try $0.dropIndex({ $0.number == number }, in: collection) }.0
    guard found != nil else { return }
    while try await !write({ try $0.removeRows(ofIndex: number, until: slice.end()) }).0 {}
  }

  private var slice: WriterSlice { WriterSlice(options) }

  private static func noIndex(_ name: String, _ collection: String) -> StoreError {
    StoreError(
      .indexNotFound, "The collection \(collection) has no index called \(name)", operation: "dropIndex")
  }
}

/// How long divisible work occupies the writer at a time.
struct WriterSlice: Sendable {
  private let duration: Duration
  private let clock: @Sendable () -> Duration

  init(_ options: StoreOptions) {
    duration = options.writerSlice
    clock = options.monotonic
  }

  /// Begins a slice and returns a function that returns whether the slice is over.
  func end() -> () -> Bool {
    let end = clock() + duration
    return { [clock] in clock() >= end }
  }
}
