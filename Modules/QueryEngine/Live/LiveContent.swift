import CRDTCore
import DocStore

/// What a live query keeps of the store, so that a commit changes its result by a difference.
protocol LiveContent: Sendable {
  /// The result, in order.
  var rows: RowList<Row> { get }

  /// Reads everything.
  mutating func fill(from transaction: borrowing ReadTransaction, _ engine: Engine) throws

  /// Takes in a commit.
  mutating func follow(_ commit: Commit) throws -> LiveProgress
}

/// What became of a commit.
enum LiveProgress {
  /// It touches nothing that the result depends on.
  case untouched
  /// The result is up to date; with what that changed in it where it is known.
  case followed(ResultDiff? = nil)
  /// Everything has to be read again.
  case stale
}

/// The documents of one collection that a commit touched, each once, as they were and as they are.
struct TouchedDocuments {
  struct Document {
    let id: DocumentID
    let before: Record?
    var after: Record?
  }

  private(set) var documents: [Document] = []
  /// The field names that all the records go by; `nil` when the commit touched none.
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
