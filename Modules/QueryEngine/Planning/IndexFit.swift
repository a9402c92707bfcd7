import CRDTCore
import DocStore

/// The use of one index for a condition: the rows to read, and their order.
struct IndexFit {
  let index: IndexInfo
  let spans: [IndexSpan]
  /// The number of the index's first fields that the spans narrow.
  let narrowedFields: Int
  /// The number of the index's first fields that the spans settle.
  ///
  /// If a field is settled, the condition accepts its value in every row of the spans, apart from cut rows.
  let settledFields: Int
  /// The estimated share of all rows that are in the spans.
  let share: Double
  /// Whether one document may have several of the rows.
  let repeatsDocuments: Bool

  /// Fails when the condition does not narrow the index's first field.
  ///
  /// It also fails where documents without elements would be left out.
  ///
  /// - Parameters:
  ///   - index: A ready index.
  ///   - sets: The condition's sets of values, by field.
  ///   - estimates: The estimates of the index's values.
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

  /// All rows of an index; fails where some documents have no row, or several.
  init?(whole index: IndexInfo) {
    if index.definition.hasElements { return nil }
    repeatsDocuments = false
    self.index = index
    spans = [IndexSpan()]
    narrowedFields = 0
    settledFields = 0
    share = 1
  }

  /// The fields that the spans narrow.
  var narrowedTerms: Set<IndexTerm> { terms(narrowedFields) }

  /// The fields that the spans settle.
  var settledTerms: Set<IndexTerm> { terms(settledFields) }

  private func terms(_ count: Int) -> Set<IndexTerm> {
    Set(index.definition.fields.prefix(count).map(\.term))
  }

  /// Whether the rows, read forwards or backwards, are in a requested order.
  ///
  /// - Parameters:
  ///   - keys: The keys of ORDER BY.
  ///   - constants: The fields that are equal in all rows.
  /// - Returns: Whether they must be read backwards; `nil` when they are in another order.
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
