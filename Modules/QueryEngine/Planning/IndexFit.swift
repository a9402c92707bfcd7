import CRDTCore
import DocStore

/// What one index does for a condition: the rows that have to be looked at, and in which order they come.
struct IndexFit {
  let index: IndexInfo
  let spans: [IndexSpan]
  /// How many of the index's first fields the spans narrow.
  let narrowedFields: Int
  /// How many of the index's first fields the spans settle: the spans have no row with a value there that the
  /// condition does not accept, but for cut rows.
  let settledFields: Int
  /// The part of all rows that the spans are likely to have.
  let share: Double
  /// Whether one document may stand in several of the rows.
  let repeatsDocuments: Bool

  /// Fails when the condition says nothing of the index's first field, and where documents without elements
  /// would be left out.
  ///
  /// - Parameters:
  ///   - index: A ready index.
  ///   - sets: What the condition says of fields.
  ///   - estimates: What is known of the index's values.
  init?(_ index: IndexInfo, _ sets: [IndexTerm: ValueSet], _ estimates: Estimates) {
    let fields = index.definition.fields
    var builder = SpanBuilder()
    var share = 1.0
    for field in fields {
      guard let set = sets[field.term], builder.narrow(to: set, descending: field.isDescending) else { break }
      share *= index.statistics == nil ? estimates.share(of: set, at: field.term) : 1
    }
    let narrowed = builder.narrowedFields
    guard narrowed > 0, fields[narrowed...].allSatisfy({ $0.part != .elements }) else { return nil }
    self.index = index
    spans = builder.spans
    narrowedFields = narrowed
    settledFields = builder.settledFields
    repeatsDocuments = fields.contains { $0.part == .elements && sets[$0.term]?.isPoint != true }
    self.share = estimates.share(of: spans, in: index) ?? share
  }

  /// All rows of an index; fails where some documents have none, or several.
  init?(whole index: IndexInfo) {
    if index.definition.hasElements { return nil }
    repeatsDocuments = false
    self.index = index
    spans = [IndexSpan()]
    narrowedFields = 0
    settledFields = 0
    share = 1
  }

  /// The fields of which the spans say something.
  var narrowedTerms: Set<IndexTerm> { terms(narrowedFields) }

  /// The fields of which the spans say all that the condition does.
  var settledTerms: Set<IndexTerm> { terms(settledFields) }

  private func terms(_ count: Int) -> Set<IndexTerm> {
    Set(index.definition.fields.prefix(count).map(\.term))
  }

  /// Whether the rows, read forwards or backwards, come in an order.
  ///
  /// - Parameters:
  ///   - keys: The keys of ORDER BY.
  ///   - constants: The fields that are equal in all rows.
  /// - Returns: Whether they have to be read backwards; `nil` when they come in another order.
  func isReversed(for keys: [SortKey], constants: Set<IndexTerm>) -> Bool? {
    var reversed: Bool?
    var known = constants
    var fields = index.definition.fields[...]
    for key in keys {
      if case .literal = key.expression { continue }
      guard let wanted = IndexTerm(key.expression) else { return nil }
      if known.contains(wanted) { continue }
      while let field = fields.first, field.term != wanted, constants.contains(field.term) {
        fields.removeFirst()
      }
      guard let field = fields.popFirst(), field.term == wanted else { return nil }
      let turns = field.isDescending != key.descending
      guard turns == reversed ?? turns else { return nil }
      reversed = turns
      known.insert(wanted)
    }
    return reversed ?? false
  }
}
