import CRDTCore
import DocStore

/// Chooses how the documents of one source are found where its ids do not say it.
struct AccessChoice {
  /// What was chosen, and what it spares.
  struct Choice {
    var access: AccessPath
    /// Whether the documents come in the order that is asked for.
    var isOrdered = false
    /// Whether the filter accepts every document found, but for those of cut rows.
    var isExact = false
    /// Whether the rows have all that is read of documents.
    var isCovering = false
  }

  /// What is to be found, beside the condition.
  struct Purpose {
    var order: [SortKey] = []
    /// How many rows are wanted at most; `nil` for all.
    var window: Int?
    /// Whether no more is wanted than how many there are.
    var isCount = false
    /// What is read of documents; `nil` for all.
    var paths: [FieldPath]?
    /// Whether the rows of a whole index will do in place of all documents.
    var readsAll = false

    /// Whether the rows of an index have all that is wanted.
    func isCovered(by index: IndexInfo) -> Bool { paths.map { index.definition.holds($0) } ?? false }
  }

  private let condition: Condition
  private let purpose: Purpose
  private let hints: Hints
  private let estimates: Estimates
  /// What every document that the filter accepts fulfils.
  private let sets: [IndexTerm: ValueSet]
  private let indexes: [IndexInfo]
  private let documents: Double
  private var best: Choice?
  private var leastCost = Double.infinity

  /// Scans that are put together at most.
  private static let maximumScans = 32
  /// What it costs to visit a document by its number, where passing a row of an index costs one: some 26 ns.
  private static let fetchCost = 30.0
  /// What it costs to visit a document where all are visited one after the other.
  private static let scanCost = 6.0
  private static let sortCost = 6.0
  /// What it costs to note the document of a row and look for it among those of another index.
  private static let gatherCost = 5.0
  /// What it costs to read the values of a row instead, and a little for each field of the index.
  private static let readCost = 2.0
  private static let fieldCost = 0.1

  /// The best access there is; `nil` when that is to look at all documents.
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

  /// What it costs to look at all documents; `nil` where an index is taken to be better in any case.
  ///
  /// That is where nothing is known of the values, and where all are to be sorted, which may take more memory
  /// than there is.
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
    // Without a bound, reading all by an index pays only where nothing is left out.
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
      // What of the rows the filter lets pass is met evenly among them.
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

  /// Documents of which some stand in several rows.
  private mutating func considerOnce(_ fit: IndexFit, ifOrdered: Bool) {
    guard !ifOrdered || purpose.order.isEmpty else { return }
    let sort = purpose.order.isEmpty ? 0 : Self.sortCost
    consider(
      Choice(access: .union([IndexScan(fit.index, fit.spans)])),
      cost: documents * fit.share * (1 + Self.fetchCost + sort))
  }

  // MARK: - Several

  /// Documents that stand in the rows of two indexes or more, where reading more rows spares fetching documents.
  private mutating func considerIntersection(of fits: [IndexFit]) {
    let sorted = fits.enumerated().sorted { ($0.element.share, $0.offset) < ($1.element.share, $1.offset) }
    guard var scans = sorted.first.map({ [$0.element] }), let first = scans.first else { return }
    var known = first.narrowedTerms
    var share = first.share
    var rows = first.share
    for (_, fit) in sorted.dropFirst() where scans.count < min(hints.maximumScans ?? 2, Self.maximumScans) {
      guard known.isDisjoint(with: fit.narrowedTerms) else { continue }
      // Reading its rows has to cost less than fetching what they rule out.
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

  /// Documents that stand in the rows of one index or another, where every branch of an OR has its index.
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
  /// What a document has to fulfil in any case.
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

  /// Lists of conditions one of which a document has to fulfil in any case.
  fileprivate var alternatives: [[Condition]] {
    switch kind {
    case .any(let branches): [branches]
    case .all(let terms): terms.flatMap(\.alternatives)
    case .always, .never, .field: []
    }
  }

  /// Whether every document fulfils it and is accepted.
  fileprivate var saysNothing: Bool { kind == .always && isExact }
}

extension IndexFit {
  /// Whether the spans say all that a condition does.
  fileprivate func settles(_ condition: Condition) -> Bool {
    switch condition.kind {
    case .always: true
    case .field, .all: condition.alternatives.isEmpty && settledTerms.isSuperset(of: condition.sets.keys)
    case .never, .any: false
    }
  }
}

extension Hints {
  /// What USE INDEX leaves to choose from; a name that no index has says nothing.
  fileprivate func candidates(among all: [IndexInfo]) -> [IndexInfo] {
    guard let names = indexes else { return all }
    if names.isEmpty { return [] }
    let named = all.filter { names.contains($0.definition.$name) }
    return named.isEmpty ? all : named
  }
}
