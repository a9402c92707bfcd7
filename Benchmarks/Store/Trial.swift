import Foundation

/// One measurement in a process of its own: one store, one kind of work.
struct Trial: Codable {
  enum Work: String, Codable {
    /// Fills an empty store, `batch` documents a transaction.
    case insert
    /// Fetches random documents, in one snapshot and then each in its own.
    case read
    /// Changes one field of random documents, `batch` a transaction.
    case update
    /// Commits documents one by one, from one task.
    case commitAlone
    /// Commits documents one by one, from 16 tasks at once.
    case commitTogether
    /// Opens the store.
    case open
    /// Opens the store and has it give back what its files take in vain.
    case compact
  }

  var contender: ContenderName
  var work: Work
  var directory: String
  var corpus: String
  var count: Int
  var batch = 1_000
  var field = ""
  var indexes: [IndexPlan] = []
}
