public import CRDTCore

/// A parsed statement of either query language.
public indirect enum Statement: Hashable, Sendable {
  case select(Select)
  /// Queries put together by UNION, INTERSECT and EXCEPT.
  case compound(CompoundSelect)
  case insert(Insert)
  case update(Update)
  /// DELETE, and TOMBSTONE, which is an older name of it.
  case delete(Removal)
  case evict(Removal)
  case createIndex(CreateIndex)
  case dropIndex(DropIndex)
  case alterSystem(AlterSystem)
  case show(Show)
  /// The plan of a statement that is not run.
  case explain(Statement)
  /// A statement that is run, and then says what each step of its plan cost.
  case profile(Statement)
  /// The indexes that would serve a statement; `provisioning` also creates them.
  case advise(Statement, provisioning: Bool)
}

/// A path into a document: a field name, then keys and array indexes.
public typealias FieldPath = [PathComponent]
