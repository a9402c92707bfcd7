public import CRDTCore
import Failpoints

/// What merging a peer's document came to.
public enum MergeResult: Hashable, Sendable {
  /// Everything in it was known already.
  case unchanged
  case changed
  /// It is a delta of what is not here; the whole document, or a larger delta, is needed.
  case missingBase
  /// Both together are more than a document may be; what is here stays as it is.
  case refused(DocumentError)
}

/// What to do with a peer's document, seeing what is here.
package enum MergeWay: Sendable {
  /// Joins both.
  case join
  /// Takes the whole of the peer's document in: what that has seen and does not hold is gone.
  case repair
  /// Leaves what is here as it is, for it is not what the peer's document builds on.
  case leave
}

/// A peer's document merged with the one here, and not stored yet.
package struct PreparedMerge {
  /// What storing it will come to.
  package let result: MergeResult
  fileprivate let change: WriteTransaction.PreparedChange?
  fileprivate let times: MergeTimes

  /// Of the state that storing it will come to, where that is another.
  package var summary: Summary? { change?.summary }
}

/// When a peer's document was written, and by whom.
struct MergeTimes: Sendable {
  /// The greatest reading that the document mentions.
  var latest: ClockReading
  /// The last writes that it includes.
  var vector: VersionVector
  /// When it came to life or died, which the vector of a certificate does not include.
  var life: Stamp
  /// In place of both, the one write that a successor is.
  var author: (site: SiteID, reading: ClockReading)?

  /// Those of a document that was written at once.
  init(ofUniform vector: VersionVector) {
    self.vector = vector
    life = vector.elements.first.map { Stamp(reading: $0.reading, site: $0.writer.site) } ?? .zero
    latest = life.reading
  }

  /// Those that a document tells; a successor tells them but beside what it builds on.
  init(_ basis: WireBasis) {
    switch basis {
    case .vectors(_, let vector, let life): (self.vector, self.life) = (vector, life)
    case .state: (vector, life) = (VersionVector(), .zero)
    }
    latest = max(vector.latest, life.reading)
  }
}

extension WriteTransaction {
  /// Decides by what stands here of a document, a bare tombstone where it is a death certificate.
  ///
  /// It may be called twice, first as if the document were unknown: the last call counts.
  package typealias MergeChoice = (StoredDocument?, SiteTable) throws -> MergeWay

  /// Merges a peer's document, whole or a delta, with the one here, which is read once.
  ///
  /// - Parameters:
  ///   - wire: A wire document.
  ///   - basis: What `WireDocument.basis` finds in it, where it has been looked at already.
  ///   - id: The document's id.
  ///   - collection: The collection's name; it is made if need be.
  ///   - draft: What a ``RecordDrafter`` of this store made of `wire`.
  ///   - choose: Sees what stands here and tells what to do; by default both are joined.
  /// - Returns: What it came to.
  /// - Throws: `corrupt` when either document is damaged, `invalidCollectionName`, what `choose` throws, or what
  ///   the engine reports.
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
      // What many have written is rarely new here, and the sites of what is refused are not to stay.
      let mayBeNew = WireDocument.isUniform(wire)
      try change(id, in: collection, as: .other, "merge", mayBeNew: mayBeNew) { existing, tables in
        let (outcome, document) = try join(wire, draft, existing, &tables, &times, true, choose)
        result = outcome
        return document
      }
      if result == .changed { note(times) }
      return result
    }
  }

  /// Merges a peer's document with the one here and stores nothing, so that others can be looked at first.
  ///
  /// - Parameters: As those of the form that stores; without `checkingResult`, what a successor announces to come to
  ///   is not compared with what it comes to.
  /// - Returns: What it came to, for ``store(_:)``.
  /// - Throws: As the form that stores.
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

  /// Makes another store's write on top of the state that stands here, and stores nothing.
  ///
  /// - Parameters:
  ///   - stamp: When and by whom it was written.
  ///   - id: The document's id.
  ///   - collection: The collection's name.
  ///   - make: Makes it on what stands here, for a store of that site; `nil` when it does not fit.
  /// - Returns: What it came to; `nil` when there is no document, or the write does not fit on it.
  /// - Throws: As the form that stores.
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

  /// The order in which the rows of documents stand, as far as it is remembered: the one in which to merge many.
  ///
  /// Rows that stand side by side are found by the same inner pages, which are at hand after the first of them.
  ///
  /// - Returns: The positions in `ids`.
  /// - Throws: `closed` when the transaction is over.
  /// - Complexity: O(n log n), without a look at the store.
  package func storedOrder(of ids: [DocumentID], in collection: String) throws -> [Int] {
    guard let index = index(of: collection) else { return Array(ids.indices) }
    return try pages().numbers.order(of: ids, in: number(at: index))
  }

  /// Stores what ``prepare(wire:id:in:choosing:)`` made in this transaction.
  ///
  /// - Returns: `false`, with nothing done, when the document was written meanwhile: it is to be merged anew.
  package func store(_ prepared: borrowing PreparedMerge) throws -> Bool {
    guard let change = prepared.change else { return true }
    guard try store(change) else { return false }
    note(prepared.times)
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
      // A successor tells its time only beside what it builds on.
      if let existing, WireDocument.isSuccessor(wire) {
        times.author = try WireDocument.authorship(of: wire, onto: existing.record, sites: tables.sites)
        times.latest = times.author?.reading ?? .zero
        guard isAccepted(times.latest) else { return (.unchanged, nil) }
      }
      return (.changed, document)
    }
  }

  private func note(_ times: MergeTimes) {
    for element in times.vector.elements where element.writer.site == settings.site {
      noteOwn(element.reading, born: element.writer.birth)
    }
    if let (site, reading) = times.author, site == settings.site { noteOwn(reading) }
    observe(times.latest)
    for element in times.vector.elements { noteMet(element.writer.site, element.reading) }
    noteMet(times.life.site, times.life.reading)
    if let (site, reading) = times.author { noteMet(site, reading) }
  }

  /// Shows what stands here of a document that is not taken in.
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
