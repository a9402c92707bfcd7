import CRDTCore

/// Documents of a collection that cannot be reached because a page on the way to them is damaged.
package enum DocumentSpan: Hashable, Sendable {
  /// Documents whose rows are on the damaged page, or below it.
  case numbers(ClosedRange<DocumentNumber>)
  /// Documents whose ids are: from the first id's bytes, included, to before another's; `nil` for no end.
  case ids(from: [UInt8], to: [UInt8]?)

  /// The documents of a collection that a failed read hides.
  ///
  /// - Returns: `nil` if the damaged page holds nothing of the collection.
  /// - Throws: The failure, unless it is damage to a page of documents or ids that has a bound.
  init?(_ failure: StoreError, in collection: UInt32) throws(StoreError) {
    guard failure.code == .corrupt, let page = failure.damaged, page.from != nil || page.to != nil,
      let table = failure.damagedTable
    else { throw failure }
    switch table {
    case .documents: self.init(rows: page, in: collection)
    case .ids, .recent: self.init(ids: page, in: collection)
    default: throw failure
    }
  }

  private init?(rows page: DamagedPage, in collection: UInt32) {
    let from = page.from.flatMap { DocumentPlace($0.rawBytes) }
    let to = page.to.flatMap { DocumentPlace($0.rawBytes) }
    if let from, from.collection > collection { return nil }
    if let to, to.collection < collection { return nil }
    let first = from?.collection == collection ? from?.number : nil
    let end = to?.collection == collection ? to?.number : nil
    let numbers = (first ?? DocumentNumber(1), end?.previous ?? .maximum)
    guard numbers.0 <= numbers.1 else { return nil }
    self = .numbers(numbers.0...numbers.1)
  }

  private init?(ids page: DamagedPage, in collection: UInt32) {
    let from = page.from.map { IDKey.split($0.rawBytes) }
    let to = page.to.map { IDKey.split($0.rawBytes) }
    if let from, from.collection > collection { return nil }
    if let to, to.collection < collection { return nil }
    let first = from?.collection == collection ? from?.id : nil
    let end = to?.collection == collection ? to?.id : nil
    if end?.isEmpty == true { return nil }
    self = .ids(from: first ?? [], to: end)
  }
}

extension IDKey {
  /// The collection and the id's bytes of a key that bounds a page.
  fileprivate static func split(_ key: RawSpan) -> (collection: UInt32, id: [UInt8]) {
    guard let (collection, start) = parse(key) else { return (0, []) }
    return (collection, key.extracting(start..<key.byteCount).copied)
  }
}

extension DamagedRecord {
  /// The documents of a collection that a failed read hides, when the named document was looked up.
  ///
  /// If an entry of a page is damaged, that entry may be the one that is missing: it may be any id.
  ///
  /// - Returns: `nil` if the failure does not concern the collection.
  /// - Throws: The failure, if it is not one that can be skipped.
  init?(
    _ failure: StoreError, in collection: Collection, id: DocumentID? = nil, number: DocumentNumber? = nil
  ) throws(StoreError) {
    let isOfEntry = failure.code == .corrupt && failure.damaged == nil
    switch failure.damagedTable {
    case .documents? where isOfEntry: self.init(collection: collection.name, id: id, number: number)
    case .ids? where isOfEntry, .recent? where isOfEntry:
      self.init(collection: collection.name, id: nil, number: nil, span: .ids(from: [], to: nil))
    default:
      guard let span = try DocumentSpan(failure, in: collection.id) else { return nil }
      self.init(collection: collection.name, id: nil, number: nil, span: span)
    }
  }
}

extension ReadTransaction {
  /// The range of ids of the documents that cannot be reached.
  ///
  /// - Returns: The first id's bytes, and the bytes of the first id after the range, `nil` for no end. The
  ///   whole collection if ids cannot be read either. `nil` if no id leads there, so that nothing is missing.
  /// - Throws: What reading throws.
  /// - Complexity: O(*n*) in the collection's documents, if only numbers are known.
  package borrowing func idBounds(
    of span: DocumentSpan, in collection: Collection
  ) throws -> (from: [UInt8], to: [UInt8]?)? {
    switch span {
    case .ids(let from, let to): return (from, to)
    case .numbers(let numbers): return try pages.idBounds(of: numbers, in: collection)
    }
  }
}

extension DocumentPages {
  fileprivate func idBounds(
    of numbers: ClosedRange<DocumentNumber>, in collection: Collection
  ) throws -> (from: [UInt8], to: [UInt8]?)? {
    var (from, to): ([UInt8]?, [UInt8]?) = (nil, nil)
    var (isBehind, isWhole) = (false, true)
    let start = IDKey.bytes(collection.id, [UInt8]().rawBytes)
    try ids.scan(
      from: start.rawBytes,
      missed: { (failure) throws(StoreError) in
        guard try DocumentSpan(failure, in: collection.id) != nil else { return false }
        isWhole = false
        return false
      }
    ) { key, value in
      guard isWhole, let (number, start) = IDKey.parse(key), number == collection.id else { return false }
      let isInside = numbers.contains(IDPages.number(value))
      if isInside {
        if from == nil { from = key.extracting(start..<key.byteCount).copied }
        (to, isBehind) = (nil, true)
      } else if isBehind {
        to = key.extracting(start..<key.byteCount).copied
        isBehind = false
      }
      return true
    }
    if !isWhole { return ([], nil) }
    return from.map { ($0, to) }
  }
}
