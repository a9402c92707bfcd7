package import CRDTCore
package import DocStore
import Synchronization
import SyncProtocol

/// The rules for one user: one predicate for each collection, to read and to write.
///
/// It is made once for an identity and asked for each document. What does not evaluate to true is denied, and
/// so is a collection that the rules do not name. A query that reads a claim which the user does not have
/// denies everything; that is no error.
package struct CompiledRules: Sendable {
  package let read: CompiledAccess
  package let write: CompiledAccess

  /// What a peer without a grant may do: everything but the system's collections.
  package static let everything = CompiledRules(.everything, claims: .none, user: nil)

  /// Compiles rules.
  ///
  /// - Parameters:
  ///   - rules: The rules.
  ///   - claims: The user's claims.
  ///   - user: The user's id, as the certificate has it; `nil` for a device without a user.
  /// - Complexity: O(*n* log *n*) in the bytes of the rules and claims.
  package init(_ rules: AccessRules, claims: Claims, user: String?) {
    let arguments = claims.arguments(user: user)
    read = CompiledAccess(rules.read, arguments)
    write = CompiledAccess(rules.write, arguments)
  }

  /// Whether any document of a collection may be readable; if not, nobody needs to look at its documents.
  package func mayReadAny(_ collection: String) -> Bool { read.mayAllowAny(in: collection) }

  /// Whether any document of a collection may be writable.
  package func mayWriteAny(_ collection: String) -> Bool { write.mayAllowAny(in: collection) }

  /// Whether the user may read a document, in the state that `record` has.
  package func mayRead(_ collection: Collection, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    read.rule(for: collection).allows(id, record)
  }

  /// Whether the user may write a document that has the state of `record`.
  ///
  /// Whoever judges a write asks this of the state before it and of the state after it.
  package func mayWrite(_ collection: Collection, _ id: RawSpan, _ record: borrowing RecordView) -> Bool {
    write.rule(for: collection).allows(id, record)
  }

  /// Whether the user may read a document with these values.
  package func mayRead(_ collection: String, _ id: DocumentID, _ fields: [TextKey: Value]) -> Bool {
    read.rule(for: collection).allows(id, fields)
  }

  /// Whether the user may write a document with these values.
  package func mayWrite(_ collection: String, _ id: DocumentID, _ fields: [TextKey: Value]) -> Bool {
    write.rule(for: collection).allows(id, fields)
  }
}

/// What one user may read, or what one user may write.
package struct CompiledAccess: Sendable {
  /// Whether it is every document of every collection but the system's.
  package let isEverything: Bool
  private let rules: [TextKey: CollectionRule]
  private let resolved = Resolved()

  init(_ access: AccessRules.Access, _ arguments: [TextKey: Value]) {
    isEverything = access.isEverything
    rules = access.queries.mapValues { CollectionRule($0, arguments) }
  }

  /// The collections of which some document may be allowed, in order; none where everything is.
  package var collections: [TextKey] { rules.filter { !$0.value.isNothing }.keys.sorted() }

  /// Whether any document of a collection may be allowed.
  package func mayAllowAny(in collection: String) -> Bool { !rule(for: collection).isNothing }

  /// The rule for a collection, by its name.
  ///
  /// Resolve it for the collection's keys before it is asked about records.
  package func rule(for collection: String) -> CollectionRule {
    guard CollectionName.maySync(collection) else { return .nothing }
    return isEverything ? .everything : rules[collection] ?? .nothing
  }

  /// The rule for a collection, resolved for its key table.
  package func rule(for collection: Collection) -> CollectionRule {
    resolved.rule(for: collection) { rule(for: collection.name) }
  }

  /// A cache of resolved rules, shared by copies.
  private final class Resolved: Sendable {
    private let ready = Mutex<[UInt32: CollectionRule]>([:])

    func rule(for collection: Collection, or make: () -> CollectionRule) -> CollectionRule {
      ready.withLock { ready in
        // Modify the value in place: taking it out and putting it back would copy it.
        ready[collection.id, default: make()].resolve(collection.keys)
        return ready[collection.id, default: .nothing]
      }
    }
  }
}
