#if Server
  import CRDTCore
  import DocStore
  import QueryEngine

  /// The documents whose content a response contains, and without which it must not be kept.
  struct AnswerContent {
    /// The maximum number of documents that are kept one by one; beyond it, the collection stands for them.
    private static let documentLimit = 1_000

    private(set) var documents: [HashedDocument] = []

    var isEmpty: Bool { documents.isEmpty }

    /// Adds what the rows of a statement that writes may contain.
    ///
    /// These are the documents that it has written, and any document of a collection that it reads besides.
    ///
    /// - Parameters:
    ///   - statement: The statement.
    ///   - ids: The documents that it has written.
    mutating func add(rowsOf statement: Statement, on ids: [DocumentID]) {
      for use in statement.uses ?? [] {
        let collection = use.collection.text
        if use.isWrite, ids.count <= Self.documentLimit {
          documents += ids.map { HashedDocument(collection: collection, id: $0) }
        } else {
          documents.append(HashedDocument(anyOf: collection))
        }
      }
    }
  }
#endif
