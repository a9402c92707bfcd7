import CRDTCore

extension Store {
  /// Creates an index and gives every document its row, while others go on reading and writing.
  ///
  /// It works in slices of at most 50 ms of the writer's time. Should the process end before it is done,
  /// the store goes on with it when it is opened next.
  /// - Parameters:
  ///   - definition: What to index.
  ///   - progress: Called after each slice; when it throws, the index is dropped.
  /// - Returns: The number of the index, which is ready.
  /// - Throws: `indexExists`, `invalidIndex`, `invalidCollectionName`; `corrupt` for a damaged document; what
  ///   `progress` throws; else as `write(origin:hint:_:)`. After any of them there is no such index.
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

  /// As the form that blocks; a task that is cancelled drops the index.
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
      // A task of its own, for the one that was cancelled cannot wait for anything any more.
      await Task { _ = try? await self.dropIndex(number, in: definition.collection) }.value
      throw error
    }
    await surveyBuilt(number, definition)
    return number
  }

  /// Drops an index: it is gone at once, and its rows are removed in slices before this returns.
  ///
  /// - Throws: `indexNotFound`; else as `write(origin:hint:_:)`.
  public func dropIndex(_ name: String, on collection: String) throws {
    let number = try write { try $0.dropIndex({ $0.definition.name.isSame(as: name) }, in: collection) }.0
    guard let number else { throw Self.noIndex(name, collection) }
    while try !write({ [slice] in try $0.removeRows(ofIndex: number, until: slice.end()) }).0 {}
  }

  /// As the form that blocks.
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

/// How long work that can be divided holds on to the writer at a time.
struct WriterSlice: Sendable {
  private let duration: Duration
  private let clock: @Sendable () -> Duration

  init(_ options: StoreOptions) {
    duration = options.writerSlice
    clock = options.monotonic
  }

  /// Tells whether a slice that begins now is over.
  func end() -> () -> Bool {
    let end = clock() + duration
    return { [clock] in clock() >= end }
  }
}
