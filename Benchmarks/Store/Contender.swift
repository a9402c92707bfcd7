import BenchmarkSupport

/// The stores that are compared.
enum ContenderName: String, Codable, CaseIterable, ContenderTitle {
  /// LMDB from C, JSON texts under ids.
  case lmdb
  /// SQLite through GRDB, JSON texts in a column.
  case sqlite
  case dunlin

  var title: String {
    switch self {
    case .lmdb: "raw LMDB"
    case .sqlite: "SQLite"
    case .dunlin: "Dunlin"
    }
  }
}

/// What is kept in order beside the documents: one or two fields each.
struct IndexPlan: Codable {
  var name: String
  var fields: [String]
}

/// A store in a directory of its own, through the interface its users have.
///
/// Batches and keys are prepared in the form the store takes before the clock starts.
protocol Contender {
  associatedtype Batch
  associatedtype Key

  init(directory: String, indexes: [IndexPlan]) throws
  func prepare(_ documents: [CorpusDocument]) throws -> Batch
  func key(_ id: String) throws -> Key
  /// Writes a batch in one durable transaction.
  func insert(_ batch: Batch) throws
  /// Writes documents one a durable transaction, from so many tasks at once.
  func commitEach(_ documents: [CorpusDocument], tasks: Int) async throws
  /// Fetches documents, in one snapshot or each in its own, and returns the bytes seen.
  func read(_ keys: [Key], oneSnapshot: Bool) throws -> Int
  /// Gives one field of each document another number, in one durable transaction.
  func update(_ keys: [Key], field: String, to values: [Int64]) throws
  func count() throws -> Int
  /// Gives back what the files take in vain, by the means that the store has for it.
  func compact() throws
  func close() throws
}
