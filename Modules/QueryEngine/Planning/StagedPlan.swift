package import CRDTCore
package import DocStore

/// How a SELECT runs whose rows are not the documents of one collection: joined documents, or groups.
///
/// Rows go through stages as frames: what is needed of the documents is read into numbered slots once, and
/// expressions have `.path([.index(slot), …])` where they read one. After grouping the slots are the keys of
/// the group and then its aggregates.
package struct StagedPlan: Hashable, Sendable {
  /// The sources, in the order in which they are gone through.
  package var inputs: [Input]
  package var slotCount: Int
  /// What a row of documents must satisfy, as far as no input has seen to it.
  package var filter: Expression?
  package var grouping: Grouping?
  package var projection: FrameProjection
  package var distinct: Bool
  package var order: [SortKey]
  package var offset: Int
  package var limit: Int?
  /// The same for people.
  package var root: PlanNode

  /// A source and how its documents are found.
  package struct Input: Hashable, Sendable {
    @TextKey package var name: String
    /// Finds the documents as far as they depend on nothing else.
    package var plan: Plan
    /// What is read of each document; an empty path is all of it.
    package var paths: [FieldPath]
    /// The slot of the first path; the others follow.
    package var firstSlot: Int
    /// `nil` for the first source.
    package var join: JoinStep?
  }

  /// How documents are added to the rows of the sources before.
  package struct JoinStep: Hashable, Sendable {
    /// Whether rows without a partner stay.
    package var keepsUnmatched: Bool
    package var method: JoinMethod
    /// What must be true of a row and its partner.
    package var condition: Expression
  }

  package enum JoinMethod: Hashable, Sendable {
    /// The partner's id is the value of an expression.
    case id(Expression)
    /// The first field of an index equals the value of an expression.
    case index(IndexInfo, Expression)
    /// A field (an expression on the partner) equals the value of one on the row: a table of all partners is made.
    case hash(partner: Expression, row: Expression)
    /// Every document is tried.
    case scan
  }

  /// What makes rows of frames.
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

  /// Whether rows may stop coming before all were seen.
  package var stopsEarly: Bool { order.isEmpty && limit != nil && grouping == nil }
}

/// The groups of a query and what is computed of each.
package struct Grouping: Hashable, Sendable {
  package struct Call: Hashable, Sendable {
    package var aggregate: Aggregate
    package var distinct: Bool
    /// `nil` counts rows.
    package var operand: Expression?
  }

  package var keys: [Expression]
  package var calls: [Call]
  /// What a group must satisfy.
  package var condition: Expression?
}
