public import CRDTCore
import Failpoints

/// The result of merging a peer's document.
public enum MergeResult: Hashable, Sendable {
  /// Everything in it was already known.
  case unchanged
  case changed
  /// It is a delta whose base is missing here; the full state, or a larger delta, is needed.
  case missingBase
  /// The merged document would exceed the limits; the document here stays as it is.
  case refused(DocumentError)
}

/// What to do with a peer's document, given the document here.
package enum MergeWay: Sendable {
  /// Joins both.
  case join
  /// Takes over the peer's full state: what the peer has seen and no longer holds is removed.
  case repair
  /// Leaves the document here as it is, because the peer's document does not build on it.
  case leave
}

/// A peer's document, merged with the one here and not stored yet.
package struct PreparedMerge {
  /// The result once it is stored.
  package let result: MergeResult
  fileprivate let change: WriteTransaction.PreparedChange?
  fileprivate let times: MergeTimes

  /// The summary of the merged state, if that differs from the stored one.
  package var summary: Summary? { change?.summary }
}

/// When a peer's document was written, and by whom.
struct MergeTimes: Sendable {
  /// The greatest reading that the document contains.
  var latest: ClockReading
  /// The last writes that it includes.
  var vector: VersionVector
  /// When it was created or removed; the vector of a compacted tombstone does not include that.
  var life: Stamp
  /// The one write of an operation delta, instead of the vector and the life.
  var author: (site: SiteID, reading: ClockReading)?
  /// Whether it makes a document live again that was erased here.
  var revives = false

  /// The times of a document that was written by one write.
  init(ofUniform vector: VersionVector) {
    self.vector = vector
    life = vector.elements.first.map { Stamp(reading: $0.reading, site: $0.writer.site) } ?? .zero
    latest = life.reading
  }

  /// The times that a document contains; an operation delta contains them only relative to its base.
  init(_ basis: WireBasis) {
    switch basis {
    case .vectors(_, let vector, let life): (self.vector, self.life) = (vector, life)
    case .state: (vector, life) = (VersionVector(), .zero)
    }
    latest = max(vector.latest, life.reading)
  }
}

extension WriteTransaction {
  /// Decides what to do, given the document here; a compacted tombstone is passed as a bare tombstone.
  ///
  /// It may be called twice, first as if the document were unknown. The last call counts.
  package typealias MergeChoice = (StoredDocument?, SiteTable) throws -> MergeWay

  /// Merges a peer's document, a full state or a delta, with the one here, which is read once.
  ///
  /// - Parameters:
  ///   - wire: A wire document.
  ///   - basis: The result of `WireDocument.basis` for it, if that is already known.
  ///   - id: The document's id.
  ///   - collection: The collection's name; the collection is created if there is none.
  ///   - draft: What a ``RecordDrafter`` of this store made of `wire`.
  ///   - choose: Receives the document here and decides what to do; by default both are joined.
  /// - Returns: The result of the merge.
  /// - Throws: `corrupt` when either document is damaged, `invalidCollectionName`, what `choose` throws, or
  ///   what the engine reports.
  package func merge(
    wire: RawSpan, basis: WireBasis? = nil, id: DocumentID, in collection: String, draft: RecordDraft? = nil,
    choosing choose: MergeChoice = { _, _ in .join }
  ) throws -> MergeResult {
    try withCodecErrors {
      var times = try MergeTimes(basis ?? WireDocument.basis(wire))
      guard isAccepted(times.latest) else {
        try look(at: id, in: collection, choose)
        return .unchanged
      }
      var result = MergeResult.unchanged
      // A document of many writers is rarely new here, and the sites of a refused document must not be kept.
      let mayBeNew = WireDocument.isUniform(wire)
      try change(id, in: collection, as: .other, "merge", mayBeNew: mayBeNew) { existing, tables in
        let (outcome, document) = try join(wire, draft, existing, &tables, &times, true, choose)
        result = outcome
        return document
      }
      if result == .changed { note(times, of: id, in: collection) }
      return result
    }
  }

  /// Merges a peer's document with the one here and stores nothing, so that others can be examined first.
  ///
  /// - Parameters: Those of the form that stores. Without `checkingResult`, the state that an operation delta
  ///   announces is not compared with the state that it produces.
  /// - Returns: The result, for ``store(_:)``.
  /// - Throws: What the form that stores throws.
  package func prepare(
    wire: RawSpan, basis: WireBasis? = nil, id: DocumentID, in collection: String,
    checkingResult: Bool = true, choosing choose: MergeChoice = { _, _ in .join }
  ) throws -> PreparedMerge {
    try withCodecErrors {
      var times = try MergeTimes(basis ?? WireDocument.basis(wire))
      guard isAccepted(times.latest) else {
        try look(at: id, in: collection, choose)
        return PreparedMerge(result: .unchanged, change: nil, times: times)
      }
      var result = MergeResult.unchanged
      let change = try prepareChange(id, in: collection, as: .other, "merge") { existing, tables in
        let (outcome, document) = try join(wire, nil, existing, &tables, &times, checkingResult, choose)
        result = outcome
        return document
      }
      return PreparedMerge(result: result, change: change, times: times)
    }
  }

  /// Applies another store's write to the state stored here, and stores nothing.
  ///
  /// - Parameters:
  ///   - stamp: The time and the site of the write.
  ///   - id: The document's id.
  ///   - collection: The collection's name.
  ///   - make: Applies the write to the state here; gets this store's site, and returns `nil` when the write
  ///     does not fit.
  /// - Returns: The result; `nil` when there is no document, or the write does not fit it.
  /// - Throws: What the form that stores throws.
  package func prepare(
    at stamp: Stamp, id: DocumentID, in collection: String,
    making make: (StoredDocument, SiteID, inout RecordTables) throws -> EncodedDocument?
  ) throws -> PreparedMerge? {
    guard isAccepted(stamp.reading) else { return nil }
    return try withCodecErrors {
      var times = MergeTimes(ofUniform: VersionVector())
      times.author = (stamp.site, stamp.reading)
      times.latest = stamp.reading
      let site = settings.site
      let change = try prepareChange(id, in: collection, as: .other, "merge") { existing, tables in
        guard let existing else { return nil }
        return try make(existing, site, &tables)
      }
      return change.map { PreparedMerge(result: .changed, change: $0, times: times) }
    }
  }

  /// The order of the documents' rows in the store, as far as it is cached; merge documents in this order.
  ///
  /// Rows that are side by side are found through the same inner pages, which are cached after the first row.
  ///
  /// - Returns: The positions in `ids`.
  /// - Throws: `closed` when the transaction has ended.
  /// - Complexity: O(n log n), without reading the store.
  package func storedOrder(of ids: [DocumentID], in collection: String) throws -> [Int] {
    guard let index = index(of: collection) else { return Array(ids.indices) }
    return try pages().numbers.order(of: ids, in: number(at: index))
  }

  /// Stores what ``prepare(wire:id:in:choosing:)`` made in this transaction.
  ///
  /// - Returns: `false`, with nothing done, when the document was written meanwhile and must be merged again.
  package func store(_ prepared: borrowing PreparedMerge) throws -> Bool {
    guard let change = prepared.change else { return true }
    guard try store(change) else { return false }
    note(prepared.times, of: change.id, in: change.collection)
    return true
  }

  private func join(
    _ wire: RawSpan, _ draft: RecordDraft?, _ existing: StoredDocument?, _ tables: inout RecordTables,
    _ times: inout MergeTimes, _ checkingResult: Bool, _ choose: MergeChoice
  ) throws -> (MergeResult, EncodedDocument?) {
    let outcome: MergeOutcome
    switch (try choose(existing, tables.sites), existing) {
    case (.leave, _): outcome = .missingBase
    case (.repair, let existing?):
      outcome = try DocumentCodec.repair(wire: wire, existing: existing, own: settings.site, tables: &tables)
    case (.join, nil) where draft?.isCurrent(tables.sites) == true:
      outcome = draft.map { .changed($0.document) } ?? .unchanged
    case (.join, _), (.repair, nil):
      outcome = try DocumentCodec.merge(
        wire: wire, existing: existing, own: settings.site, tables: &tables,
        checkingResult: checkingResult && !StoreDefect.successorNotChecked.isPlanted)
    }
    switch outcome {
    case .unchanged: return (.unchanged, nil)
    case .missingBase: return (.missingBase, nil)
    case .refused(let error): return (.refused(error), nil)
    case .changed(let document):
      guard try draft != nil || !exceedsMerges(document, tables) else { return (.refused(.tooLarge), nil) }
      // An operation delta contains its time only relative to its base.
      if let existing, WireDocument.isOperationDelta(wire) {
        times.author = try WireDocument.authorship(of: wire, onto: existing.record, sites: tables.sites)
        times.latest = times.author?.reading ?? .zero
        guard isAccepted(times.latest) else { return (.unchanged, nil) }
      }
      if let existing, document.isAlive, !WireDocument.isOperationDelta(wire),
        try RecordView(existing.record).isErased(sites: tables.sites)
      {
        // A peer that knows the floor has heard of the erasure, and was written to knowingly.
        times.revives = try WireDocument.floor(wire) < RecordView(existing.record).floor(sites: tables.sites)
      }
      return (.changed, document)
    }
  }

  private func note(_ times: MergeTimes, of id: DocumentID, in collection: String) {
    if times.revives { reportRevival(of: id, in: collection) }
    for element in times.vector.elements where element.writer.site == settings.site {
      noteOwn(element.reading, born: element.writer.birth)
    }
    if let (site, reading) = times.author, site == settings.site { noteOwn(reading) }
    observe(times.latest)
    for element in times.vector.elements { noteMet(element.writer.site, element.reading) }
    noteMet(times.life.site, times.life.reading)
    if let (site, reading) = times.author { noteMet(site, reading) }
  }

  /// Calls `choose` with the document here, for a peer's document that is rejected.
  private func look(at id: DocumentID, in collection: String, _ choose: MergeChoice) throws {
    let sites = sites
    let found: MergeWay? =
      if let known = try self.collection(collection) {
        try reading { pages in
          try pages.withRecord(known.id, named: collection, id) { row in
            try choose(StoredDocument(row.record, summary: row.summary), sites)
          }
        }
      } else { nil }
    if found == nil { _ = try choose(nil, sites) }
  }

  private func withCodecErrors<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as CodecError {
      throw StoreError(.corrupt, "A document to merge is damaged: \(error)", operation: "merge")
    }
  }
}
