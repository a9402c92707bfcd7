package import CRDTCore
package import DocStore

/// The plan of a SELECT whose rows are joined documents or groups, and not one collection's documents.
///
/// Rows pass through stages as frames. The values that the query needs of a document are read into numbered
/// slots once, and expressions refer to a slot as `.path([.index(slot), …])`. After grouping, the slots are
/// the keys of the group and then its aggregates.
package struct StagedPlan: Hashable, Sendable {
  /// The sources, in the order in which they are read.
  package var inputs: [Input]
  package var slotCount: Int
  /// The condition on a row of documents, as far as no input has tested it already.
  package var filter: Expression?
  package var grouping: Grouping?
  package var projection: FrameProjection
  package var distinct: Bool
  package var order: [SortKey]
  package var offset: Int
  package var limit: Int?
  /// The same plan as operators, for display.
  package var root: PlanNode

  /// A source and how its documents are found.
  package struct Input: Hashable, Sendable {
    @TextKey package var name: String
    /// Finds the documents, as far as that depends on nothing else.
    package var plan: Plan
    /// The paths that are read of each document; an empty path is the whole document.
    package var paths: [FieldPath]
    /// The slot of the first path; the others follow.
    package var firstSlot: Int
    /// `nil` for the first source.
    package var join: JoinStep?
  }

  /// How documents are added to the rows of the sources before.
  package struct JoinStep: Hashable, Sendable {
    /// Whether rows without a partner are kept.
    package var keepsUnmatched: Bool
    package var method: JoinMethod
    /// The condition on a row and its partner.
    package var condition: Expression
  }

  package enum JoinMethod: Hashable, Sendable {
    /// The partner's id is the value of an expression.
    case id(Expression)
    /// The first field of an index equals the value of an expression.
    case index(IndexInfo, Expression)
    /// A field of the partner equals the value of an expression on the row.
    ///
    /// It uses a hash table of all partners; the field is an expression on the partner.
    case hash(partner: Expression, row: Expression)
    /// Every document is tried.
    case scan
  }

  /// How rows are made of frames.
  package enum FrameProjection: Hashable, Sendable {
    /// An object for each source: its name and the slot of its whole document.
    case documents([NamedSlot])
    case columns([Select.Column])
    case elements([FrameElement])
  }

  package struct NamedSlot: Hashable, Sendable {
    @TextKey package var name: String
    package var slot: Int
  }

  package enum FrameElement: Hashable, Sendable {
    case document(slot: Int)
    case without(FieldPath)
    case column(Select.Column)
  }

  /// Whether it may end before all rows were read.
  package var stopsEarly: Bool { order.isEmpty && limit != nil && grouping == nil }
}

/// The groups of a query, and the aggregates of each.
package struct Grouping: Hashable, Sendable {
  package struct Call: Hashable, Sendable {
    package var aggregate: Aggregate
    package var distinct: Bool
    /// `nil` counts rows.
    package var operand: Expression?
  }

  package var keys: [Expression]
  package var calls: [Call]
  /// The condition on groups.
  package var condition: Expression?
}
