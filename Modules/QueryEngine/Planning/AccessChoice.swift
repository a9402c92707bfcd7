import CRDTCore
import DocStore

/// Chooses how to find the documents of one source if its ids do not decide that.
struct AccessChoice {
  /// The choice, and the work that it saves.
  struct Choice {
    var access: AccessPath
    /// Whether the documents arrive in the requested order.
    var isOrdered = false
    /// Whether the filter accepts every document that is found, apart from those of cut rows.
    var isExact = false
    /// Whether the rows contain all fields that are read of documents.
    var isCovering = false
  }

  /// The purpose of the search, apart from the condition.
  struct Purpose {
    var order: [SortKey] = []
    /// The most rows that are wanted; `nil` for all.
    var window: Int?
    /// Whether only the number of rows is wanted.
    var isCount = false
    /// The paths that are read of documents; `nil` for whole documents.
    var paths: [FieldPath]?
    /// Whether the rows of a whole index can replace all documents.
    var readsAll = false

    /// Whether the rows of an index contain all fields that are wanted.
    func isCovered(by index: IndexInfo) -> Bool { paths.map { index.definition.holds($0) } ?? false }
  }

  private let condition: Condition
  private let purpose: Purpose
  private let hints: Hints
  private let estimates: Estimates
  /// The sets of values that every accepted document satisfies.
  private let sets: [IndexTerm: ValueSet]
  private let indexes: [IndexInfo]
  private let documents: Double
  private var best: Choice?
  private var leastCost = Double.infinity

  /// The most scans of a union or an intersection.
  private static let maximumScans = 32
  /// The cost of visiting a document by its number; passing a row of an index costs 1, about 26 ns.
  private static let fetchCost = 30.0
  /// The cost of visiting a document where all are visited in order.
  private static let scanCost = 6.0
  private static let sortCost = 6.0
  /// The cost of recording the document of a row and looking it up among those of another index.
  private static let gatherCost = 5.0
  /// The cost of reading the values of a row instead, and a little for each field of the index.
  private static let readCost = 2.0
  private static let fieldCost = 0.1

  /// The best access path; `nil` when that is a scan of all documents.
  static func best(
    _ condition: Condition, _ entry: QueryCatalogue.Entry, _ hints: Hints, _ purpose: Purpose
  ) -> Choice? {
    var choice = AccessChoice(condition, entry, hints, purpose)
    guard !choice.indexes.isEmpty else { return nil }
    choice.consider()
    return choice.best
  }

  private init(_ condition: Condition, _ entry: QueryCatalogue.Entry, _ hints: Hints, _ purpose: Purpose) {
    self.condition = condition
    self.purpose = purpose
    self.hints = hints
    estimates = Estimates(entry.indexes)
    sets = condition.sets
    indexes = hints.candidates(among: entry.indexes)
    documents = Double(max(entry.documentCount, 1))
    if let cost = scanCost { leastCost = cost }
  }

  /// The cost of a scan of all documents; `nil` where an index is assumed to be better in any case.
  ///
  /// This is the case where the values are unknown, and where all documents have to be sorted, which may need
  /// more memory than there is.
  private var scanCost: Double? {
    guard estimates.areInformed, hints.indexes == nil else { return nil }
    guard let window = purpose.window else { return purpose.order.isEmpty ? documents * Self.scanCost : nil }
    guard purpose.order.isEmpty else { return documents * (Self.scanCost + Self.sortCost) }
    return min(documents, Double(window) / max(estimates.share(of: condition), 1e-9)) * Self.scanCost
  }

  private mutating func consider() {
    let fits = indexes.compactMap { IndexFit($0, sets, estimates) }
    if hints.prefersOrder == true, !purpose.order.isEmpty {
      for fit in fits + indexes.compactMap({ IndexFit(whole: $0) }) { consider(fit, ifOrdered: true) }
      if best != nil { return }
    }
    for fit in fits { consider(fit) }
    considerIntersection(of: fits)
    considerUnions()
    if purpose.readsAll {
      for index in indexes where purpose.isCovered(by: index) {
        if let fit = IndexFit(whole: index) { consider(fit) }
      }
    }
    // Without a bound, reading everything by an index is worthwhile only where no document is left out.
    guard !purpose.order.isEmpty, purpose.window != nil || condition.saysNothing else { return }
    for fit in indexes.compactMap({ IndexFit(whole: $0) }) { consider(fit, ifOrdered: true) }
  }

  private mutating func consider(_ choice: Choice, cost: Double) {
    guard cost < leastCost else { return }
    (best, leastCost) = (choice, cost)
  }

  // MARK: - One index

  private mutating func consider(_ fit: IndexFit, ifOrdered: Bool = false) {
    if fit.repeatsDocuments { return considerOnce(fit, ifOrdered: ifOrdered) }
    let constants = Set(sets.filter { $0.value.isPoint }.keys)
    let reversed = fit.isReversed(for: purpose.order, constants: constants)
    guard reversed != nil || !ifOrdered else { return }
    let isExact = condition.isExact && fit.settles(condition)
    var rows = documents * fit.share
    if reversed != nil, let window = purpose.window, !purpose.isCount {
      // The rows that the filter accepts are assumed to be evenly distributed.
      let passing = min(estimates.share(of: condition) / fit.share, 1)
      rows = min(rows, Double(window) / max(passing, 1e-9))
    }
    let sort = reversed == nil ? Self.sortCost : 0
    let isCovering = purpose.isCovered(by: fit.index)
    let read = Self.readCost + Self.fieldCost * Double(fit.index.definition.fields.count)
    let fetch = purpose.isCount && isExact ? 0 : isCovering ? read : Self.fetchCost
    let scan = IndexScan(fit.index, fit.spans, reversed: reversed ?? false)
    consider(
      Choice(
        access: .index(scan), isOrdered: !purpose.order.isEmpty && reversed != nil, isExact: isExact,
        isCovering: isCovering),
      cost: rows * (1 + fetch + sort))
  }

  /// Finds documents of which some have several rows, each document once.
  private mutating func considerOnce(_ fit: IndexFit, ifOrdered: Bool) {
    guard !ifOrdered || purpose.order.isEmpty else { return }
    let sort = purpose.order.isEmpty ? 0 : Self.sortCost
    consider(
      Choice(access: .union([IndexScan(fit.index, fit.spans)])),
      cost: documents * fit.share * (1 + Self.fetchCost + sort))
  }

  // MARK: - Several

  /// An intersection of two or more indexes, where reading more rows saves fetching documents.
  private mutating func considerIntersection(of fits: [IndexFit]) {
    let sorted = fits.enumerated().sorted { ($0.element.share, $0.offset) < ($1.element.share, $1.offset) }
    guard var scans = sorted.first.map({ [$0.element] }), let first = scans.first else { return }
    var known = first.narrowedTerms
    var share = first.share
    var rows = first.share
    for (_, fit) in sorted.dropFirst() where scans.count < min(hints.maximumScans ?? 2, Self.maximumScans) {
      guard known.isDisjoint(with: fit.narrowedTerms) else { continue }
      // Reading its rows has to cost less than fetching the documents that they rule out.
      guard Self.gatherCost * fit.share < Self.fetchCost * share * (1 - fit.share) else { continue }
      scans.append(fit)
      known.formUnion(fit.narrowedTerms)
      rows += fit.share
      share *= fit.share
    }
    guard scans.count > 1 else { return }
    let sort = purpose.order.isEmpty ? 0 : Self.sortCost
    consider(
      Choice(access: .intersection(scans.map { IndexScan($0.index, $0.spans) })),
      cost: documents * (rows * Self.gatherCost + share * (Self.fetchCost + sort)))
  }

  /// A union of indexes, where every branch of an OR has its index.
  private mutating func considerUnions() {
    for branches in condition.alternatives {
      guard branches.count <= min(hints.maximumScans ?? Self.maximumScans, Self.maximumScans) else {
        continue
      }
      let fits = branches.compactMap { branch in
        indexes.compactMap { IndexFit($0, branch.sets, estimates) }
          .min { $0.share < $1.share }
      }
      guard fits.count == branches.count else { continue }
      let rows = documents * min(fits.reduce(0) { $0 + $1.share }, 1)
      let sort = purpose.order.isEmpty ? 0 : Self.sortCost
      consider(
        Choice(access: .union(fits.map { IndexScan($0.index, $0.spans) })),
        cost: rows * (1 + Self.fetchCost + sort))
    }
  }
}

extension Condition {
  /// The sets of values that a document satisfies in any case.
  var sets: [IndexTerm: ValueSet] {
    switch kind {
    case .field(let term, let set): return [term: set]
    case .all(let terms):
      return terms.reduce(into: [:]) { sets, term in
        if case .field(let term, let set) = term.kind { sets[term] = set }
      }
    case .always, .never, .any: return [:]
    }
  }

  /// Lists of conditions; a document satisfies at least one condition of each list.
  fileprivate var alternatives: [[Condition]] {
    switch kind {
    case .any(let branches): [branches]
    case .all(let terms): terms.flatMap(\.alternatives)
    case .always, .never, .field: []
    }
  }

  /// Whether every document satisfies it and is accepted.
  fileprivate var saysNothing: Bool { kind == .always && isExact }
}

extension IndexFit {
  /// Whether the spans are equivalent to a condition.
  fileprivate func settles(_ condition: Condition) -> Bool {
    switch condition.kind {
    case .always: true
    case .field, .all: condition.alternatives.isEmpty && settledTerms.isSuperset(of: condition.sets.keys)
    case .never, .any: false
    }
  }
}

extension Hints {
  /// The indexes among which USE INDEX leaves a choice; unknown names are ignored.
  fileprivate func candidates(among all: [IndexInfo]) -> [IndexInfo] {
    guard let names = indexes else { return all }
    if names.isEmpty { return [] }
    let named = all.filter { names.contains($0.definition.$name) }
    return named.isEmpty ? all : named
  }
}
