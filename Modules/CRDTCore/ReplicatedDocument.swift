/// A document as one replica has it: its fields and its merge metadata, in one array of bytes.
///
/// The bytes are a ``Record``: they refer to the dictionaries of the ``Replica`` that made them, and have no
/// meaning with another replica's. Send ``Replica/encoding(of:)`` or ``Replica/delta(of:since:)`` to other
/// replicas.
public struct ReplicatedDocument: Hashable, Sendable {
  /// The bytes to store; `nil` for a document of which nothing is known.
  public internal(set) var record: Record?
  /// The hash of the state: equal states have equal summaries at every replica.
  public internal(set) var summary = Summary.zero
  /// Whether the document exists: it was written, and not deleted since.
  public internal(set) var isAlive = false

  /// Makes a document of which nothing is known yet.
  public init() {}

  init(_ encoded: EncodedDocument) {
    record = Record(bytes: encoded.record)
    summary = encoded.summary
    isAlive = encoded.isAlive
  }
}
