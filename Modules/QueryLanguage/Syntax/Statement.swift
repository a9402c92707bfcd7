public import CRDTCore

/// A parsed statement of either query language.
public indirect enum Statement: Hashable, Sendable {
  case select(Select)
  /// Queries combined by UNION, INTERSECT and EXCEPT.
  case compound(CompoundSelect)
  case insert(Insert)
  case update(Update)
  /// DELETE, and its older name TOMBSTONE.
  case delete(Removal)
  case evict(Removal)
  case createIndex(CreateIndex)
  case dropIndex(DropIndex)
  case alterSystem(AlterSystem)
  case show(Show)
  /// The plan of a statement, which is not executed.
  case explain(Statement)
  /// A statement that is executed, and then reports the cost of each step of its plan.
  case profile(Statement)
  /// The best indexes for a statement; `provisioning` also creates them.
  case advise(Statement, provisioning: Bool)
}

/// A path into a document: a field name, then keys and array indexes.
public typealias FieldPath = [PathComponent]
