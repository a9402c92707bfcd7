import CRDTCore
import DocStore

/// The state that a live query keeps, so that it can apply a commit as a difference.
protocol LiveContent: Sendable {
  /// The result, in order.
  var rows: RowList<Row> { get }

  /// Reads the whole result.
  mutating func fill(from transaction: borrowing ReadTransaction, _ engine: Engine) throws

  /// Applies a commit.
  mutating func follow(_ commit: Commit) throws -> LiveProgress
}

/// The effect of a commit.
enum LiveProgress {
  /// The commit touches nothing on which the result depends.
  case untouched
  /// The result is up to date; with its changes, where they are known.
  case followed(ResultDiff? = nil)
  /// The whole result has to be read again.
  case stale
}

/// The documents of one collection that a commit touched, each once, before and after it.
struct TouchedDocuments {
  struct Document {
    let id: DocumentID
    let before: Record?
    var after: Record?
  }

  private(set) var documents: [Document] = []
  /// The field names of all the records; `nil` when the commit touched none.
  private(set) var keys: KeyTable?

  init(_ commit: Commit, in collection: String) {
    var places: [DocumentID: Int] = [:]
    var latest: (number: UInt32, isThis: Bool)?
    for change in commit.changes {
      if latest?.number != change.key.collection {
        let changed = change.collection
        let isThis = changed.name.isSame(as: collection)
        latest = (changed.id, isThis)
        if isThis { keys = changed.keys }
      }
      guard latest?.isThis ?? false else { continue }
      if let place = places[change.id] {
        documents[place].after = change.after
      } else {
        places[change.id] = documents.count
        documents.append(Document(id: change.id, before: change.before, after: change.after))
      }
    }
  }
}
