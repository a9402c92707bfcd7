public import Observation

/// The present result of a SELECT, for views: a view that has read it is notified of changes.
///
/// ```swift
/// struct CarList: View {
///   @State var cars: DunlinLiveResults<Car>
///   var body: some View { List(cars.items) { Text($0.name) } }
/// }
/// ```
///
/// Rows are read and decoded off the main actor. Changes that come meanwhile are combined, so that a slow
/// view gets the newest result. The observation lasts until the object is released, or until `cancel()`.
///
/// A row that does not fit the type is left out, and the others are shown: a newer version of the application
/// may have written it.
@MainActor @Observable public final class DunlinLiveResults<Item: Decodable & Sendable> {
  /// The rows of the result that fit, empty until the first result arrives; they stay after the observation.
  public private(set) var items: [Item] = []
  /// Whether the first result of the query has not arrived yet.
  public private(set) var isLoading = true
  /// The rows of the result that do not fit.
  public private(set) var unfit: [DunlinUnfitRow] = []
  /// What is wrong: `decoding` while a row does not fit, or the error that has ended the observation.
  public private(set) var error: DunlinError?
  @ObservationIgnored private let store: DunlinStore
  @ObservationIgnored private var task: Task<Void, Never>?

  init(_ diffs: DunlinTypedDiffs<Item>, _ store: DunlinStore) {
    self.store = store
    follow(diffs)
  }

  deinit { task?.cancel() }

  /// Shows the result of another query, for example when the user has typed into a search field.
  ///
  /// The items stay unchanged until the first result of the new query arrives.
  ///
  /// - Throws: `syntax`, `argument`; `unsupported` for other statements than SELECT. The former query then
  ///   continues.
  public func setQuery(_ query: String, arguments: [String: Any?] = [:]) throws {
    follow(try store.changes(of: query, arguments: arguments, as: Item.self, unfit: .leaveOut))
  }

  /// Ends the observation; the items stay.
  public func cancel() {
    task?.cancel()
    isLoading = false
  }

  private func follow(_ diffs: DunlinTypedDiffs<Item>) {
    task?.cancel()
    isLoading = true
    error = nil
    task = Task { [weak self] in
      await Self.follow(diffs) { self?.show($0) }
    }
  }

  /// Runs until the task is cancelled, the database is closed, or a row cannot be read.
  @concurrent private static func follow(
    _ diffs: DunlinTypedDiffs<Item>, _ show: @MainActor (Result<DunlinTypedDiff<Item>, DunlinError>) -> Void
  ) async {
    do throws(DunlinError) {
      for try await diff in diffs { await show(.success(diff)) }
    } catch {
      await show(.failure(error))
    }
  }

  private func show(_ result: Result<DunlinTypedDiff<Item>, DunlinError>) {
    // A result of the former query may have been in flight.
    guard !Task.isCancelled else { return }
    isLoading = false
    switch result {
    case .success(let diff):
      items = diff.items
      guard !(unfit.isEmpty && diff.unfit.isEmpty) else { return }
      unfit = diff.unfit
      error = unfit.first?.error
    case .failure(let error): self.error = error
    }
  }
}

extension DunlinStore {
  /// Observes the result of a SELECT for views, decoded as a type of the application.
  ///
  /// - Parameters:
  ///   - query: The statement.
  ///   - arguments: The values of its parameters.
  ///   - type: The type of each decoded row.
  /// - Returns: The result, empty until the first one has been read.
  /// - Throws: `syntax`, `argument`; `unsupported` for other statements than SELECT.
  @MainActor public func liveResults<T: Decodable & Sendable>(
    of query: String, arguments: [String: Any?] = [:], as type: T.Type
  ) throws -> DunlinLiveResults<T> {
    DunlinLiveResults(try changes(of: query, arguments: arguments, as: type, unfit: .leaveOut), self)
  }

  /// Observes the result of a SELECT for views, with the fields that a value encodes as arguments.
  ///
  /// - Throws: As the form for dictionaries, and what the value's own encoding throws.
  @_disfavoredOverload
  @MainActor public func liveResults<T: Decodable & Sendable>(
    of query: String, arguments: some Encodable, as type: T.Type
  ) throws -> DunlinLiveResults<T> {
    DunlinLiveResults(try changes(of: query, arguments: arguments, as: type, unfit: .leaveOut), self)
  }
}
